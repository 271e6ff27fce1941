//! The two sockets of AF_ALG: one that a transform is bound to and keyed on,
//! and those accepted from it that requests go through.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, AlgAddr, ControlMessage, MsgFlags, SockFlag, SockType, bind, sendmsg,
    setsockopt, socket, sockopt,
};

use crate::kspeed::af_alg::AfAlgError;
use crate::kspeed::af_alg::request::{AfAlg, AfAlgType, Direction};

/// A transform: algorithm and key.
pub(super) struct Transform {
    socket: OwnedFd,
    pub(super) driver: String,
}

impl Transform {
    /// Finds the algorithm; the kernel loads its module if it can.
    pub(super) fn bind(kind: AfAlgType, driver: &str) -> Result<Self, AfAlgError> {
        let socket = socket(
            AddressFamily::Alg,
            SockType::SeqPacket,
            SockFlag::SOCK_CLOEXEC,
            None,
        )
        .map_err(|errno| AfAlgError::Absent(errno.into()))?;
        let own = Self {
            socket,
            driver: driver.to_owned(),
        };
        match bind(own.socket.as_raw_fd(), &AlgAddr::new(kind.name(), driver)) {
            Ok(()) => Ok(own),
            Err(errno @ Errno::ENOENT) => Err(AfAlgError::Unknown {
                kind: kind.name(),
                driver: own.driver,
                source: errno.into(),
            }),
            Err(errno @ Errno::ELIBBAD) => Err(own.failed(
                "bind",
                ": the driver failed the kernel's self-test; take another, see dmesg",
                errno,
            )),
            Err(errno) => Err(own.failed("bind", "", errno)),
        }
    }

    /// Sets tag length and key.
    pub(super) fn set_up(&self, request: &AfAlg) -> Result<(), AfAlgError> {
        if request.key_bytes > 0 {
            setsockopt(
                &self.socket,
                sockopt::AlgSetKey::default(),
                &key(request.key_bytes),
            )
            .map_err(|errno| {
                self.failed(
                    "ALG_SET_KEY",
                    ": give --key a length that the algorithm has (of authenc, no flat key is one)",
                    errno,
                )
            })?;
        }
        if request.kind == AfAlgType::Aead {
            setsockopt(
                &self.socket,
                sockopt::AlgSetAeadAuthSize,
                &request.tag_bytes,
            )
            .map_err(|errno| {
                self.failed(
                    "ALG_SET_AEAD_AUTHSIZE",
                    ": give --tag a length that the algorithm has, 16 mostly",
                    errno,
                )
            })?;
        }
        Ok(())
    }

    /// A socket for requests.
    pub(super) fn operation(&self) -> Result<Operation, AfAlgError> {
        rustix::net::accept_with(&self.socket, rustix::net::SocketFlags::CLOEXEC)
            .map(Operation)
            .map_err(|errno| {
                self.failed(
                    "accept",
                    ": raise the limit of open files, or lower --depth",
                    Errno::from_raw(errno.raw_os_error()),
                )
            })
    }

    pub(super) fn failed(
        &self,
        call: &'static str,
        remedy: &'static str,
        errno: Errno,
    ) -> AfAlgError {
        AfAlgError::System {
            call,
            driver: self.driver.clone(),
            remedy,
            source: errno.into(),
        }
    }
}

/// A key of that length. XTS refuses equal halves: no two bytes are near.
pub(super) fn key(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index * 37 + 11) as u8).collect()
}

/// What goes with a request's bytes.
pub(super) enum Head {
    /// A hash takes nothing.
    Hash,
    /// Direction, IV, and bytes of associated data where there are any.
    Cipher {
        operation: libc::c_int,
        iv: Vec<u8>,
        aad_bytes: Option<u32>,
    },
}

impl Head {
    pub(super) fn of(request: &AfAlg, direction: Direction, iv_bytes: usize) -> Self {
        let operation = match direction {
            Direction::Encrypt => libc::ALG_OP_ENCRYPT,
            Direction::Decrypt => libc::ALG_OP_DECRYPT,
        };
        match request.kind {
            AfAlgType::Hash => Self::Hash,
            AfAlgType::Skcipher => Self::Cipher {
                operation,
                iv: iv(iv_bytes),
                aad_bytes: None,
            },
            AfAlgType::Aead => Self::Cipher {
                operation,
                iv: iv(iv_bytes),
                aad_bytes: u32::try_from(request.aad_bytes).ok(),
            },
        }
    }
}

/// The IV of every request.
pub(super) fn iv(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| 0xa0 ^ index as u8).collect()
}

/// A socket for requests, one at a time.
pub(super) struct Operation(OwnedFd);

impl Operation {
    /// One request: `input` in, `output` filled. Two system calls; the kernel
    /// computes in the second (a hash: in the first).
    pub(super) fn run(&self, head: &Head, input: &[u8], output: &mut [u8]) -> io::Result<()> {
        let sent = self.send(head, input)?;
        if sent != input.len() {
            return Err(short("sendmsg", sent, input.len()));
        }
        let got = rustix::io::read(&self.0, &mut *output)?;
        if got != output.len() {
            return Err(short("read", got, output.len()));
        }
        Ok(())
    }

    fn send(&self, head: &Head, input: &[u8]) -> io::Result<usize> {
        let data = [IoSlice::new(input)];
        let send = |head: &[ControlMessage<'_>]| {
            sendmsg::<()>(self.0.as_raw_fd(), &data, head, MsgFlags::empty(), None)
        };
        let sent = match head {
            Head::Hash => send(&[]),
            Head::Cipher {
                operation,
                iv,
                aad_bytes: None,
            } => send(&[
                ControlMessage::AlgSetOp(operation),
                ControlMessage::AlgSetIv(iv),
            ]),
            Head::Cipher {
                operation,
                iv,
                aad_bytes: Some(aad_bytes),
            } => send(&[
                ControlMessage::AlgSetOp(operation),
                ControlMessage::AlgSetIv(iv),
                ControlMessage::AlgSetAeadAssoclen(aad_bytes),
            ]),
        };
        Ok(sent?)
    }
}

fn short(call: &str, got: usize, wanted: usize) -> io::Error {
    io::Error::other(format!("{call} moved {got} of {wanted} bytes"))
}
