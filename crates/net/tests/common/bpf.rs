//! BPF programs of others, planted by bpf(2) alone: `linux/bpf.h`.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const LOAD: libc::c_long = 5;
const MAKE_LINK: libc::c_long = 28;

/// What a planted program is; each lets everything pass.
#[derive(Clone, Copy, Debug)]
pub enum Planted {
    TcxIngress,
    TcxEgress,
    Xdp,
    /// At netfilter's forward hook of IPv6.
    Netfilter,
}

impl Planted {
    /// `BPF_PROG_TYPE_…`, `BPF_…` as the place, and the answer that lets a frame pass.
    fn numbers(self) -> (u32, u32, i32) {
        match self {
            Self::TcxIngress => (3, 46, -1),
            Self::TcxEgress => (3, 47, -1),
            Self::Xdp => (6, 37, 2),
            Self::Netfilter => (32, 45, 1),
        }
    }
}

fn call(command: libc::c_long, attributes: &mut [u32; 32]) -> io::Result<OwnedFd> {
    // SAFETY: the attributes, and what they point to in `plant`, live through the call.
    let file = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            attributes.as_mut_ptr(),
            size_of_val(attributes),
        )
    };
    match i32::try_from(file) {
        // SAFETY: the kernel has just made it.
        Ok(file) if file >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(file) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Puts such a program at a link of the calling thread's namespace; it goes with the file.
pub fn plant(planted: Planted, interface: u32) -> io::Result<OwnedFd> {
    let (kind, place, answer) = planted.numbers();
    // r0 = answer; exit.
    let code: [u64; 2] = [0xb7 | u64::from(answer.cast_unsigned()) << 32, 0x95];
    let license = c"GPL";
    let mut attributes = [0_u32; 32];
    attributes[..2].copy_from_slice(&[kind, 2]);
    let mut address = |at: usize, of: u64| {
        attributes[at] = of as u32;
        attributes[at + 1] = (of >> 32) as u32;
    };
    address(2, code.as_ptr().expose_provenance() as u64);
    address(4, license.as_ptr().expose_provenance() as u64);
    attributes[17] = place;
    let program = call(LOAD, &mut attributes)?;
    let mut attributes = [0_u32; 32];
    attributes[0] = program.as_raw_fd().cast_unsigned();
    attributes[2] = place;
    match planted {
        // NFPROTO_IPV6, NF_INET_FORWARD, priority.
        Planted::Netfilter => attributes[4..7].copy_from_slice(&[10, 2, 7]),
        // XDP_FLAGS_SKB_MODE.
        Planted::Xdp => (attributes[1], attributes[3]) = (interface, 2),
        _ => attributes[1] = interface,
    }
    call(MAKE_LINK, &mut attributes)
}
