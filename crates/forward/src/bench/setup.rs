//! What a bench is to be: plain data.

use std::io;

use crate::home;
use crate::router::path::Path;
use crate::topology::{Cpus, Spec, Wires};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PortKind {
    /// Frames made by an XDP program in the kernel, counted by another: the
    /// fastest. Needs the cargo feature `bpf`.
    LiveFrame,
    /// AF_XDP sockets. Needs the cargo feature `bpf`.
    AfXdp,
    AfPacket,
    /// The files of taps: the wires are [`Wires::Tap`](crate::topology::Wires).
    Tap,
}

impl PortKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::LiveFrame => "live-frame",
            Self::AfXdp => "af-xdp",
            Self::AfPacket => "af-packet",
            Self::Tap => "tap",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    pub topology: Spec,
    pub home: home::Kind,
    pub path: Path,
    pub ports: PortKind,
    /// CPUs that the router may use on average, if limited: its NAPI threads or
    /// its own threads together.
    pub cpu_limit: Option<f64>,
}

impl Setup {
    /// Kernel routing in a namespace, on the CPUs given; live frames where this
    /// build has them.
    pub fn new(cpus: Cpus) -> Self {
        let ports = if cfg!(feature = "bpf") {
            PortKind::LiveFrame
        } else {
            PortKind::AfPacket
        };
        Self {
            topology: Spec::new(cpus),
            home: home::Kind::Namespace,
            path: Path::Kernel,
            ports,
            cpu_limit: None,
        }
    }

    /// Whether it needs this build's cargo feature `bpf`.
    pub fn needs_bpf(&self) -> bool {
        self.path.needs_bpf() || matches!(self.ports, PortKind::LiveFrame | PortKind::AfXdp)
    }

    /// The same over other wires; over taps with the ports that taps need.
    #[must_use]
    pub fn over(mut self, wires: Wires) -> Self {
        if wires == Wires::Tap {
            self.ports = PortKind::Tap;
        }
        self.topology.wires = wires;
        self
    }

    /// [`new`](Self::new) on the CPUs that this process may use.
    pub fn of_host() -> io::Result<Self> {
        Cpus::of_host().map(Self::new)
    }
}
