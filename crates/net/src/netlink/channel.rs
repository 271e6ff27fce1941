//! One netlink socket: requests out, answers in, the kernel's reasons read
//! (netlink(7); extended acknowledgements, `linux/netlink.h`).

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP_INTR, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR};
use netlink_sys::Socket;
use rustix::net::{RecvFlags, SendFlags};

use super::attribute::{find, text};
use super::error::NetlinkError;

/// The kernel answers before the request's call returns; this bounds a bug.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
/// The kernel's own messages are at most 32 KiB.
const RECEIVE_BYTES: usize = 64 << 10;
/// Room for the answers to a batch in which every request fails.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;
/// Requests sent at once; below the smallest usual send buffer.
const BATCH_BYTES: usize = 48 << 10;
/// `struct nlmsghdr`.
const HEADER_BYTES: usize = 16;
/// `NLMSGERR_ATTR_MSG`.
const REASON: u16 = 1;

#[derive(Debug)]
pub(crate) struct Request {
    /// `nlmsg_type`.
    pub kind: u16,
    /// Besides `NLM_F_REQUEST` and `NLM_F_ACK`.
    pub flags: u16,
    pub body: Vec<u8>,
}

/// Called with type and payload of each answer.
pub(crate) type Each<'a> = dyn FnMut(u16, &[u8]) -> Result<(), String> + 'a;

pub(crate) struct Channel {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Channel {
    pub fn open(protocol: isize) -> Result<Self, NetlinkError> {
        let mut socket = Socket::new(protocol).map_err(NetlinkError::Open)?;
        socket.bind_auto().map_err(NetlinkError::Open)?;
        // Reasons in words; a request is not echoed in its acknowledgement.
        // Kernels before 4.12 know neither.
        let _ = socket.set_ext_ack(true);
        let _ = socket.set_cap_ack(true);
        let _ =
            rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER_BYTES);
        Ok(Self {
            socket,
            sequence: 0,
            buffer: vec![0; RECEIVE_BYTES],
        })
    }

    /// Sends a request and passes its answers on until it is acknowledged.
    pub fn exchange(
        &mut self,
        what: &str,
        request: &Request,
        each: &mut Each<'_>,
    ) -> Result<(), NetlinkError> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + request.body.len());
        let sequence = self.append(&mut bytes, request, NLM_F_ACK);
        self.send(what, &bytes)?;
        self.answers(what, sequence, sequence, each)
    }

    /// Sends many requests. Only the last of each batch and those that fail are
    /// answered. Stops at the batch of the first that fails. Returns how many were
    /// sent.
    pub fn batch(
        &mut self,
        what: &str,
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<usize, NetlinkError> {
        let mut requests = requests.into_iter().peekable();
        let mut sent = 0;
        let mut bytes = Vec::with_capacity(BATCH_BYTES + 1024);
        while requests.peek().is_some() {
            bytes.clear();
            let first = self.sequence.wrapping_add(1);
            let mut last = first;
            while let Some(request) = requests.next() {
                let is_last =
                    bytes.len() + request.body.len() > BATCH_BYTES || requests.peek().is_none();
                let ack = if is_last { NLM_F_ACK } else { 0 };
                last = self.append(&mut bytes, &request, ack);
                sent += 1;
                if is_last {
                    break;
                }
            }
            self.send(what, &bytes)?;
            self.answers(what, first, last, &mut |_, _| Ok(()))?;
        }
        Ok(sent)
    }

    fn append(&mut self, bytes: &mut Vec<u8>, request: &Request, ack: u16) -> u32 {
        self.sequence = self.sequence.wrapping_add(1);
        let length = HEADER_BYTES + request.body.len();
        let flags = NLM_F_REQUEST | request.flags | ack;
        bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes());
        bytes.extend_from_slice(&request.kind.to_ne_bytes());
        bytes.extend_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(&self.sequence.to_ne_bytes());
        bytes.extend_from_slice(&0_u32.to_ne_bytes());
        bytes.extend_from_slice(&request.body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        self.sequence
    }

    fn send(&self, what: &str, bytes: &[u8]) -> Result<(), NetlinkError> {
        match rustix::net::send(&self.socket, bytes, SendFlags::empty()) {
            Ok(_) => Ok(()),
            Err(error) => Err(NetlinkError::Socket {
                what: what.to_owned(),
                source: error.into(),
            }),
        }
    }

    /// Reads until request `last` is acknowledged, or the first failure of
    /// `first..=last` was reported, and nothing is left to read.
    fn answers(
        &mut self,
        what: &str,
        first: u32,
        last: u32,
        each: &mut Each<'_>,
    ) -> Result<(), NetlinkError> {
        let mut failure = None;
        let mut changed = false;
        loop {
            let length = self.receive(what)?;
            for message in messages(&self.buffer[..length]) {
                if message.sequence.wrapping_sub(first) > last.wrapping_sub(first) {
                    // Of an exchange that was given up.
                    continue;
                }
                changed |= message.flags & NLM_F_DUMP_INTR != 0;
                if let Some(answer) = message.end(what) {
                    if let Err(error) = answer {
                        failure.get_or_insert(error);
                    }
                    if message.sequence == last {
                        return match failure {
                            Some(error) => Err(error),
                            None if changed => Err(NetlinkError::Changed {
                                what: what.to_owned(),
                            }),
                            None => Ok(()),
                        };
                    }
                } else if let Err(reason) = each(message.kind, message.payload) {
                    failure.get_or_insert(NetlinkError::Malformed {
                        what: what.to_owned(),
                        reason,
                    });
                }
            }
        }
    }

    fn receive(&mut self, what: &str) -> Result<usize, NetlinkError> {
        let failed = |source: io::Error| NetlinkError::Socket {
            what: what.to_owned(),
            source,
        };
        if !sys::readable::any(&[self.socket.as_fd()], ANSWER_WAIT).map_err(failed)? {
            return Err(NetlinkError::NoAnswer {
                what: what.to_owned(),
                seconds: ANSWER_WAIT.as_secs(),
            });
        }
        let received = rustix::net::recv(&self.socket, &mut self.buffer[..], RecvFlags::TRUNC);
        let (_, length) = received.map_err(|error| failed(error.into()))?;
        if length > self.buffer.len() {
            return Err(NetlinkError::Malformed {
                what: what.to_owned(),
                reason: format!("a message of {length} bytes"),
            });
        }
        Ok(length)
    }
}

