//! The smallest program that feeds sockets: each packet goes to the socket of
//! its receive queue, or to the kernel where that queue has none.
//!
//! Five instructions, so it is written here and not compiled. A router wants
//! more (what is local or odd goes to the kernel): `bpf/`.

use std::ffi::{CStr, c_int};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use sys::failure::Failure;

/// A program on an interface that gives packets to sockets, by receive queue.
/// Detached when dropped.
#[derive(Debug)]
pub struct Capture {
    map: OwnedFd,
    queues: u32,
    _link: OwnedFd,
}

const NAME: &CStr = c"lockgate_socket";

impl Capture {
    /// Attaches to an interface of the calling thread's network namespace that
    /// has `queues` receive queues. Until [`feed`](Self::feed) is called all
    /// packets go to the kernel.
    pub fn attach(interface_index: u32, queues: u32) -> Result<Self, Failure> {
        let map = new_map(queues).map_err(Failure::of(format!(
            "cannot make a map of {queues} AF_XDP sockets; it needs CAP_BPF and CAP_NET_ADMIN (run as root)"
        )))?;
        let program = load(&map).map_err(Failure::of(
            "the kernel refused the program that feeds AF_XDP sockets; it needs CAP_BPF and CAP_NET_ADMIN (run as root)",
        ))?;
        let link = link(&program, interface_index).map_err(Failure::of(format!(
            "cannot attach a program to interface {interface_index}; it must exist in this network namespace and have no other XDP program"
        )))?;
        Ok(Self {
            map,
            queues,
            _link: link,
        })
    }

    /// Gives packets of a receive queue to a socket that is bound to it.
    pub fn feed(&self, queue: u32, socket: &impl AsFd) -> Result<(), Failure> {
        let value = socket.as_fd().as_raw_fd();
        // SAFETY: a readable key and value of four bytes each, as the map has.
        let failed = unsafe {
            libbpf_sys::bpf_map_update_elem(
                self.map.as_raw_fd(),
                (&raw const queue).cast(),
                (&raw const value).cast(),
                0,
            )
        };
        checked(failed).map_err(Failure::of(format!(
            "cannot give queue {queue} to a socket: the map has {} queues, and the socket must be bound",
            self.queues
        )))
    }
}

fn new_map(queues: u32) -> io::Result<OwnedFd> {
    // SAFETY: a name that ends in a zero; no options.
    let fd = unsafe {
        libbpf_sys::bpf_map_create(
            libbpf_sys::BPF_MAP_TYPE_XSKMAP,
            NAME.as_ptr(),
            4,
            4,
            queues,
            std::ptr::null(),
        )
    };
    descriptor(fd)
}

/// `return bpf_redirect_map(&map, ctx->rx_queue_index, XDP_PASS);`
fn instructions(map: c_int) -> [u64; 6] {
    let map = u64::from(map.cast_unsigned());
    let pass = u64::from(libbpf_sys::XDP_PASS);
    let redirect_map = u64::from(libbpf_sys::BPF_FUNC_redirect_map);
    [
        // r2 = *(u32 *)(r1 + 16), the queue; 16 bits of offset from bit 16.
        0x0010_1261,
        // r1 = map, a number of 64 bits in two instructions.
        0x1118 | map << 32,
        0,
        // r3 = XDP_PASS
        0x03b7 | pass << 32,
        // call
        0x0085 | redirect_map << 32,
        // exit
        0x0095,
    ]
}

fn load(map: &OwnedFd) -> io::Result<OwnedFd> {
    let instructions = instructions(map.as_raw_fd());
    // SAFETY: strings that end in a zero; this many instructions of eight bytes
    // as stated, aligned to eight; no options.
    let fd = unsafe {
        libbpf_sys::bpf_prog_load(
            libbpf_sys::BPF_PROG_TYPE_XDP,
            NAME.as_ptr(),
            c"Dual MIT/GPL".as_ptr(),
            instructions.as_ptr().cast(),
            instructions.len() as _,
            std::ptr::null_mut(),
        )
    };
    descriptor(fd)
}

fn link(program: &OwnedFd, interface_index: u32) -> io::Result<OwnedFd> {
    let index = c_int::try_from(interface_index).map_err(io::Error::other)?;
    // SAFETY: no memory is passed: no options.
    let fd = unsafe {
        libbpf_sys::bpf_link_create(
            program.as_raw_fd(),
            index,
            libbpf_sys::BPF_XDP,
            std::ptr::null(),
        )
    };
    descriptor(fd)
}

fn descriptor(fd: c_int) -> io::Result<OwnedFd> {
    checked(fd)?;
    // SAFETY: the kernel just made this descriptor; it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn checked(result: c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::from_raw_os_error(-result));
    }
    Ok(())
}
