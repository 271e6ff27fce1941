//! What is measured: transfers of a size and a start, by each stack.

use kit::spot::Spot;
use kit::subject::{Pair, Subject};
use kit::transfers::{Stack, Start};
use kit::words::file_size;

use super::{Config, OFFLOAD, RATE, SENDER_RATE, WORK};

/// A cipher suite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suite(pub quic::Suite);

impl Suite {
    const ALL: [Self; 3] = [
        Self(quic::Suite::Aes128Gcm),
        Self(quic::Suite::Aes256Gcm),
        Self(quic::Suite::ChaCha20Poly1305),
    ];

    fn name(self) -> &'static str {
        self.0.name()
    }
}

kit::named!(Suite, "cipher suite");

/// Which transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub(super) bytes: usize,
    pub(super) start: Start,
}

/// A transfer is long from there on: what a connection costs is little beside it.
const LONG_BYTES: usize = 100_000_000;
/// About, of the slowest stack.
const BYTES_PER_S: f64 = 7e8;

impl Place {
    /// First what claims rest on; then other sizes, then other starts.
    pub(super) fn rank(self) -> u8 {
        match (self.is_long(), self.start) {
            (true, Start::Cold) => 0,
            (false, Start::Cold) => 1,
            (false, Start::ZeroRtt) => 2,
            (true, Start::ZeroRtt) => 3,
        }
    }

    fn is_long(self) -> bool {
        self.bytes >= LONG_BYTES
    }

    /// How long one takes at least, seconds.
    pub(super) fn least_s(self, stack: Stack) -> f64 {
        let is_fast = matches!(stack, Stack::Tcp | Stack::TcpTls);
        self.bytes as f64 / BYTES_PER_S / if is_fast { 2.0 } else { 1.0 }
    }

    pub(super) fn size(self) -> String {
        file_size(self.bytes)
    }

    pub(super) fn spot(self, stack: Stack, config: &Config) -> Spot {
        let words = match self.start {
            Start::Cold => "",
            Start::ZeroRtt => "0-RTT",
        };
        Spot::new()
            .with("bytes", self.bytes as u64, self.size())
            .with("start", self.start.name(), words)
            .with("arm", stack.name(), stack.words())
            .also("suite", config.suite.0.name())
            .also("payload_bytes", config.payload_bytes.get() as u64)
    }
}

/// What an arm should gain of another: in CPU time, where claims rest on it.
fn target(place: Place, arm: Stack, reference: Stack) -> Option<f64> {
    match (arm, reference) {
        _ if !place.is_long() || place.start != Start::Cold => None,
        // Of the CPU time at most 0.92, 0.85, and of the sending thread's 0.65.
        (Stack::Together, Stack::Coalesced) => Some(1.0 / 0.92),
        (Stack::Together, Stack::Stock) => Some(1.0 / 0.85),
        (Stack::Worker, Stack::Stock) => Some(1.0 / 0.65),
        _ => None,
    }
}

/// Each step by what it adds, all of them together, and QUIC beside TCP.
pub(super) fn pairs(subjects: &[Subject<Place, Stack>]) -> Vec<Pair<Place, Stack>> {
    use Stack::{Ceiling, Coalesced, Inline, Stock, Tcp, TcpTls, Together, Worker};
    // Where claims are: of all the CPU time, but for what the application's thread is spared.
    let steps = [
        (Coalesced, Stock, WORK),
        (Inline, Coalesced, WORK),
        (Together, Inline, WORK),
        (Together, Coalesced, WORK),
        (Together, Stock, WORK),
        (Ceiling, Coalesced, WORK),
        (Tcp, Stock, WORK),
        (TcpTls, Stock, WORK),
        (Together, Stock, RATE),
        (Worker, Stock, SENDER_RATE),
        (Worker, Together, WORK),
    ];
    let mut places: Vec<Place> = Vec::new();
    for subject in subjects {
        if !places.contains(&subject.place) {
            places.push(subject.place);
        }
    }
    let has = |place: Place, stack| {
        let is = |one: &Subject<Place, Stack>| one.place == place && one.arm == stack;
        subjects.iter().any(is)
    };
    let mut pairs = Vec::new();
    for place in places {
        for (arm, reference, measure) in steps {
            // Speeds are for the source's figure, which is of TCP.
            let is_told = measure != RATE || has(place, Tcp);
            if !has(place, arm) || !has(place, reference) || !is_told {
                continue;
            }
            let is_all = (arm, reference, measure) == (Together, Stock, WORK);
            let wanted = target(place, arm, reference).filter(|_| measure != RATE);
            let change = if is_all { OFFLOAD } else { "" };
            let pair = Pair::at(place, (arm, reference), measure);
            pairs.push(pair.wanting(wanted).changed_by(change));
        }
    }
    pairs
}
