//! What is planted, and what it costs.

use model::cause::Cause;

/// What a sound device needs for a request, and for a byte, ns.
const REQUEST_NS: f64 = 10_000.0;
const BYTE_NS: f64 = 2.0;
/// Handling a notification of 1 KiB, and making a request of that, ns: both
/// grow with the square of the block.
const NOTIFICATION_NS: f64 = 100.0;
const PREPARE_NS: f64 = 150.0;
/// What the slow generator's device needs of a sound one's time.
const FAST: f64 = 0.1;
/// Beyond this many bytes in flight the cache's device needs a multiple of the time.
const CACHE_BYTES: usize = 512 << 10;
const CLIFF: f64 = 4.0;
/// What the device that fragments takes at once, bytes, and what its table of pieces
/// costs for each pair of them, ns.
const FRAGMENT_BYTES: usize = 16 << 10;
const FRAGMENT_NS: f64 = 25_000.0;
/// How late the distant device answers, ns and ns a byte, however many it is
/// asked for, and the share of that for which it is busy.
const DISTANCE_NS: f64 = 40_000.0;
const DISTANCE_BYTE_NS: f64 = 8.0;
const NEAR: f64 = 0.02;
/// Bytes that its client keeps in flight, and requests elsewhere.
const WINDOW_BYTES: usize = 64 << 10;
const DEPTH: usize = 16;

/// A fault, known to the test and not to the diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// Each notification costs the client time, more for larger blocks.
    Interrupts,
    CacheCliff,
    /// Large requests are done in pieces, each at a cost.
    Fragments,
    SlowGenerator,
    /// The client keeps fewer in flight the larger they are, at a device that
    /// answers late, several at the same time.
    Shallow,
    /// The speed does not fall.
    Sound,
}

/// Every one with its name, what it is, and what the diagnosis must name.
#[rustfmt::skip]
const PLANTS: [(Plant, &str, &str, Cause); 6] = [
    (Plant::Interrupts, "interrupts", "a device that slows with interrupts", Cause::Notifications),
    (Plant::CacheCliff, "cache-cliff", "a device with a cache cliff", Cause::WorkingSet),
    (Plant::Fragments, "fragments", "a device that fragments large requests", Cause::Fragmentation),
    (Plant::SlowGenerator, "slow-generator", "a client that is slow to make large requests", Cause::Generator),
    (Plant::Shallow, "shallow", "a client that keeps few large requests in flight", Cause::Depth),
    (Plant::Sound, "sound", "a sound device", Cause::None),
];

impl Plant {
    pub const ALL: [Self; 6] = [
        Self::Interrupts,
        Self::CacheCliff,
        Self::Fragments,
        Self::SlowGenerator,
        Self::Shallow,
        Self::Sound,
    ];

    pub fn name(self) -> &'static str {
        PLANTS[self as usize].1
    }

    pub fn what(self) -> &'static str {
        PLANTS[self as usize].2
    }

    pub fn cause(self) -> Cause {
        PLANTS[self as usize].3
    }

    /// Requests that its client keeps in flight.
    pub fn depth(self, block_bytes: usize) -> usize {
        match self {
            Self::Shallow => (WINDOW_BYTES / block_bytes).clamp(1, DEPTH),
            _ => DEPTH,
        }
    }

    /// Time that passes before a request is answered, ns: neither side is busy
    /// meanwhile, and others' time passes as well.
    pub fn distance_ns(self, bytes: usize) -> Option<f64> {
        (self == Self::Shallow).then_some(DISTANCE_NS + DISTANCE_BYTE_NS * bytes as f64)
    }

    /// CPU time of the device for a request, with this many bytes in flight, ns.
    pub fn device_ns(self, bytes: usize, in_flight_bytes: usize) -> f64 {
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

    /// CPU time of the client to make a request, and to handle a notification
    /// of one, ns.
    pub fn client_ns(self, bytes: usize) -> (f64, f64) {
        let square = (bytes as f64 / 1024.0).powi(2);
        match self {
            Self::SlowGenerator => (PREPARE_NS * square, 0.0),
            Self::Interrupts => (0.0, NOTIFICATION_NS * square),
            _ => (0.0, 0.0),
        }
    }
}

kit::named!(Plant, "fault");
