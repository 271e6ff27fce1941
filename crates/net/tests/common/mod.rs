//! What the tests of this crate share.

#![allow(dead_code, reason = "each test file uses a part")]

use lockgate_net::{Journal, Namespace, Tag};

pub struct Pair {
    pub tag: Tag,
    pub journal: Journal,
    pub one: Namespace,
    pub other: Namespace,
    pub one_link: String,
    pub other_link: String,
}

pub const ONE_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub const OTHER_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 2];

impl Pair {
    pub fn up(queues: u32) -> Self {
        let tag = Tag::fresh();
        let journal = Journal::open().unwrap();
        let one = Namespace::create(&journal, &tag.name("one").unwrap()).unwrap();
        let other = Namespace::create(&journal, &tag.name("other").unwrap()).unwrap();
        let (one_link, other_link) = (tag.interface("a").unwrap(), tag.interface("b").unwrap());
        let end = |namespace, name, address| lockgate_net::netlink::VethEnd {
            namespace,
            name,
            address: Some(address),
            mtu: Some(1600),
            queues,
        };
        lockgate_net::netlink::add_veth(
            &end(&one, &one_link, ONE_ADDRESS),
            &end(&other, &other_link, OTHER_ADDRESS),
        )
        .unwrap();
        one.netlink().unwrap().set_up(&one_link).unwrap();
        other.netlink().unwrap().set_up(&other_link).unwrap();
        other
            .netlink()
            .unwrap()
            .wait_until_running(&other_link)
            .unwrap();
        one.netlink()
            .unwrap()
            .wait_until_running(&one_link)
            .unwrap();
        Self {
            tag,
            journal,
            one,
            other,
            one_link,
            other_link,
        }
    }
}
