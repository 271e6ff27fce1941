//! What is planted, and what it costs.

use model::cause::Cause;

/// Sound devices need so long for a request, ns, and so long for a byte.
const REQUEST_NS: f64 = 10_000.0;
const BYTE_NS: f64 = 2.0;
const KIB: f64 = 1024.0;
/// Handling a notification takes so long for a block of 1 KiB, ns; it grows
/// with the square of the block, as where each one walks what it is about
/// more than once.
const NOTIFICATION_NS: f64 = 100.0;
/// Bytes in flight beyond which the cache's device works so many times slower.
const CACHE_BYTES: u64 = 512 << 10;
const CLIFF: f64 = 4.0;
/// The device that fragments takes so much at once, and its table of pieces
/// costs so much for each pair of them, ns.
const FRAGMENT_BYTES: usize = 16 << 10;
const FRAGMENT_NS: f64 = 25_000.0;
/// Preparing a request of 1 KiB, ns; it grows with the square of the block.
const PREPARE_NS: f64 = 150.0;
/// What the slow generator's device needs of a sound one's time.
const FAST: f64 = 0.1;
/// The distant device answers so late, ns and ns a byte, however many it is
/// asked for, and is busy for so little of that.
const DISTANCE_NS: f64 = 40_000.0;
const DISTANCE_BYTE_NS: f64 = 8.0;
const NEAR: f64 = 0.02;
/// Bytes its client keeps in flight.
const WINDOW_BYTES: usize = 64 << 10;
/// Requests in flight elsewhere.
const DEPTH: usize = 16;

/// A fault, known to the test and not to the diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Plant {
    /// Each notification costs the client time, more for larger blocks.
    Interrupts,
    /// Bytes cost more once what is in flight exceeds a cache.
    CacheCliff,
    /// Large requests are done in pieces, each at a cost.
    Fragments,
    /// The client needs long to make a large request.
    SlowGenerator,
    /// The client keeps fewer in flight the larger they are, at a device that
    /// answers late, several at the same time.
    Shallow,
    /// Nothing: the speed does not fall.
    Sound,
}

impl Plant {
    /// Every one.
    pub(crate) const ALL: [Self; 6] = [
        Self::Interrupts,
        Self::CacheCliff,
        Self::Fragments,
        Self::SlowGenerator,
        Self::Shallow,
        Self::Sound,
    ];

    /// In configuration and results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Interrupts => "interrupts",
            Self::CacheCliff => "cache-cliff",
            Self::Fragments => "fragments",
            Self::SlowGenerator => "slow-generator",
            Self::Shallow => "shallow",
            Self::Sound => "sound",
        }
    }

    /// In sentences.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::Interrupts => "a device that slows with interrupts",
            Self::CacheCliff => "a device with a cache cliff",
            Self::Fragments => "a device that fragments large requests",
            Self::SlowGenerator => "a client that is slow to make large requests",
            Self::Shallow => "a client that keeps few large requests in flight",
            Self::Sound => "a sound device",
        }
    }

    /// What the diagnosis must name.
    pub(crate) const fn cause(self) -> Cause {
        match self {
            Self::Interrupts => Cause::Notifications,
            Self::CacheCliff => Cause::WorkingSet,
            Self::Fragments => Cause::Fragmentation,
            Self::SlowGenerator => Cause::Generator,
            Self::Shallow => Cause::Depth,
            Self::Sound => Cause::None,
        }
    }

    /// Requests that its client keeps in flight.
    pub(super) fn depth(self, block_bytes: usize) -> usize {
        match self {
            Self::Shallow => (WINDOW_BYTES / block_bytes).clamp(1, DEPTH),
            _ => DEPTH,
        }
    }

    /// Time that passes before a request is answered, ns: nobody is busy
    /// meanwhile, and others' time passes as well.
    pub(super) fn distance_ns(self, bytes: usize) -> Option<f64> {
        (self == Self::Shallow).then_some(DISTANCE_NS + DISTANCE_BYTE_NS * bytes as f64)
    }

    /// CPU time of the device for a request, with so many bytes in flight, ns.
    pub(super) fn device_ns(self, bytes: usize, in_flight_bytes: u64) -> f64 {
        let sound_ns = REQUEST_NS + BYTE_NS * bytes as f64;
        match self {
            Self::CacheCliff if in_flight_bytes > CACHE_BYTES => {
                REQUEST_NS + CLIFF * BYTE_NS * bytes as f64
            }
            Self::Fragments if bytes > FRAGMENT_BYTES => {
                let pieces = bytes.div_ceil(FRAGMENT_BYTES) as f64;
                sound_ns + FRAGMENT_NS * pieces * pieces
            }
            Self::SlowGenerator => FAST * sound_ns,
            Self::Shallow => NEAR * sound_ns,
            _ => sound_ns,
        }
    }

    /// CPU time of the client to make a request, ns.
    pub(super) fn prepare_ns(self, bytes: usize) -> f64 {
        match self {
            Self::SlowGenerator => PREPARE_NS * (bytes as f64 / KIB).powi(2),
            _ => 0.0,
        }
    }

    /// CPU time of the client to handle a notification of a request, ns.
    pub(super) fn notification_ns(self, bytes: usize) -> f64 {
        match self {
            Self::Interrupts => NOTIFICATION_NS * (bytes as f64 / KIB).powi(2),
            _ => 0.0,
        }
    }
}

impl std::str::FromStr for Plant {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|plant| plant.name() == name);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("unknown fault '{name}'; known: {known}")
        })
    }
}
