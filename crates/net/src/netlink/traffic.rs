//! Traffic control: queueing disciplines and filters of links (rtnetlink(7),
//! `linux/pkt_sched.h`).

use netlink_packet_core::NLM_F_DUMP;
use netlink_sys::protocols::NETLINK_ROUTE;

use super::attribute::{find, text};
use super::channel::{Channel, Request};
use super::{NetlinkError, until_whole};

/// `RTM_GETQDISC` and `RTM_GETTFILTER`.
const DISCIPLINES: u16 = 38;
const FILTERS: u16 = 46;
/// `struct tcmsg`.
const HEADER_BYTES: usize = 20;
/// `TCA_KIND`.
const KIND: u16 = 1;

/// Where filters stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    Ingress,
    Egress,
}

impl Hook {
    /// `TC_H_CLSACT` with `TC_H_MIN_INGRESS` or `…_EGRESS`.
    fn parent(self) -> u32 {
        match self {
            Self::Ingress => 0xffff_fff2,
            Self::Egress => 0xffff_fff3,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Discipline {
    pub interface: u32,
    pub kind: String,
    /// 0 of what the kernel gave a link by itself.
    pub handle: u32,
}

/// A socket that asks about the links of the namespace in which it was opened.
pub(crate) struct Traffic(Channel);

impl Traffic {
    /// In the calling thread's namespace.
    ///
    /// # Errors
    /// [`NetlinkError::Open`].
    pub fn open() -> Result<Self, NetlinkError> {
        Channel::open(NETLINK_ROUTE).map(Self)
    }

    /// Lists the queueing disciplines of all links.
    pub fn disciplines(&mut self) -> Result<Vec<Discipline>, NetlinkError> {
        let what = "list the queueing disciplines";
        self.list(what, DISCIPLINES, 0, 0, discipline)
    }

    pub fn has_filters(&mut self, interface: u32, hook: Hook) -> Result<bool, NetlinkError> {
        let what = "list the filters of a link";
        let filters = self.list(what, FILTERS, interface, hook.parent(), |_| Some(()));
        match filters {
            // The link, or what had them, went meanwhile: that is told.
            Err(error) if error.is_absent() => Ok(false),
            filters => Ok(!filters?.is_empty()),
        }
    }

    fn list<T>(
        &mut self,
        what: &str,
        kind: u16,
        interface: u32,
        parent: u32,
        read: fn(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, NetlinkError> {
        let mut body = vec![0; HEADER_BYTES];
        body[4..8].copy_from_slice(&interface.to_ne_bytes());
        body[12..16].copy_from_slice(&parent.to_ne_bytes());
        let flags = NLM_F_DUMP;
        let request = Request { kind, flags, body };
        let asked = until_whole(|| {
            let mut all = Vec::new();
            self.0.exchange(what, &request, &mut |_, payload| {
                all.extend(read(payload));
                Ok(())
            })?;
            Ok(all)
        });
        match asked {
            // A kernel without traffic control has none.
            Err(error) if error.is_unsupported() => Ok(Vec::new()),
            asked => asked,
        }
    }
}

fn discipline(payload: &[u8]) -> Option<Discipline> {
    let word = |at: usize| payload.get(at..)?.first_chunk::<4>().copied();
    Some(Discipline {
        interface: u32::from_ne_bytes(word(4)?),
        kind: find(payload.get(HEADER_BYTES..)?, KIND)
            .map(text)
            .unwrap_or_default(),
        handle: u32::from_ne_bytes(word(8)?),
    })
}
