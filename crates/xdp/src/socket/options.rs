//! How a socket is opened, and the options that `rustix` has not.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// Preferred busy polling: calls on the socket run the driver's own polling
/// loop, in the caller's thread. The interface wants `napi_defer_hard_irqs`
/// and `gro_flush_timeout` set besides (Documentation/networking/napi.rst).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyPoll {
    /// Packets that one call takes at most (`SO_BUSY_POLL_BUDGET`).
    pub budget: u16,
    /// For how long a call looks (`SO_BUSY_POLL`), µs, at least 1.
    pub look_us: u32,
}

impl Default for BusyPoll {
    fn default() -> Self {
        Self {
            budget: 64,
            look_us: 20,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SocketOptions {
    /// Entries of each of the four rings, a power of two.
    pub ring_entries: u32,
    pub busy_poll: Option<BusyPoll>,
    /// Frames that one call sends at most where frames are copied: Linux takes
    /// 32 unless told otherwise (`XDP_MAX_TX_SKB_BUDGET`, Linux 6.17); an older
    /// one keeps its 32.
    pub send_budget: Option<u32>,
    /// Memory for the kernel's copies of packets that a device has not done with
    /// (`SO_SNDBUFFORCE`); otherwise the host's default, about 200 KB. When it is
    /// used up, packets wait in the transmit ring.
    pub send_buffer_bytes: Option<usize>,
    /// How long to try again where the queue is still another socket's: the kernel
    /// frees it some time after that one was closed.
    pub patience: Duration,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            ring_entries: 2048,
            busy_poll: None,
            send_budget: None,
            send_buffer_bytes: None,
            patience: Duration::from_secs(2),
        }
    }
}

// Of `asm-generic/socket.h`; `libc` has them not.
const SO_BUSY_POLL: libc::c_int = 46;
const SO_INCOMING_NAPI_ID: libc::c_int = 56;
const SO_PREFER_BUSY_POLL: libc::c_int = 69;
const SO_BUSY_POLL_BUDGET: libc::c_int = 70;

/// `XDP_MAX_TX_SKB_BUDGET` of `linux/if_xdp.h`.
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// Linux's own budget in copy mode (`TX_BATCH_SIZE`, `net/xdp/xsk.c`).
const SEND_BUDGET: u32 = 32;

pub(super) fn set_send_budget(socket: &OwnedFd, wanted: Option<u32>, entries: u32) -> u32 {
    let Some(wanted) = wanted else {
        return SEND_BUDGET;
    };
    // The kernel refuses less than its own and more than the ring holds.
    let budget = wanted.clamp(SEND_BUDGET, entries.max(SEND_BUDGET));
    set(socket, libc::SOL_XDP, XDP_MAX_TX_SKB_BUDGET, budget).map_or(SEND_BUDGET, |()| budget)
}

pub(super) fn set_busy_poll(socket: &OwnedFd, busy: BusyPoll) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, SO_PREFER_BUSY_POLL, 1)?;
    set(socket, libc::SOL_SOCKET, SO_BUSY_POLL, busy.look_us.max(1))?;
    let budget = busy.budget.max(1).into();
    set(socket, libc::SOL_SOCKET, SO_BUSY_POLL_BUDGET, budget)
}

/// The number of the driver's polling loop (NAPI) that fills the socket's queue;
/// `None` while the kernel does not know it: then it cannot be busy-polled.
pub(super) fn napi_id(socket: &OwnedFd) -> io::Result<Option<u32>> {
    let (mut id, mut len) = (0_u32, size_of::<u32>() as libc::socklen_t);
    // SAFETY: a writable integer and its size.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_INCOMING_NAPI_ID,
            (&raw mut id).cast(),
            &raw mut len,
        )
    };
    match failed {
        0 => Ok((id != 0).then_some(id)),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set(socket: &OwnedFd, level: i32, option: i32, value: u32) -> io::Result<()> {
    // SAFETY: a readable integer of the size stated.
    let failed = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            4,
        )
    };
    match failed {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
