//! Which NAPIs a link has (`Documentation/netlink/specs/netdev.yaml`).

use super::attribute::{Attributes, find};
use super::{Netlink, NetlinkError};

/// `linux/netdev.h`.
const NAPI_GET: u8 = 11;
const NAPI_IFINDEX: u16 = 1;
const NAPI_ID: u16 = 2;
const NAPI_PID: u16 = 4;

impl Netlink {
    /// The NAPIs of a link that have a thread: their numbers, and those of the
    /// threads on the host. `None` where the kernel does not report them: before 6.8,
    /// for a link that is down, and for a tap.
    pub(crate) fn napis(&mut self, link: &str) -> Result<Option<Vec<(u32, u32)>>, NetlinkError> {
        let link = self.link(link)?;
        let Some(netdev) = self.netdev.as_mut().filter(|_| link.up) else {
            return Ok(None);
        };
        let what = format!("list the NAPIs of {}", link.name);
        let of_it = Attributes::default().number(NAPI_IFINDEX, link.index);
        match netdev.list(&what, NAPI_GET, of_it) {
            Err(error) if error.is_unsupported() => Ok(None),
            Ok(answers) if answers.is_empty() => Ok(None),
            Err(error) => Err(error),
            Ok(answers) => Ok(Some(
                answers
                    .iter()
                    .filter_map(|answer| described(answer))
                    .collect(),
            )),
        }
    }
}

fn described(answer: &[u8]) -> Option<(u32, u32)> {
    let number = |kind| find(answer, kind)?.try_into().ok().map(u32::from_ne_bytes);
    Some((number(NAPI_ID)?, number(NAPI_PID)?))
}
