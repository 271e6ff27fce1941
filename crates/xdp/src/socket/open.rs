//! Opening a socket: memory, rings, binding.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, SocketAddrXdpWithSharedUmem, XDP_PGOFF_RX_RING,
    XDP_PGOFF_TX_RING, XDP_UMEM_PGOFF_COMPLETION_RING, XDP_UMEM_PGOFF_FILL_RING, XdpOptionsFlags,
    XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};
use sys::failure::Failure;

use super::map::{Descriptor, map};
use super::options::{SocketOptions, set_busy_poll, set_send_budget};
use super::receive::Receive;
use super::ring::{Consumer, Producer};
use super::transmit::Transmit;
use super::umem::Umem;

const BIND_PAUSE: Duration = Duration::from_millis(10);

/// The most entries of a ring: 2 MiB of descriptors.
pub const RING_ENTRIES_MAX: u32 = 1 << 17;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("rings of {0} entries: choose a power of two up to {RING_ENTRIES_MAX}")]
    RingEntries(u32),
    #[error(transparent)]
    Failed(#[from] Failure),
    #[error(
        "queue {queue} of interface {interface_index} is still another AF_XDP socket's after {waited_ms} ms; end the program that has it"
    )]
    Busy {
        interface_index: u32,
        queue: u32,
        waited_ms: u64,
    },
    #[error(
        "cannot bind to queue {queue} of interface {interface_index}; it must exist in this network namespace, be up, and have that queue"
    )]
    Bind {
        interface_index: u32,
        queue: u32,
        #[source]
        source: io::Error,
    },
}

/// A socket at one queue of one interface, in two halves that may go to different
/// threads. It is closed when both are dropped, unless it was the first of its UMEM:
/// that one stays bound until the UMEM and its other sockets are gone.
#[derive(Debug)]
pub struct Socket {
    pub receive: Receive,
    pub transmit: Transmit,
}

impl Socket {
    /// Opens a socket in the calling thread's network namespace at one queue. The
    /// first socket of a UMEM gives the memory to the kernel; later ones share it,
    /// and use the first one's mode and way of waking.
    pub fn open(
        umem: &Arc<Umem>,
        interface_index: u32,
        queue: u32,
        options: &SocketOptions,
    ) -> Result<Self, OpenError> {
        let entries = options.ring_entries;
        if !entries.is_power_of_two() || entries > RING_ENTRIES_MAX {
            return Err(OpenError::RingEntries(entries));
        }
        let socket = Arc::new(new_socket()?);
        // Others wait until the first is bound: only then can they share it.
        let mut first = umem.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            register(&socket, umem)?;
        }
        let ends = rings(&socket, entries).map_err(Failure::of(format!(
            "the kernel refused rings of {entries} entries; take fewer"
        )))?;
        let place = Place {
            interface_index,
            queue,
        };
        place.bind(&socket, first.as_deref(), options.patience)?;
        if first.is_none() {
            *first = Some(Arc::clone(&socket));
        }
        drop(first);
        if let Some(busy) = options.busy_poll {
            set_busy_poll(&socket, busy).map_err(Failure::of(
                "the kernel refused busy polling; it needs Linux 5.11 and CAP_NET_ADMIN",
            ))?;
        }
        if let Some(bytes) = options.send_buffer_bytes {
            sockopt::set_socket_send_buffer_size_force(&socket, bytes).map_err(Failure::of(
                format!("the kernel refused {bytes} bytes for packets on their way; it needs CAP_NET_ADMIN"),
            ))?;
        }
        let budget = set_send_budget(&socket, options.send_budget, entries);
        Ok(ends.into_socket(&socket, umem, budget))
    }
}

