//! A load generator for the kernel's crypto socket, AF_ALG (Linux,
//! Documentation/crypto/userspace-if.rst): what user space gets of the
//! kernel's crypto.
//!
//! A request is two system calls, `sendmsg` and `read`, and the socket runs
//! it before `read` returns: a socket has one request in flight. The kernel
//! also takes such reads asynchronously (`io_submit`). In an emulated guest
//! that gained nothing: at 512 bytes and depth 16 on virtio-crypto 0.9 to 1.0
//! of one request at a time, since two system calls a request cost more than
//! the device. So it is no method of its own.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use crypto::{Data, KeyMaterial, Slices, Status};
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, AlgAddr, ControlMessage, MsgFlags, SockFlag, SockType, bind, sendmsg,
    setsockopt, socket, sockopt,
};
use sys::clock::now_ns;

use super::{Kind, Request, TrialError, TrialLine};
use kit::guest::kspeed::catalogue::{GCM_AAD_BYTES, GCM_TAG_BYTES};

/// Requests before counting begins.
const WARM_UP: Duration = Duration::from_millis(5);
/// A field of 64 in the address, ended by 0.
const DRIVER_BYTES: std::ops::Range<usize> = 1..64;
/// How much of a result is compared after every request: with chaining and tags
/// its end is where any mistake shows.
const TAIL_BYTES: usize = 16;
const ABSENT: &str = "no AF_ALG socket: load af_alg and algif_skcipher, algif_hash, algif_aead (kernel options CONFIG_CRYPTO_USER_API_SKCIPHER, _HASH, _AEAD), allow the address family in the container's seccomp profile, or use a guest: `lockgate vm run --module algif_skcipher …`";

/// Compares the driver's output with another implementation's, then asks as
/// fast as it answers.
pub fn measure(driver: &str, request: &Request) -> Result<TrialLine, TrialError> {
    request.check()?;
    let kind = request.kind;
    let operation = Operation::open(driver, kind)?;
    let (skip, input) = match kind {
        Kind::Gcm => (GCM_AAD_BYTES, pattern(GCM_AAD_BYTES + request.size_bytes)),
        _ => (0, pattern(request.size_bytes)),
    };
    let wrong = |what| TrialError::Wrong {
        driver: driver.to_owned(),
        what,
    };
    let expected = known(kind, &input[..skip], &input[skip..])
        .ok_or_else(|| wrong("no other implementation is here to compare it with"))?;
    // Kernels differ in whether associated data is copied.
    let mut output = vec![0; skip + expected.len()];
    let tail = output.len().saturating_sub(TAIL_BYTES).max(skip);
    let mut ask = || {
        operation
            .run(&input, &mut output)
            .map_err(|source| failed("a request", driver, source))?;
        match output[tail..] == expected[tail - skip..] {
            true => Ok(()),
            false => Err(wrong("another implementation's output differs")),
        }
    };
    let warm_ns = now_ns() + WARM_UP.as_nanos() as u64;
    ask()?;
    while now_ns() < warm_ns {
        ask()?;
    }
    let begin_ns = now_ns();
    let until_ns = begin_ns + request.time.as_nanos() as u64;
    let (mut completed, mut last_ns) = (0, begin_ns);
    while last_ns < until_ns {
        ask()?;
        completed += 1;
        last_ns = now_ns();
    }
    match output[skip..] == expected {
        true => Ok(request.line(driver, last_ns - begin_ns, completed)),
        false => Err(wrong("another implementation's output differs")),
    }
}

fn failed(call: &str, driver: &str, source: impl Into<io::Error>) -> TrialError {
    TrialError::Failed {
        what: format!("{call} failed for {driver}"),
        source: source.into().into(),
    }
}

/// A socket for requests, one at a time, with the one that driver and key are
/// bound to.
struct Operation {
    socket: OwnedFd,
    kind: Kind,
    iv: Vec<u8>,
    _transform: OwnedFd,
}

