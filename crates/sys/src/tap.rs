//! Links whose other end is a file: tap and TUN
//! (`Documentation/networking/tuntap.rst`).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapMode {
    pub ethernet: bool,
    /// Each before it has a `virtio_net_hdr`, ten bytes.
    pub virtio_header: bool,
    /// Further files may be opened for the same link, one a queue.
    pub multi_queue: bool,
    /// Written frames wait in a ring for a NAPI of the link's own, instead of being
    /// received in the writer's context. The ring holds this many bytes of the
    /// kernel's memory; a write that finds it full fails with `WouldBlock`.
    pub ring_bytes: Option<i32>,
}

/// Makes a link in the calling thread's network namespace, or opens a further
/// queue of one. A read or write of the file is one frame; where there is none
/// it fails with `WouldBlock`. The link goes with the last of its files, unless it is kept ([`keep`]).
///
/// # Errors
/// `InvalidInput` for a name of other than 1 to 15 bytes; else from
/// `/dev/net/tun`, e.g. `PermissionDenied` without `CAP_NET_ADMIN`.
pub fn open(name: &str, mode: TapMode) -> io::Result<OwnedFd> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")?;
    attach(&file, name, mode)?;
    if let Some(bytes) = mode.ring_bytes {
        bound(&file, bytes)?;
    }
    Ok(file.into())
}

/// The link stays when its files are closed, and goes with its namespace.
///
/// # Errors
/// Of a file that [`open`] did not give.
pub fn keep(file: &File) -> io::Result<()> {
    let is_kept: libc::c_ulong = 1;
    // SAFETY: TUNSETPERSIST takes a number, no pointer.
    if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETPERSIST, is_kept) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn bound(file: &File, bytes: libc::c_int) -> io::Result<()> {
    // SAFETY: TUNSETSNDBUF reads one integer, which lives until the call returns.
    if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETSNDBUF, &raw const bytes) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn attach(file: &File, name: &str, mode: TapMode) -> io::Result<()> {
    // SAFETY: for an ifreq, zeros are a value: no name, no flags.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if !(1..request.ifr_name.len()).contains(&name.len()) || name.contains(['\0', '%']) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (letter, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *letter = libc::c_char::from_ne_bytes([byte]);
    }
    let kind = if mode.ethernet {
        libc::IFF_TAP
    } else {
        libc::IFF_TUN
    };
    let mut flags = kind | libc::IFF_NO_PI;
    if mode.virtio_header {
        flags |= libc::IFF_VNET_HDR;
    }
    if mode.multi_queue {
        flags |= libc::IFF_MULTI_QUEUE;
    }
    if mode.ring_bytes.is_some() {
        flags |= libc::IFF_NAPI;
    }
    // The kernel reads the flags' top bit as a flag, not as a sign.
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(flags).unwrap_or_default();
    // SAFETY: TUNSETIFF reads one ifreq, which lives until the call returns;
    // its name ends with a zero, as it is shorter than the array.
    if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw const request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MODE: TapMode = TapMode {
        ethernet: true,
        virtio_header: false,
        multi_queue: false,
        ring_bytes: None,
    };

    #[test]
    fn names_that_do_not_fit_are_refused() {
        let null = File::open("/dev/null").unwrap();
        for name in ["", "sixteen-letters-", "a\0b", "lg%d"] {
            let error = attach(&null, name, MODE).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
        // A name that fits reaches the kernel, which knows no such file.
        assert_eq!(
            attach(&null, "lgnone", MODE).unwrap_err().raw_os_error(),
            Some(libc::ENOTTY)
        );
    }
}
