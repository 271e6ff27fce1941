//! Sockets that send and receive whole frames at one interface (packet(7)), many
//! a call.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Bytes of a slot of a [`Batch`]: Ethernet's longest frame with a tag, and some.
pub const SLOT_BYTES: usize = 2048;

/// The most frames of a [`Batch`]: what the kernel takes in one call
/// (`UIO_MAXIOV`).
pub const BATCH_MAX: usize = 1024;

#[derive(Debug)]
pub struct Batch {
    bytes: Box<[u8]>,
    lens: Vec<usize>,
    capacity: usize,
}

impl Batch {
    /// A batch of `capacity` frames, 1 to [`BATCH_MAX`].
    ///
    /// # Panics
    /// Outside that range: callers choose a number of their own.
    pub fn new(capacity: usize) -> Self {
        assert!(
            (1..=BATCH_MAX).contains(&capacity),
            "a batch of {capacity} frames"
        );
        Self {
            bytes: vec![0; capacity * SLOT_BYTES].into(),
            lens: Vec::with_capacity(capacity),
            capacity,
        }
    }

    /// Copies a frame in; `false` if there is no room, or it is too long.
    pub fn push(&mut self, frame: &[u8]) -> bool {
        if self.lens.len() == self.capacity || frame.len() > SLOT_BYTES {
            return false;
        }
        let start = self.lens.len() * SLOT_BYTES;
        self.bytes[start..start + frame.len()].copy_from_slice(frame);
        self.lens.push(frame.len());
        true
    }

    pub fn frames(&self) -> impl Iterator<Item = &[u8]> {
        let slots = self.bytes.chunks(SLOT_BYTES);
        slots.zip(&self.lens).map(|(slot, &len)| &slot[..len])
    }

    pub fn clear(&mut self) {
        self.lens.clear();
    }

    pub fn len(&self) -> usize {
        self.lens.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lens.is_empty()
    }
}

/// A socket at one interface: it hears what comes there, not what leaves.
#[derive(Debug)]
pub struct PacketSocket(OwnedFd);

/// Frames that wait to be read, or to be released by their receiver, in bytes of
/// memory that the kernel counts. More than the rings of any device hold: so it is
/// the device that refuses, not the socket.
const BUFFER_BYTES: i32 = 64 << 20;

/// How the frames of a batch ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    pub taken: usize,
    /// Dropped by the interface, whose queue was full: each was tried once.
    pub dropped: usize,
    pub left: usize,
}

