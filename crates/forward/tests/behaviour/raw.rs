//! A port of the tester: frames in and out as they are, by packet(7).

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use net::Namespace;

const FRAME_BYTES_MAX: usize = 4096;

/// Hears every frame that comes to one interface, and sends any.
pub struct Raw(OwnedFd);

impl Raw {
    pub fn open(namespace: &Namespace, interface: u32) -> io::Result<Self> {
        namespace
            .run(|| Self::open_here(interface))
            .map_err(io::Error::other)?
    }

    fn open_here(interface: u32) -> io::Result<Self> {
        let every = (libc::ETH_P_ALL as u16).to_be();
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers; the result is checked.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, i32::from(every)) })?;
        // SAFETY: a descriptor that was just made, without another owner.
        let raw = Self(unsafe { OwnedFd::from_raw_fd(fd) });
        raw.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        raw.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)?;
        raw.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 16 << 20)?;
        // SAFETY: all zeros are a valid address of this kind.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = every;
        address.sll_ifindex = interface as i32;
        // SAFETY: the address lives through the call and has the length given.
        check(unsafe {
            libc::bind(
                raw.0.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as u32,
            )
        })?;
        // What came between the socket's birth and its binding is from anywhere.
        while raw.receive()?.is_some() {}
        Ok(raw)
    }

    fn set(&self, level: i32, option: i32, value: i32) -> io::Result<()> {
        // SAFETY: the value lives through the call and has the length given.
        check(unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                level,
                option,
                (&raw const value).cast(),
                size_of::<i32>() as u32,
            )
        })?;
        Ok(())
    }

    /// Sends a frame of 14 bytes or more. One that the other end does not
    /// take, because it is too long, is gone as on a wire.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: the frame lives through the call and has the length given.
        let sent = unsafe {
            libc::send(
                self.0.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                libc::MSG_DONTWAIT,
            )
        };
        if sent < 0 {
            let error = io::Error::last_os_error();
            let not_taken = error.raw_os_error() == Some(libc::ENOBUFS);
            return if not_taken { Ok(()) } else { Err(error) };
        }
        assert_eq!(sent as usize, frame.len(), "packets are sent whole");
        Ok(())
    }

    /// The next frame, with its VLAN tag where it was; `None`: none is here.
    pub fn receive(&self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; FRAME_BYTES_MAX];
        let mut control = [0_u64; 16];
        let mut piece = libc::iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: bytes.len(),
        };
        // SAFETY: all zeros are a valid header.
        let mut header: libc::msghdr = unsafe { zeroed() };
        header.msg_iov = &raw mut piece;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control);
        // SAFETY: header, piece, bytes and control live through the call, with
        // the lengths given.
        let received = unsafe { libc::recvmsg(self.0.as_raw_fd(), &raw mut header, 0) };
        if received < 0 {
            let error = io::Error::last_os_error();
            let none = error.kind() == io::ErrorKind::WouldBlock;
            return if none { Ok(None) } else { Err(error) };
        }
        assert_eq!(header.msg_flags & libc::MSG_TRUNC, 0, "a longer frame");
        bytes.truncate(received as usize);
        if let Some([a, b, c, d]) = tag(&header) {
            bytes.splice(12..12, [a, b, c, d]);
        }
        Ok(Some(bytes))
    }
}

fn tag(header: &libc::msghdr) -> Option<[u8; 4]> {
    // SAFETY: the kernel filled the header's control buffer, which is aligned.
    let control = unsafe { libc::CMSG_FIRSTHDR(header).as_ref() }?;
    if (control.cmsg_level, control.cmsg_type) != (libc::SOL_PACKET, libc::PACKET_AUXDATA) {
        return None;
    }
    // SAFETY: data of this type is one tpacket_auxdata.
    let about: libc::tpacket_auxdata =
        unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(control).cast()) };
    (about.tp_status & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
        let [a, b] = about.tp_vlan_tpid.to_be_bytes();
        let [c, d] = about.tp_vlan_tci.to_be_bytes();
        [a, b, c, d]
    })
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}
