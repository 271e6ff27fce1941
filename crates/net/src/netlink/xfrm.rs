//! Whether a namespace has IPsec policies: `NETLINK_XFRM`, `linux/xfrm.h`.

use netlink_sys::protocols::NETLINK_XFRM;
use rustix::io::Errno;

use super::NetlinkError;
use super::attribute::find;
use super::channel::{Channel, Request};

/// `XFRM_MSG_GETSPDINFO`.
const ASK_COUNTS: u16 = 0x25;
/// `XFRMA_SPD_INFO`: policies of packets that come in, go out, and go through.
const COUNTS: u16 = 1;
/// `XFRM_MSG_GETDEFAULT`.
const ASK_DEFAULT: u16 = 0x28;
/// `XFRM_USERPOLICY_BLOCK`.
const BLOCK: u8 = 1;

/// A socket that asks for the IPsec policies of the namespace in which it was
/// opened.
pub struct Policies(
    /// `None` where the kernel has none.
    Option<Channel>,
);

impl Policies {
    /// In the calling thread's namespace.
    ///
    /// # Errors
    /// [`NetlinkError::Open`].
    pub fn open() -> Result<Self, NetlinkError> {
        match Channel::open(NETLINK_XFRM) {
            Err(NetlinkError::Open(error))
                if error.raw_os_error() == Some(Errno::PROTONOSUPPORT.raw_os_error()) =>
            {
                Ok(Self(None))
            }
            opened => opened.map(|channel| Self(Some(channel))),
        }
    }

    /// Whether any packet may meet one: there are some, or packets without one
    /// are blocked.
    pub fn are_there(&mut self) -> Result<bool, NetlinkError> {
        let Some(channel) = &mut self.0 else {
            return Ok(false);
        };
        let mut found = false;
        let what = "count the IPsec policies";
        let mut counted = |_: u16, payload: &[u8]| {
            let counts = payload.get(4..).and_then(|rest| find(rest, COUNTS));
            let counts = counts.ok_or("there are no counts in it")?;
            found |= counts.iter().take(12).any(|byte| *byte != 0);
            Ok(())
        };
        channel.exchange(what, &request(ASK_COUNTS, 4), &mut counted)?;
        let what = "ask what IPsec does without a policy";
        let mut defaults = |_: u16, payload: &[u8]| {
            found |= payload.iter().take(3).any(|action| *action == BLOCK);
            Ok(())
        };
        match channel.exchange(what, &request(ASK_DEFAULT, 3), &mut defaults) {
            // Kernels before 5.15 have no such default.
            Err(error) if error.errno() == Some(Errno::INVAL.raw_os_error()) => {}
            asked => asked?,
        }
        Ok(found)
    }
}

fn request(kind: u16, bytes: usize) -> Request {
    Request {
        kind,
        flags: 0,
        body: vec![0; bytes],
    }
}
