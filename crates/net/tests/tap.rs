//! Frames through taps that were opened inside a namespace.

use std::fs::File;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use lockgate_net::tap::{TapMode, open_tap};
use lockgate_net::{Journal, Namespace, Netlink, Tag};
use testing::is_root;

const ETHERNET: TapMode = TapMode {
    ethernet: true,
    virtio_header: false,
    multi_queue: false,
    ring_bytes: None,
};

struct Inside {
    namespace: Namespace,
    netlink: Netlink,
    name: String,
}

/// `None` without root's rights.
fn inside() -> Option<Inside> {
    if !is_root() {
        return None;
    }
    let (journal, tag) = (Journal::open().unwrap(), Tag::fresh());
    let namespace = Namespace::create(&journal, &tag.name("tap").unwrap()).unwrap();
    let netlink = namespace.netlink().unwrap();
    Some(Inside {
        namespace,
        netlink,
        name: tag.interface("tap").unwrap(),
    })
}

#[test]
fn what_is_written_arrives_and_what_is_sent_is_read() {
    let Some(mut inside) = inside() else {
        return;
    };
    let files = open_tap(&inside.namespace, &inside.name, 1, ETHERNET).unwrap();
    let mut file = File::from(files.into_iter().next().unwrap());
    assert!(
        file.read(&mut [0; 64]).is_err(),
        "a link that is down has no frames"
    );
    inside.netlink.set_up(&inside.name).unwrap();
    let address = inside.netlink.link(&inside.name).unwrap().address;
    let ours = [2, 0, 0, 0, 0, 7];
    inside
        .netlink
        .add_address(&inside.name, [192, 0, 2, 1].into(), 30)
        .unwrap();

    // Who has 192.0.2.1? Tell 192.0.2.2 (RFC 826).
    let mut question = [&[0xff; 6][..], &ours, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]].concat();
    question.extend_from_slice(&[&ours[..], &[192, 0, 2, 2], &[0; 6], &[192, 0, 2, 1]].concat());
    assert_eq!(file.write(&question).unwrap(), 42);
    let answer = read_until(&mut file, |frame| frame.get(12..14) == Some(&[8, 6]));
    assert_eq!(answer[..6], ours);
    assert_eq!(answer[6..12], address);
    assert_eq!(answer[28..32], [192, 0, 2, 1]);
}

fn read_until(file: &mut File, wanted: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut frame = vec![0; 2048];
    while Instant::now() < deadline {
        match file.read(&mut frame) {
            Ok(length) if wanted(&frame[..length]) => {
                frame.truncate(length);
                return frame;
            }
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    panic!("no such frame");
}

#[test]
fn a_tap_has_a_file_a_queue_and_goes_with_the_last() {
    let Some(mut inside) = inside() else {
        return;
    };
    let mut files = open_tap(&inside.namespace, &inside.name, 4, ETHERNET).unwrap();
    assert_eq!(files.len(), 4);
    assert_eq!(inside.netlink.link(&inside.name).unwrap().kind, "tun");
    files.truncate(1);
    assert!(inside.netlink.link(&inside.name).is_ok());
    drop(files);
    // A child that another test has just forked holds the file until it becomes
    // another program.
    testing::until(
        || inside.netlink.link(&inside.name).is_ok(),
        |is_there| !is_there,
    );
}

#[test]
fn what_cannot_be_opened_says_why() {
    let Some(inside) = inside() else { return };
    for (name, queues) in [
        ("", 1),
        ("lgfine", 0),
        ("lgfine", 257),
        ("longer-than-fifteen", 1),
    ] {
        let error = open_tap(&inside.namespace, name, queues, ETHERNET).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
    let _taken = open_tap(&inside.namespace, &inside.name, 1, ETHERNET).unwrap();
    assert!(open_tap(&inside.namespace, &inside.name, 1, ETHERNET).is_err());
}
