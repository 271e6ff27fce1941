//! Where nftables stands in a namespace: `NFNL_SUBSYS_NFTABLES`,
//! `linux/netfilter/nf_tables.h`.

use netlink_packet_core::NLM_F_DUMP;
use netlink_sys::protocols::NETLINK_NETFILTER;
use rustix::io::Errno;

use super::attribute::{attributes, find, text};
use super::channel::{Channel, Request};
use super::{NetlinkError, until_whole};

/// `NFNL_SUBSYS_NFTABLES`, in the high byte of a message's type.
const NFTABLES: u16 = 10 << 8;
/// `NFT_MSG_GETTABLE`, `…GETCHAIN`, `…GETFLOWTABLE`.
const TABLES: u16 = NFTABLES | 1;
const CHAINS: u16 = NFTABLES | 4;
const FLOW_TABLES: u16 = NFTABLES | 23;
/// `struct nfgenmsg`.
const HEADER_BYTES: usize = 4;
/// `NFT_TABLE_F_DORMANT`.
const DORMANT: u32 = 1;
/// `NFPROTO_…` (`linux/netfilter.h`).
pub(crate) const INET: u8 = 1;
pub(crate) const IPV4: u8 = 2;
pub(crate) const NETDEV: u8 = 5;
pub(crate) const IPV6: u8 = 10;

/// A chain that the kernel asks about frames.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Chain {
    pub family: u8,
    pub table: String,
    pub name: String,
    /// `NF_INET_…`; of netdev: 0 as they come in, 1 as they leave.
    pub hook: u32,
    /// Links where it stands, of hooks that belong to links: names, or with a `*` what
    /// they begin with.
    pub devices: Vec<String>,
}

/// A table of flows that pass by the rules; links and hooks are of no interest, since a
/// rule of a chain fills it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowTable {
    pub family: u8,
    pub table: String,
    pub name: String,
}

/// A socket that asks for the rules of the namespace in which it was opened.
pub(crate) struct Nftables(
    /// `None` where the kernel has none.
    Option<Channel>,
);

impl Nftables {
    /// In the calling thread's namespace.
    ///
    /// # Errors
    /// [`NetlinkError::Open`].
    pub fn open() -> Result<Self, NetlinkError> {
        match Channel::open(NETLINK_NETFILTER) {
            Err(NetlinkError::Open(error))
                if error.raw_os_error() == Some(Errno::PROTONOSUPPORT.raw_os_error()) =>
            {
                Ok(Self(None))
            }
            opened => opened.map(|channel| Self(Some(channel))),
        }
    }

    /// Chains with a hook, and tables of flows, that are in force.
    pub fn in_force(&mut self) -> Result<(Vec<Chain>, Vec<FlowTable>), NetlinkError> {
        until_whole(|| {
            let mut dormant = Vec::new();
            self.each(TABLES, "list the tables of nftables", |family, payload| {
                let name = find(payload, 1).map(text).unwrap_or_default();
                if find(payload, 2).is_some_and(|flags| number(flags) & DORMANT != 0) {
                    dormant.push((family, name));
                }
            })?;
            let is_in_force =
                |family: u8, table: &String| !dormant.contains(&(family, table.clone()));
            let (mut chains, mut flow_tables) = (Vec::new(), Vec::new());
            self.each(CHAINS, "list the chains of nftables", |family, payload| {
                chains.extend(chain(family, payload));
            })?;
            let what = "list the flow tables of nftables";
            self.each(FLOW_TABLES, what, |family, payload| {
                let [table, name] = [1, 2].map(|kind| find(payload, kind).map(text));
                flow_tables.push(FlowTable {
                    family,
                    table: table.unwrap_or_default(),
                    name: name.unwrap_or_default(),
                });
            })?;
            chains.retain(|chain| is_in_force(chain.family, &chain.table));
            flow_tables.retain(|one| is_in_force(one.family, &one.table));
            Ok((chains, flow_tables))
        })
    }

    /// Family and attributes of all of a kind; nothing where the kernel does not know it.
    fn each(
        &mut self,
        kind: u16,
        what: &str,
        mut take: impl FnMut(u8, &[u8]),
    ) -> Result<(), NetlinkError> {
        let Some(channel) = &mut self.0 else {
            return Ok(());
        };
        let request = Request {
            kind,
            flags: NLM_F_DUMP,
            body: vec![0; HEADER_BYTES],
        };
        let asked = channel.exchange(what, &request, &mut |_, payload| {
            let family = payload.first().ok_or("there is no family in it")?;
            take(*family, payload.get(HEADER_BYTES..).unwrap_or_default());
            Ok(())
        });
        let unknown = [Errno::INVAL, Errno::OPNOTSUPP, Errno::NOENT].map(Errno::raw_os_error);
        match asked {
            Err(error) if error.errno().is_some_and(|errno| unknown.contains(&errno)) => Ok(()),
            asked => asked,
        }
    }
}

/// `None` for one without a hook, which others jump to.
fn chain(family: u8, payload: &[u8]) -> Option<Chain> {
    let hook = find(payload, 4)?;
    let named = |kind| find(payload, kind).map(text).unwrap_or_default();
    let one = find(hook, 3).map(text);
    let several = find(hook, 4).unwrap_or_default();
    // `NFTA_DEVICE_NAME` and, since Linux 6.17, `NFTA_DEVICE_PREFIX`.
    let several = attributes(several).map(|(kind, value)| match kind {
        2 => text(value) + "*",
        _ => text(value),
    });
    let mut devices: Vec<String> = one.into_iter().chain(several).collect();
    devices.sort_unstable();
    devices.dedup();
    Some(Chain {
        family,
        table: named(1),
        name: named(3),
        hook: find(hook, 1).map_or(u32::MAX, number),
        devices,
    })
}

/// In network byte order, as nftables has them.
fn number(value: &[u8]) -> u32 {
    value
        .first_chunk()
        .map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::attribute::Attributes;
    use super::*;

    #[test]
    fn links_of_a_chain_are_read_in_each_way_that_kernels_tell_them() {
        let names = Attributes::default().text(1, "eth1").text(2, "vx");
        let hook = Attributes::default()
            .bytes(1, &1_u32.to_be_bytes())
            .text(3, "eth1")
            .nested(4, &names);
        let payload = Attributes::default()
            .text(1, "t")
            .text(3, "c")
            .nested(4, &hook)
            .into_bytes();
        let read = chain(NETDEV, &payload).unwrap();
        assert_eq!(read.devices, ["eth1", "vx*"]);
        assert_eq!((read.hook, &read.table[..], &read.name[..]), (1, "t", "c"));
        let jumped_to = Attributes::default().text(1, "t").text(3, "c").into_bytes();
        assert_eq!(chain(NETDEV, &jumped_to), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = chain(IPV4, &bytes);
        }
    }
}
