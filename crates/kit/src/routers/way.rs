//! The ways to forward, as scenarios, points and people name them.

use std::fmt;
use std::str::FromStr;

use forward::bench::Setup;
use forward::router::path::{AfXdp, Path, Poll};
use forward::topology::Cpus;

/// The most frames that an AF_XDP forwarder takes at once.
const BATCH_MAX: u32 = 64;
/// The most queues of a port that a scenario may ask for.
const QUEUES_MAX: u32 = 16;
const AF_XDP: &str = "af-xdp";
const UNBOUND: &str = "unbound";

/// All but AF_XDP, which has settings.
const PLAIN: [Path; 7] = [
    Path::Kernel,
    Path::Bridge,
    Path::XdpDevmap,
    Path::XdpFib,
    Path::XdpFibCached,
    Path::XdpCpumap,
    Path::Testpmd,
];

const POLLS: [Poll; 3] = [Poll::Polled, Poll::Interrupt, Poll::BusyPoll];

/// A way to forward, with the queues of its ports. Its name in a scenario is
/// its path's; of an AF_XDP forwarder `af-xdp:POLL:BATCH`. With several queues
/// `:QUEUES` follows, and `:unbound` where one thread takes all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Way {
    pub path: Path,
    /// Of each port.
    pub queues: u32,
}

impl Way {
    /// That path on ports of one queue.
    pub const fn of(path: Path) -> Self {
        Self { path, queues: 1 }
    }

    pub const KERNEL: Self = Self::of(Path::Kernel);

    /// A router of this kind.
    pub fn setup(self, cpus: &Cpus) -> Setup {
        let mut setup = Setup::new(cpus.clone());
        setup.path = self.path;
        setup.topology.queues = self.queues;
        setup
    }

    /// An AF_XDP forwarder on ports of one queue.
    pub const fn af_xdp(poll: Poll, batch: u32) -> Self {
        Self::of(Path::AfXdp(AfXdp {
            poll,
            batch,
            queues_bound: true,
        }))
    }

    /// What it does, for people.
    pub fn what(self) -> String {
        let mut what = path_words(self.path).to_owned();
        if let Path::AfXdp(AfXdp { poll, batch, .. }) = self.path {
            what += &format!(", {}, batch {batch}", poll_name(poll));
        }
        match (self.queues, self.is_bound()) {
            (1, _) => what,
            (queues, true) => format!("{what}, {queues} queues"),
            (queues, false) => format!("{what}, {queues} queues on one thread"),
        }
    }

    fn is_bound(self) -> bool {
        !matches!(self.path, Path::AfXdp(AfXdp { queues_bound, .. }) if !queues_bound)
    }

    /// Whether it asks the kernel's routing table: only then do routes and
    /// destinations matter to it.
    pub fn asks_the_table(self) -> bool {
        let paths = [
            Path::Kernel,
            Path::XdpFib,
            Path::XdpFibCached,
            Path::XdpCpumap,
        ];
        paths.contains(&self.path)
    }

    /// Whether it keeps a CPU busy while no frame comes.
    pub fn spins(self) -> bool {
        match self.path {
            Path::AfXdp(AfXdp { poll, .. }) => poll != Poll::Interrupt,
            Path::Testpmd => true,
            _ => false,
        }
    }

    /// Whether a limit of CPU time reaches all that forwards: the threads of a
    /// CPU map are bound to their CPUs, and the kernel lets no such thread into
    /// a control group.
    pub fn can_be_limited(self) -> bool {
        self.path != Path::XdpCpumap
    }
}

/// A path for people, without its settings.
pub const fn path_words(path: Path) -> &'static str {
    match path {
        Path::Kernel => "kernel routing",
        Path::Bridge => "the kernel's bridge",
        Path::XdpDevmap => "XDP devmap redirect",
        Path::XdpFib => "XDP with bpf_fib_lookup",
        Path::XdpFibCached => "XDP with a FIB cache",
        Path::XdpCpumap => "kernel routing behind an XDP CPU map",
        Path::Testpmd => "DPDK testpmd on net_af_xdp",
        Path::Planted(_) => "a planted fault",
        Path::AfXdp(_) => "AF_XDP two-port patch (asks no table)",
    }
}