fn new_socket() -> Result<OwnedFd, Failure> {
    socket_with(
        AddressFamily::XDP,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(Failure::of(
        "cannot make an AF_XDP socket; it needs CAP_NET_RAW (run as root) and a kernel with CONFIG_XDP_SOCKETS",
    ))
}

fn register(socket: &OwnedFd, umem: &Umem) -> Result<(), Failure> {
    let (addr, len) = umem.area();
    let registration = XdpUmemReg {
        addr,
        len,
        chunk_size: umem.frame_bytes(),
        headroom: 0,
        flags: XdpUmemRegFlags::empty(),
        tx_metadata_len: 0,
    };
    sockopt::set_xdp_umem_reg(socket, registration).map_err(Failure::of(format!(
        "the kernel refused a UMEM of {len} bytes; take fewer frames, or raise RLIMIT_MEMLOCK"
    )))
}

struct Ends {
    receive: Consumer<Descriptor>,
    fill: Producer<u64>,
    transmit: Producer<Descriptor>,
    completion: Consumer<u64>,
    entries: u32,
}

impl Ends {
    fn into_socket(self, socket: &Arc<OwnedFd>, umem: &Arc<Umem>, budget: u32) -> Socket {
        let options = sockopt::xdp_options(socket).unwrap_or(XdpOptionsFlags::empty());
        let is_zero_copy = options.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY);
        Socket {
            receive: Receive {
                socket: Arc::clone(socket),
                umem: Arc::clone(umem),
                ring: self.receive,
                fill: self.fill,
                invalid: 0,
            },
            transmit: Transmit {
                socket: Arc::clone(socket),
                umem: Arc::clone(umem),
                ring: self.transmit,
                completion: self.completion,
                entries: self.entries,
                in_flight: 0,
                budget,
                is_zero_copy,
                calls: 0,
                invalid: 0,
            },
        }
    }
}

fn rings(socket: &Arc<OwnedFd>, entries: u32) -> io::Result<Ends> {
    sockopt::set_xdp_umem_fill_ring_size(socket, entries)?;
    sockopt::set_xdp_umem_completion_ring_size(socket, entries)?;
    sockopt::set_xdp_rx_ring_size(socket, entries)?;
    sockopt::set_xdp_tx_ring_size(socket, entries)?;
    let at = sockopt::xdp_mmap_offsets(socket)?;
    let fill = map(socket, &at.fr, XDP_UMEM_PGOFF_FILL_RING, entries)?;
    let completion = map(socket, &at.cr, XDP_UMEM_PGOFF_COMPLETION_RING, entries)?;
    let receive = map(socket, &at.rx, XDP_PGOFF_RX_RING, entries)?;
    let transmit = map(socket, &at.tx, XDP_PGOFF_TX_RING, entries)?;
    Ok(Ends {
        receive: Consumer::new(receive),
        fill: Producer::new(fill),
        transmit: Producer::new(transmit),
        completion: Consumer::new(completion),
        entries,
    })
}

#[derive(Clone, Copy)]
struct Place {
    interface_index: u32,
    queue: u32,
}

impl Place {
    /// Binds, and tries again while the queue is another socket's.
    fn bind(
        self,
        socket: &OwnedFd,
        first: Option<&OwnedFd>,
        patience: Duration,
    ) -> Result<(), OpenError> {
        let started = Instant::now();
        loop {
            match self.try_bind(socket, first) {
                Ok(()) => return Ok(()),
                Err(Errno::BUSY) if started.elapsed() < patience => sleep(BIND_PAUSE),
                Err(error) => return Err(self.failure(error, started.elapsed())),
            }
        }
    }

    fn try_bind(self, socket: &OwnedFd, first: Option<&OwnedFd>) -> Result<(), Errno> {
        let address = |flags| SocketAddrXdp::new(flags, self.interface_index, self.queue);
        let Some(first) = first else {
            // By zero-copy where the driver has it; the driver asks when it wants to be
            // called instead of running by itself.
            return bind(socket, &address(SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP));
        };
        // The kernel takes no other flags here: they are the first socket's.
        let shared = SocketAddrXdpWithSharedUmem {
            addr: address(SocketAddrXdpFlags::XDP_SHARED_UMEM),
            shared_umem_fd: first.as_fd(),
        };
        bind(socket, &shared)
    }

    fn failure(self, error: Errno, waited: Duration) -> OpenError {
        let Self {
            interface_index,
            queue,
        } = self;
        match error {
            Errno::BUSY => OpenError::Busy {
                interface_index,
                queue,
                waited_ms: waited.as_millis().try_into().unwrap_or(u64::MAX),
            },
            error => OpenError::Bind {
                interface_index,
                queue,
                source: error.into(),
            },
        }
    }
}