impl Operation {
    /// Finds the driver, of which the kernel loads the module if it can.
    fn open(driver: &str, kind: Kind) -> Result<Self, TrialError> {
        let kernel_type = match kind.facts().kernel_type {
            "ahash" => "hash",
            other => other,
        };
        if !DRIVER_BYTES.contains(&driver.len()) || driver.contains('\0') {
            let reason = format!(
                "driver {driver:?} is not a name of 1 to 63 bytes; /proc/crypto lists those there are"
            );
            return Err(TrialError::Usage(reason));
        }
        let flags = SockFlag::SOCK_CLOEXEC;
        let missing = |what: &str, errno: Errno| TrialError::Missing {
            what: what.to_owned(),
            source: errno.into(),
        };
        let transform = socket(AddressFamily::Alg, SockType::SeqPacket, flags, None)
            .map_err(|errno| missing(ABSENT, errno))?;
        let absent = format!(
            "the kernel has no {kernel_type} '{driver}' for AF_ALG: load algif_{kernel_type} and the driver's module; /proc/crypto lists the drivers that are there"
        );
        let address = AlgAddr::new(kernel_type, driver);
        bind(transform.as_raw_fd(), &address).map_err(|errno| match errno {
            Errno::ENOENT => missing(&absent, errno),
            errno => failed("bind", driver, errno),
        })?;
        if kind.facts().key_bytes > 0 {
            let key = key(kind);
            setsockopt(&transform, sockopt::AlgSetKey::default(), &key)
                .map_err(|errno| failed("ALG_SET_KEY", driver, errno))?;
        }
        if kind == Kind::Gcm {
            setsockopt(&transform, sockopt::AlgSetAeadAuthSize, &GCM_TAG_BYTES)
                .map_err(|errno| failed("ALG_SET_AEAD_AUTHSIZE", driver, errno))?;
        }
        let socket = rustix::net::accept_with(&transform, rustix::net::SocketFlags::CLOEXEC)
            .map_err(|errno| failed("accept", driver, errno))?;
        Ok(Self {
            socket,
            kind,
            iv: iv(kind),
            _transform: transform,
        })
    }

    /// One request: `input` in, `output` filled. Two system calls; the kernel
    /// computes in the second (a hash: in the first).
    fn run(&self, input: &[u8], output: &mut [u8]) -> io::Result<()> {
        let sent = self.send(input)?;
        if sent != input.len() {
            return Err(short("sendmsg", sent, input.len()));
        }
        let got = rustix::io::read(&self.socket, &mut *output)?;
        if got != output.len() {
            return Err(short("read", got, output.len()));
        }
        Ok(())
    }

    fn send(&self, input: &[u8]) -> io::Result<usize> {
        let data = [IoSlice::new(input)];
        let head = [
            ControlMessage::AlgSetOp(&libc::ALG_OP_ENCRYPT),
            ControlMessage::AlgSetIv(&self.iv),
            ControlMessage::AlgSetAeadAssoclen(&(GCM_AAD_BYTES as u32)),
        ];
        let head = match self.kind {
            Kind::Sha256 => &head[..0],
            Kind::Gcm => &head[..],
            _ => &head[..2],
        };
        let fd = self.socket.as_raw_fd();
        Ok(sendmsg::<()>(fd, &data, head, MsgFlags::empty(), None)?)
    }
}

fn short(call: &str, got: usize, wanted: usize) -> io::Error {
    io::Error::other(format!("{call} moved {got} of {wanted} bytes"))
}

fn key(kind: Kind) -> Vec<u8> {
    let indices = 0..kind.facts().key_bytes;
    indices.map(|index| (index * 37 + 11) as u8).collect()
}

/// The IV of every request.
fn iv(kind: Kind) -> Vec<u8> {
    let indices = 0..kind.facts().iv_bytes;
    indices.map(|index| 0xa0 ^ index as u8).collect()
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index % 251) as u8).collect()
}

/// What the plainest back-end makes of it, with the tag behind it: a second
/// opinion.
fn known(kind: Kind, aad: &[u8], plain: &[u8]) -> Option<Vec<u8>> {
    let own = kind.own()?;
    let backends = crypto::backends();
    let backend = backends.iter().rev().find(|one| one.supports(own))?;
    let key = backend
        .key(own.algorithm, &KeyMaterial::take(&mut key(kind)))
        .ok()?;
    let mut iv_of_16 = [0; 16];
    let iv = iv(kind);
    iv_of_16[..iv.len()].copy_from_slice(&iv);
    let mut tag = vec![0; own.algorithm.tag_bytes(own.operation)];
    let mut digest = vec![0; own.algorithm.digest_bytes()];
    let mut text = plain.to_vec();
    let data = match kind {
        Kind::Sha256 => Data::apart(plain, &mut digest),
        _ => Data::InPlace(&mut text),
    };
    let slices = Slices {
        iv: iv_of_16,
        aad,
        data,
        tag: &mut tag,
    };
    let status = crypto::process_slices(&**backend, &*key, own, slices);
    let output = if digest.is_empty() { text } else { digest };
    (status == Status::Ok).then(|| [output, tag].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_second_opinion() {
        let sha = known(Kind::Sha256, b"", b"abc").unwrap();
        assert_eq!(sha[..4], [0xba, 0x78, 0x16, 0xbf], "FIPS 180-4's example");
        let cbc = known(Kind::Cbc, b"", &pattern(64)).unwrap();
        let gcm = known(Kind::Gcm, &pattern(GCM_AAD_BYTES), &pattern(64)).unwrap();
        assert_eq!((cbc.len(), gcm.len()), (64, 64 + GCM_TAG_BYTES));
    }
}