/// As in scenarios.
pub const fn poll_name(poll: Poll) -> &'static str {
    match poll {
        Poll::Polled => "polled",
        Poll::Interrupt => "interrupt",
        Poll::BusyPoll => "busy-poll",
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path.name())?;
        if let Path::AfXdp(AfXdp { poll, batch, .. }) = self.path {
            write!(f, ":{}:{batch}", poll_name(poll))?;
        }
        match (self.queues, self.is_bound()) {
            (1, true) => Ok(()),
            (queues, true) => write!(f, ":{queues}"),
            (queues, false) => write!(f, ":{queues}:{UNBOUND}"),
        }
    }
}

impl Way {
    /// Names, and how those with settings are written.
    pub fn known_names() -> Vec<String> {
        let af_xdp = ["af-xdp:polled:32", "af-xdp:interrupt:32"];
        let plain = PLAIN.map(Path::name);
        plain.into_iter().chain(af_xdp).map(str::to_owned).collect()
    }
}

/// Why a name is no way to forward.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no path '{name}'; there are: {}, {AF_XDP}:POLL:BATCH with POLL polled, interrupt or busy-poll and BATCH 1 to {BATCH_MAX}; each also with :QUEUES, 1 to {QUEUES_MAX}",
    PLAIN.map(Path::name).join(", ")
)]
pub struct UnknownWay {
    name: String,
}

impl FromStr for Way {
    type Err = UnknownWay;

    fn from_str(name: &str) -> Result<Self, UnknownWay> {
        let words: Vec<_> = name.split(':').collect();
        parse(&words).ok_or_else(|| UnknownWay {
            name: name.to_owned(),
        })
    }
}

fn parse(words: &[&str]) -> Option<Way> {
    let (path, rest) = match words {
        [AF_XDP, poll, batch, rest @ ..] => (af_xdp(poll, batch)?, rest),
        [name, rest @ ..] => (PLAIN.into_iter().find(|path| path.name() == *name)?, rest),
        [] => return None,
    };
    let queues = rest.first().map_or(Some(1), |word| word.parse().ok())?;
    let path = match (path, rest.get(1..)) {
        (path, None | Some([])) => path,
        (Path::AfXdp(settings), Some([UNBOUND])) => Path::AfXdp(AfXdp {
            queues_bound: false,
            ..settings
        }),
        _ => return None,
    };
    (1..=QUEUES_MAX)
        .contains(&queues)
        .then_some(Way { path, queues })
}

fn af_xdp(poll: &str, batch: &str) -> Option<Path> {
    let poll = POLLS.into_iter().find(|own| poll_name(*own) == poll)?;
    let batch = batch.parse().ok()?;
    (1..=BATCH_MAX)
        .contains(&batch)
        .then_some(Way::af_xdp(poll, batch).path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_read_from_its_own_name() {
        let unbound = Way {
            path: Path::AfXdp(AfXdp {
                poll: Poll::BusyPoll,
                batch: 64,
                queues_bound: false,
            }),
            queues: 4,
        };
        let several = Way {
            path: Path::XdpFib,
            queues: 2,
        };
        let af_xdp = POLLS.map(|poll| Way::af_xdp(poll, 1));
        let all = PLAIN.map(Way::of).into_iter().chain(af_xdp);
        for way in all.chain([several, unbound]) {
            assert_eq!(way.to_string().parse(), Ok(way));
            assert!(way.to_string().starts_with(way.path.name()));
        }
        let name = "af-xdp:polled:32";
        assert_eq!(name.parse(), Ok(Way::af_xdp(Poll::Polled, 32)));
    }

    #[test]
    fn what_is_none_is_named_with_what_there_is() {
        for name in [
            "",
            "ovs",
            "af-xdp",
            "af-xdp:polled",
            "af-xdp:polled:0",
            "af-xdp:polled:65",
            "af-xdp:spin:32",
            "af-xdp:polled:32:17",
            "af-xdp:polled:32:1:loose",
            "kernel:2:unbound",
        ] {
            let error = name.parse::<Way>().unwrap_err().to_string();
            assert!(
                error.contains(name) && error.contains("xdp-fib-cached"),
                "{error}"
            );
        }
    }
}