/// One message of those that a read returned.
pub(crate) struct Message<'a> {
    pub kind: u16,
    pub flags: u16,
    pub sequence: u32,
    pub payload: &'a [u8],
}

impl Message<'_> {
    fn end(&self, what: &str) -> Option<Result<(), NetlinkError>> {
        if self.kind != NLMSG_ERROR && self.kind != NLMSG_DONE {
            return None;
        }
        // An end without a code, of kernels of old, is a good one.
        let code = self
            .payload
            .first_chunk()
            .map_or(0, |&code| i32::from_ne_bytes(code));
        if code >= 0 {
            return Some(Ok(()));
        }
        let source = io::Error::from_raw_os_error(code.saturating_neg());
        let reason = self.reason().unwrap_or_else(|| source.to_string());
        Some(Err(NetlinkError::Refused {
            what: what.to_owned(),
            reason,
            source,
        }))
    }

    fn reason(&self) -> Option<String> {
        let after = if self.kind == NLMSG_ERROR {
            4 + HEADER_BYTES
        } else {
            4
        };
        find(self.payload.get(after..)?, REASON).map(text)
    }
}

pub(crate) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let header: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        let word = |at: usize| {
            u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let half = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let length = usize::try_from(word(0)).ok()?;
        let payload = bytes.get(HEADER_BYTES..length)?;
        let message = Message {
            kind: half(4),
            flags: half(6),
            sequence: word(8),
            payload,
        };
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some(message)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::decode;
    use super::*;

    fn message(kind: u16, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEADER_BYTES + payload.len()).unwrap();
        let head = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10]].concat();
        let mut bytes = [&head[..], payload].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn a_refusal_is_told_in_the_kernels_words() {
        // Code, the request's header, then the text as an attribute of type 1.
        let code = (-22_i32).to_ne_bytes();
        let payload = [
            &code[..],
            &[0; 16],
            &9_u16.to_ne_bytes(),
            &[1, 0],
            b"lost\0",
        ]
        .concat();
        let bytes = message(NLMSG_ERROR, &payload);
        let error = messages(&bytes).next().unwrap().end("try").unwrap();
        let error = error.unwrap_err();
        assert_eq!(error.to_string(), "cannot try: lost");
        assert_eq!(error.errno(), Some(22));
        let bytes = message(NLMSG_ERROR, &i32::MIN.to_ne_bytes());
        assert!(
            messages(&bytes)
                .next()
                .unwrap()
                .end("try")
                .unwrap()
                .is_err()
        );
        let bytes = message(NLMSG_DONE, &[]);
        assert!(messages(&bytes).next().unwrap().end("try").unwrap().is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_an_end(
            kind in 0_u16..130,
            payload in prop::collection::vec(any::<u8>(), 0..300),
            tail in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut bytes = message(kind, &payload);
            let whole = bytes.len();
            bytes.extend_from_slice(&tail);
            let read: Vec<_> = messages(&bytes).collect();
            prop_assert_eq!(read[0].payload, &payload[..]);
            let length: usize = read
                .iter()
                .map(|message| message.payload.len() + HEADER_BYTES)
                .sum();
            prop_assert!(length <= whole + tail.len());
            for message in read {
                let _ = message.end("try");
                let _ = decode(message.kind, message.payload);
            }
        }
    }
}
