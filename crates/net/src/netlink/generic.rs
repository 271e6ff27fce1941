//! Families of generic netlink (`linux/genetlink.h`).

use netlink_packet_core::NLM_F_DUMP;
use netlink_sys::protocols::NETLINK_GENERIC;

use super::NetlinkError;
use super::attribute::{Attributes, find};
use super::channel::{Channel, Request};

/// `GENL_ID_CTRL` and what is asked of it.
const CONTROLLER: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// The socket, and the number that this kernel gave the family.
pub(super) struct Family {
    channel: Channel,
    id: u16,
}

impl Family {
    /// `None` where the kernel has no such family.
    pub fn open(name: &str) -> Result<Option<Self>, NetlinkError> {
        let mut channel = Channel::open(NETLINK_GENERIC)?;
        let body = message(GET_FAMILY, Attributes::default().text(FAMILY_NAME, name));
        let request = Request {
            kind: CONTROLLER,
            flags: 0,
            body,
        };
        let mut id = None;
        let what = format!("look for {name}'s netlink");
        let asked = channel.exchange(&what, &request, &mut |_, payload| {
            id = payload
                .get(4..)
                .and_then(|rest| find(rest, FAMILY_ID))
                .and_then(|value| value.try_into().ok())
                .map(u16::from_ne_bytes);
            Ok(())
        });
        match asked {
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
            Ok(()) => Ok(id.map(|id| Self { channel, id })),
        }
    }

    pub fn exchange(
        &mut self,
        what: &str,
        command: u8,
        attributes: Attributes,
    ) -> Result<Vec<u8>, NetlinkError> {
        let mut answers = self.ask(what, (command, 0), attributes)?;
        Ok(answers.pop().unwrap_or_default())
    }

    pub fn list(
        &mut self,
        what: &str,
        command: u8,
        attributes: Attributes,
    ) -> Result<Vec<Vec<u8>>, NetlinkError> {
        self.ask(what, (command, NLM_F_DUMP), attributes)
    }

    fn ask(
        &mut self,
        what: &str,
        (command, flags): (u8, u16),
        attributes: Attributes,
    ) -> Result<Vec<Vec<u8>>, NetlinkError> {
        let request = Request {
            kind: self.id,
            flags,
            body: message(command, attributes),
        };
        let mut answers = vec![];
        self.channel.exchange(what, &request, &mut |_, payload| {
            answers.push(payload.get(4..).unwrap_or_default().to_vec());
            Ok(())
        })?;
        Ok(answers)
    }
}

/// `struct genlmsghdr`, then attributes.
fn message(command: u8, attributes: Attributes) -> Vec<u8> {
    [&[command, 1, 0, 0][..], &attributes.into_bytes()].concat()
}
