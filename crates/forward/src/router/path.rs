//! Which path a router forwards on: plain data, so that a scenario can name it.

use super::planted::Plant;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Poll {
    /// It looks at the rings all the time. On a CPU shared with the kernel's threads
    /// that fill them nothing can come meanwhile. There it yields the CPU after 16
    /// empty looks, so it sleeps as often as with `Interrupt` when few frames come,
    /// and seldom when many do.
    #[default]
    Polled,
    /// It sleeps in `poll(2)`.
    Interrupt,
    /// The kernel's busy polling (`SO_PREFER_BUSY_POLL`): it calls the driver.
    BusyPoll,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AfXdp {
    pub poll: Poll,
    /// Frames taken at once, 1 to 64.
    pub batch: u32,
    /// Each queue is bound to one of the router's cores; otherwise one thread, bound
    /// to the first, takes them all in turn.
    pub queues_bound: bool,
}

impl Default for AfXdp {
    /// Polled, 32 at once, queues bound.
    fn default() -> Self {
        Self {
            poll: Poll::Polled,
            batch: 32,
            queues_bound: true,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Path {
    #[default]
    Kernel,
    Bridge,
    /// XDP: every frame leaves by the other port unchanged, addresses included. Fast,
    /// and no router.
    XdpDevmap,
    /// XDP with the kernel's table (`bpf_fib_lookup`) for each frame.
    XdpFib,
    XdpFibCached,
    /// XDP hands frames to the kernel on another CPU, which forwards.
    XdpCpumap,
    AfXdp(AfXdp),
    Planted(Plant),
    /// DPDK's `testpmd` with its `net_af_xdp` driver on the same ports: a peer.
    Testpmd,
}

impl Path {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Bridge => "bridge",
            Self::XdpDevmap => "xdp-devmap",
            Self::XdpFib => "xdp-fib",
            Self::XdpFibCached => "xdp-fib-cached",
            Self::XdpCpumap => "xdp-cpumap",
            Self::AfXdp(_) => "af-xdp",
            Self::Planted(_) => "planted",
            Self::Testpmd => "testpmd",
        }
    }

    /// Whether frames keep their Ethernet addresses (layer 2): then the tester
    /// addresses them to its own other port.
    pub const fn is_layer_two(self) -> bool {
        matches!(self, Self::Bridge)
    }

    /// Whether it needs this build's cargo feature `bpf`.
    pub const fn needs_bpf(self) -> bool {
        matches!(
            self,
            Self::XdpDevmap
                | Self::XdpFib
                | Self::XdpFibCached
                | Self::XdpCpumap
                | Self::AfXdp(_)
                | Self::Planted(_)
        )
    }
}
