//! A port of the tester: frames in and out as they are, by packet(7).

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd};

use net::Namespace;
use sys::packet::{Batch, PacketSocket};

const FRAME_BYTES_MAX: usize = 4096;

/// Hears every frame that comes to one interface, and sends any.
pub struct Raw(PacketSocket);

impl Raw {
    pub fn open(namespace: &Namespace, interface: u32) -> io::Result<Self> {
        let open = || PacketSocket::open(interface);
        let raw = Self(namespace.run(open).map_err(io::Error::other)??);
        // The kernel takes a tag out of a frame, and tells it beside.
        let on = 1_i32;
        // SAFETY: the value lives through the call and has the length given.
        check(unsafe {
            libc::setsockopt(
                raw.fd(),
                libc::SOL_PACKET,
                libc::PACKET_AUXDATA,
                (&raw const on).cast(),
                size_of_val(&on) as u32,
            )
        })?;
        while raw.receive()?.is_some() {}
        Ok(raw)
    }

    fn fd(&self) -> i32 {
        self.0.as_fd().as_raw_fd()
    }

    /// Sends a frame of 14 bytes or more. One that the other end does not
    /// take, because it is too long, is gone as on a wire.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        let mut batch = Batch::new(1);
        assert!(batch.push(frame), "{} bytes", frame.len());
        let sent = self.0.send(&mut batch)?;
        assert_eq!(sent.left, 0, "{sent:?}");
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
        let received = unsafe { libc::recvmsg(self.fd(), &raw mut header, 0) };
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

fn check(result: i32) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