impl PacketSocket {
    /// Opens a socket at an interface of the calling thread's network namespace. It
    /// never blocks.
    ///
    /// # Errors
    /// From `socket(2)`, `bind(2)`: without `CAP_NET_RAW` and `CAP_NET_ADMIN`, or
    /// no such interface.
    pub fn open(interface_index: u32) -> io::Result<Self> {
        let index = i32::try_from(interface_index).map_err(io::Error::other)?;
        // Deaf until it is bound: protocol 0.
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no memory is passed.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: the kernel just made this descriptor; it has no other owner.
        let socket = Self(unsafe { OwnedFd::from_raw_fd(fd) });
        socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
        socket.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER_BYTES)?;
        socket.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, BUFFER_BYTES)?;
        socket.bind(index)?;
        Ok(socket)
    }

    fn bind(&self, index: i32) -> io::Result<()> {
        // SAFETY: for this address zeros are a value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index;
        let len = size_of_val(&address) as libc::socklen_t;
        // SAFETY: one readable address of the size stated.
        check(unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), len) })?;
        Ok(())
    }

    fn set(&self, level: i32, option: i32, value: i32) -> io::Result<()> {
        // SAFETY: one readable integer of the size stated.
        check(unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                level,
                option,
                (&raw const value).cast(),
                size_of_val(&value) as libc::socklen_t,
            )
        })?;
        Ok(())
    }

    /// Sends the frames of a batch, in order, each once: one that the interface drops
    /// is lost, and the next is tried.
    ///
    /// # Errors
    /// From `sendmmsg(2)` when a frame is refused for another reason than a full
    /// queue or buffer, e.g. the interface is down.
    pub fn send(&self, batch: &mut Batch) -> io::Result<Sent> {
        let mut pieces = pieces(batch);
        let mut headers = headers(&mut pieces);
        let mut sent = Sent::default();
        loop {
            let done = sent.taken + sent.dropped;
            let rest = &mut headers[done..];
            if rest.is_empty() {
                return Ok(sent);
            }
            let tried = rest.len();
            match self.send_some(rest) {
                Ok(taken) => {
                    sent.taken += taken;
                    // The kernel keeps to itself why it stopped in between. It was
                    // not the socket's memory: see `BUFFER_BYTES`.
                    sent.dropped += usize::from(taken < tried);
                }
                Err(error) if is(&error, libc::ENOBUFS) => sent.dropped += 1,
                Err(error) if is(&error, libc::EINTR) => {}
                Err(error) if is(&error, libc::EAGAIN) => {
                    sent.left = tried;
                    return Ok(sent);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn send_some(&self, headers: &mut [libc::mmsghdr]) -> io::Result<usize> {
        let count = u32::try_from(headers.len()).expect("at most BATCH_MAX");
        // SAFETY: this many headers, each with one piece inside a batch that
        // their maker borrows.
        check(unsafe {
            libc::sendmmsg(
                self.0.as_raw_fd(),
                headers.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT,
            )
        })
        .map(|sent| sent.unsigned_abs() as usize)
    }

    /// Refills the batch with frames that wait. Returns how many; those longer than a
    /// slot are cut.
    ///
    /// # Errors
    /// From `recvmmsg(2)`, e.g. the interface is gone.
    pub fn receive(&self, batch: &mut Batch) -> io::Result<usize> {
        batch.lens = vec![SLOT_BYTES; batch.capacity];
        let mut pieces = pieces(batch);
        let mut headers = headers(&mut pieces);
        let count = u32::try_from(headers.len()).expect("at most BATCH_MAX");
        // SAFETY: this many headers, each with one piece inside the batch, which
        // is borrowed mutably; no timeout.
        let received = unsafe {
            libc::recvmmsg(
                self.0.as_raw_fd(),
                headers.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let received = match check(received) {
            Ok(received) => received.unsigned_abs() as usize,
            Err(error) if is_for_now(&error) => 0,
            Err(error) => {
                batch.lens.clear();
                return Err(error);
            }
        };
        let lens = headers[..received].iter().map(|one| one.msg_len as usize);
        batch.lens = lens.collect();
        Ok(received)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn pieces(batch: &mut Batch) -> Vec<libc::iovec> {
    let slots = batch.bytes.chunks_mut(SLOT_BYTES).zip(&batch.lens);
    slots
        .map(|(slot, &len)| libc::iovec {
            iov_base: slot.as_mut_ptr().cast(),
            iov_len: len,
        })
        .collect()
}

fn headers(pieces: &mut [libc::iovec]) -> Vec<libc::mmsghdr> {
    let header = |piece: &mut libc::iovec| {
        // SAFETY: for this header zeros are a value: no name, no control.
        let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        header.msg_hdr.msg_iov = piece;
        header.msg_hdr.msg_iovlen = 1;
        header
    };
    pieces.iter_mut().map(header).collect()
}

fn is_for_now(error: &io::Error) -> bool {
    [libc::EAGAIN, libc::ENOBUFS, libc::EINTR]
        .into_iter()
        .any(|busy| is(error, busy))
}

fn is(error: &io::Error, code: i32) -> bool {
    error.raw_os_error() == Some(code)
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_batch_takes_what_fits() {
        let mut batch = Batch::new(2);
        assert!(!batch.push(&[0; SLOT_BYTES + 1]));
        assert!(batch.push(&[1; 60]) && batch.push(&[2; SLOT_BYTES]));
        assert!(!batch.push(&[3]));
        let lens: Vec<_> = batch.frames().map(<[u8]>::len).collect();
        assert_eq!((lens, batch.len()), (vec![60, SLOT_BYTES], 2));
        batch.clear();
        assert!(batch.is_empty());
    }

    #[test]
    fn no_such_interface_is_an_error() {
        // Without privilege it is another one.
        assert!(PacketSocket::open(u32::MAX).is_err());
        assert!(PacketSocket::open(0x7fff_fff0).is_err());
    }
}
