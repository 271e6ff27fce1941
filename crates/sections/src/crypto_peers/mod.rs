//! The section `crypto-peers`: every algorithm through a lane, beside the
//! back-end's own loop, `openssl speed`, DPDK, `ring` and what the AES unit can
//! do at most, all in the worker's place.

mod arm;
mod dpdk;
mod findings;
mod rig;
mod ring_loop;

use std::collections::BTreeSet;

use crypto::{Algorithm, Ceiling, Kind, Operation, Workload};
use kit::config::checks::check_blocks;
use kit::load::benches::{REQUESTS, SPEED, WORKERS_CPU};
use kit::load::once;
use kit::openssl;
use kit::prelude::*;
use kit::words::{size, what};

use arm::{Arm, Names};
use rig::{Call, OnCores};

/// Larger blocks would leave too few in half of L2 to mean anything.
const BLOCK_BYTES_MAX: usize = 1 << 20;
/// Each has memory of its own.
const SIZES_MAX: usize = 16;
/// The block size that every algorithm is compared at.
const BLOCK_BYTES: usize = 16_384;
/// Requests in flight, however small.
const DEPTH_MAX: usize = 512;
/// Half of L2 where its size is not known.
const HALF_L2_BYTES: usize = 512 << 10;
/// Public keys: each request takes long, few keep a worker busy.
const PUBLIC_KEY_DEPTH: usize = 16;
/// Making what all trials work on, seconds.
const START_S: f64 = 0.05;
/// A new key for RSA of 4096 bits, seconds.
const RSA_4096_S: f64 = 1.0;
/// What a lane does that one stream does not.
const MANY_AT_ONCE: &str = "Encrypt many requests at once, not one stream";

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Algorithms of the requests
        algorithms: Names<Algorithm> = Names::all(),
        /// Operations; auto: each algorithm's first, and of public keys also verify
        operations: Auto<Names<Operation>> = None,
        /// Bytes of one request; auto: 16 KiB, and other sizes that have a target
        sizes_bytes: Auto<List<Bytes<1, BLOCK_BYTES_MAX>>> = None,
        /// Library that computes
        backend: BackendName = BackendName::default(),
        /// What it is compared with
        peers: Names<Arm> = Names::all(),
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct CryptoPeers {
    config: Config,
    kinds: Vec<Kind>,
}

/// What one trial measures, and the call of another program that it is.
type Group = (Option<Call>, Vec<Subject<Place, Arm>>);

/// An algorithm at a block size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    kind: Kind,
    /// Input bytes of a request.
    block_bytes: usize,
    /// Requests in flight.
    depth: usize,
    /// Whether its kind has no larger block here.
    is_largest: bool,
}

impl Place {
    fn is_public_key(&self) -> bool {
        self.kind.algorithm.is_public_key()
    }

    /// Whether a target of this project is about it.
    fn is_claim(&self) -> bool {
        claim_sizes(self.kind).contains(&self.block_bytes)
    }

    fn spot(&self, arm: Arm, backend: &'static str) -> Spot {
        let block = match self.is_public_key() {
            true => String::new(),
            false => size(self.block_bytes),
        };
        let spot = Spot::new()
            .with("algorithm", self.kind.algorithm.name(), what(self.kind))
            .also("operation", self.kind.operation.name())
            .with("block_bytes", self.block_bytes as u64, block)
            .with("arm", arm.name(), arm.labels().0);
        let depth = self.depth as u64;
        match arm {
            Arm::Engine | Arm::OwnLoop => {
                (spot.following("backend", backend, "")).following("depth", depth, "")
            }
            Arm::Ring => spot.following("depth", depth, ""),
            _ => spot,
        }
    }

    /// What this project says of itself.
    fn target(&self, arm: Arm, reference: Arm) -> Option<f64> {
        let is_large = matches!(self.block_bytes, 4096 | BLOCK_BYTES);
        match (arm, reference, self.kind.algorithm) {
            _ if !self.is_claim() && reference != Arm::OwnLoop => None,
            (Arm::Engine, Arm::OpenSsl, Algorithm::Aes128Cbc) if is_large => Some(6.5),
            (Arm::Engine, Arm::OpenSsl, Algorithm::Sha256) if is_large => Some(2.0),
            (Arm::Engine, Arm::OpenSsl, Algorithm::Aes128Gcm) if is_large => Some(2.5),
            (Arm::Engine, Arm::OpenSsl, Algorithm::Aes128Ctr) if is_large => Some(2.2),
            (Arm::Engine, Arm::Dpdk32, Algorithm::Aes128Cbc) => Some(1.0),
            (Arm::Engine, Arm::Ring, Algorithm::Aes128Gcm) if self.block_bytes == 64 => Some(1.2),
            (Arm::Engine, Arm::OwnLoop, _)
                if self.is_public_key() || (1024..=BLOCK_BYTES).contains(&self.block_bytes) =>
            {
                Some(0.9)
            }
            _ => None,
        }
    }
}

/// The sizes that a target is about.
fn claim_sizes(kind: Kind) -> &'static [usize] {
    match kind.algorithm {
        _ if kind.operation != kind.algorithm.operations()[0] => &[],
        Algorithm::Aes128Cbc => &[64, 1024, 4096, BLOCK_BYTES],
        Algorithm::Aes128Gcm => &[64, 4096, BLOCK_BYTES],
        Algorithm::Sha256 | Algorithm::Aes128Ctr => &[4096, BLOCK_BYTES],
        _ => &[],
    }
}

/// As many requests as half of L2 holds, in eights.
fn depth(host: &Host, kind: Kind, block_bytes: usize) -> usize {
    if kind.algorithm.is_public_key() {
        return PUBLIC_KEY_DEPTH;
    }
    let half = match usize::try_from(host.l2_bytes / 2) {
        Ok(0) | Err(_) => HALF_L2_BYTES,
        Ok(half) => half,
    };
    let depth = (half / block_bytes).clamp(1, DEPTH_MAX);
    if depth < 8 { depth } else { depth / 8 * 8 }
}

impl CryptoPeers {
    /// The operations asked for that each algorithm has, or its usual ones. Of
    /// all algorithms those that the back-end has; one that was named and that
    /// it lacks is an error.
    fn kinds(config: &Config) -> Result<Vec<Kind>, ConfigError> {
        let is_named = config.algorithms != Names::all();
        let mut kinds = Vec::new();
        for &algorithm in &config.algorithms.0 {
            let has = algorithm.operations();
            // A signature is made once and verified by everybody.
            let is_usual = |operation| {
                let is_verify = operation == Operation::Verify && algorithm.is_public_key();
                operation == has[0] || is_verify
            };
            let is_asked = |operation| match &config.operations.0 {
                Some(asked) => asked.0.contains(&operation),
                None => is_usual(operation),
            };
            let before = kinds.len();
            kinds.extend(has.iter().filter_map(|&operation| {
                let kind = Kind::new(algorithm, operation);
                let is_there = is_asked(operation) && config.backend.get().supports(kind);
                is_there.then_some(kind)
            }));
            if kinds.len() == before && is_named {
                let backend = config.backend.name();
                let reason =
                    format!("back-end {backend} has none of the operations of {algorithm}");
                return Err(ConfigError::value("algorithms", reason));
            }
        }
        if kinds.is_empty() {
            let reason = "nothing is left to measure; name at least one, with its operations";
            return Err(ConfigError::value("algorithms", reason));
        }
        Ok(kinds)
    }

    /// Rising.
    fn sizes(&self, kind: Kind) -> Vec<usize> {
        let own = self.config.sizes_bytes.0.as_deref();
        let mut sizes: Vec<_> = match (own, claim_sizes(kind)) {
            _ if kind.algorithm.is_public_key() => vec![Workload::input_bytes(kind, 0)],
            (Some(own), _) => own.iter().map(|size| size.get()).collect(),
            (None, []) => vec![BLOCK_BYTES],
            (None, sizes) => sizes.to_vec(),
        };
        sizes.sort_unstable();
        sizes
    }

    fn wants(&self, arm: Arm) -> bool {
        matches!(arm, Arm::Engine | Arm::OwnLoop) || self.config.peers.0.contains(&arm)
    }

    fn has(&self, host: &Host, arm: Arm, kind: Kind) -> bool {
        let knows = match arm {
            Arm::Engine | Arm::OwnLoop => true,
            Arm::OpenSsl => openssl::knows(kind),
            Arm::Dpdk32 | Arm::Dpdk1 => dpdk::knows(kind),
            Arm::Ring => ring_loop::knows(kind),
            Arm::Ceiling => rig::aes_rounds(kind).and_then(Ceiling::new).is_some(),
        };
        knows && self.wants(arm) && lacks(host, arm).is_none()
    }

    /// First what claims rest on, then our own arms of every algorithm, then one
    /// algorithm more after the other: `at` is its place in the list.
    fn rank(place: &Place, arm: Arm, at: usize) -> u8 {
        let is_large = place.block_bytes >= 4096;
        let rank = match arm {
            Arm::Engine | Arm::OwnLoop | Arm::OpenSsl if place.is_claim() && place.is_largest => 0,
            Arm::Engine | Arm::OwnLoop | Arm::Ring | Arm::Ceiling => 1,
            Arm::Dpdk32 if place.kind.algorithm == Algorithm::Aes128Cbc => 2,
            Arm::OpenSsl if place.is_claim() && is_large => 3,
            Arm::OpenSsl if place.is_public_key() => 200 + at,
            Arm::OpenSsl if is_large => 4 + at,
            Arm::Dpdk32 => 70 + at,
            Arm::OpenSsl => 140,
            Arm::Dpdk1 => 141,
        };
        u8::try_from(rank).unwrap_or(u8::MAX)
    }
}

/// Why this host has no such arm, if it has none.
fn lacks(host: &Host, arm: Arm) -> Option<String> {
    let program = arm.program().filter(|program| !host.has(program));
    let missing = program.map(|program| format!("{program} is not installed"));
    missing.or_else(|| arm.cannot_mask().map(|masked| masked.reason))
}

impl Experiment for CryptoPeers {
    const NAME: &'static str = "crypto-peers";
    const TITLE: &'static str = "Every algorithm beside its peers";
    const CREATES: &'static [&'static str] =
        &["a folder lockgate-dpdk-… among the temporary files, while DPDK runs"];
    const QUESTION: Question = Question {
        what: "Whether a lane is faster than its peers",
        against: "openssl speed, DPDK and ring, each on the worker's core",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Arm;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        let kinds = Self::kinds(&config)?;
        let sizes = config.sizes_bytes.0.as_deref().unwrap_or_default();
        if sizes.len() > SIZES_MAX {
            let reason = format!("{} sizes, the limit is {SIZES_MAX}", sizes.len());
            return Err(ConfigError::value("sizes_bytes", reason));
        }
        for &kind in &kinds {
            check_blocks("sizes_bytes", kind, sizes.iter().map(|size| size.get()))?;
        }
        Ok(Self { config, kinds })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<Place, Arm>> {
        // What one call of a program measures stands together: its first pays for it.
        let mut groups: Vec<Group> = Vec::new();
        if host.cpus.len() < 2 {
            return Vec::new();
        }
        for (at, &kind) in self.kinds.iter().enumerate() {
            let sizes = self.sizes(kind);
            for &block_bytes in &sizes {
                let place = Place {
                    kind,
                    block_bytes,
                    depth: depth(host, kind, block_bytes),
                    is_largest: sizes.last() == Some(&block_bytes),
                };
                let is_there = |arm: &Arm| self.has(host, *arm, kind);
                for arm in Arm::ALL.into_iter().filter(is_there) {
                    let spot = place.spot(arm, self.config.backend.name());
                    let mut subject = Subject::new(place, arm, spot);
                    subject.rank = Self::rank(&place, arm, at);
                    subject.weight = if place.is_public_key() { 2.0 } else { 1.0 };
                    let call = Call::of(&place, arm, &sizes);
                    if let Some(call) = &call {
                        subject.weight = 0.0;
                        subject.overhead_s = call.seconds(kind);
                    }
                    let is_same =
                        |(own, _): &&mut (Option<Call>, _)| call.is_some() && *own == call;
                    match groups.iter_mut().find(is_same) {
                        Some((_, own)) => own.push(subject.sharing_trial().ranked(own[0].rank)),
                        None => groups.push((call, vec![subject])),
                    }
                }
            }
        }
        groups.into_iter().flat_map(|(_, own)| own).collect()
    }

    fn left_out(&self, host: &Host) -> Option<String> {
        if host.cpus.len() < 2 {
            return Some("client and worker need a CPU each, this process may use one".to_owned());
        }
        let wanted = Arm::ALL.into_iter().filter(|&arm| self.wants(arm));
        let reasons: BTreeSet<_> = wanted.filter_map(|arm| lacks(host, arm)).collect();
        let reasons = reasons.into_iter().collect::<Vec<_>>().join("; ");
        (!reasons.is_empty()).then(|| format!("peers ({reasons})"))
    }

    fn times(&self) -> Times {
        Times {
            least_s: 0.02,
            good_s: 0.03,
            most_s: 0.04,
            overhead_s: once::OVERHEAD_S,
        }
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        let bits = |subject: &Subject<Place, Arm>| match subject.place.kind.algorithm {
            Algorithm::Rsa(bits, _) => Some(bits.bits()),
            _ => None,
        };
        let keys: BTreeSet<_> = subjects.iter().filter_map(bits).collect();
        // It grows with the fourth power of the length.
        let key_s = |bits: usize| RSA_4096_S * (bits as f64 / 4096.0).powi(4);
        START_S + keys.into_iter().map(key_s).sum::<f64>()
    }

    fn rig(&self, host: &Host, subjects: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        Ok(Box::new(OnCores::new(self, host, subjects)?))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![REQUESTS, SPEED, WORKERS_CPU]
    }

    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Arm>> {
        const RATIOS: [(Arm, Arm); 6] = [
            (Arm::Engine, Arm::OpenSsl),
            (Arm::Engine, Arm::Dpdk32),
            (Arm::Engine, Arm::Dpdk1),
            (Arm::Engine, Arm::Ring),
            (Arm::Engine, Arm::OwnLoop),
            (Arm::OwnLoop, Arm::Ceiling),
        ];
        let of = |(arm, reference)| {
            let own = subjects
                .iter()
                .filter(move |subject| subject.arm == reference);
            own.map(move |Subject { place, .. }| Pair {
                target: place.target(arm, reference),
                change: match reference {
                    Arm::OpenSsl | Arm::Ring => MANY_AT_ONCE.into(),
                    _ => "".into(),
                },
                ..Pair::new((*place, arm), (*place, reference), REQUESTS)
            })
        };
        RATIOS.into_iter().flat_map(of).collect()
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let note = "Client and worker on cores of their own, in place, in flight no more than half of L2. DPDK works on the 8192 buffers that are its default. The ceiling is AES rounds on registers alone. Of a public key a request is one operation.";
        let rows = |title: &str, only: Only<Self::Place, Self::Arm>| {
            View::Rows(Rows {
                title: title.to_owned(),
                note: note.to_owned(),
                label: "speed",
                scale: Scale::Log10,
                what: Shown::Value(REQUESTS),
                series: vec!["arm"],
                only,
            })
        };
        let sheet = |title: &str, columns, across, only: Only<Self::Place, Self::Arm>| {
            View::Table(Sheet {
                title: title.to_owned(),
                note: "Medians over the rounds; MB/s are 10^6 bytes a second.".to_owned(),
                columns,
                across,
                only,
            })
        };
        let over = |&arm: &Arm| Cells::Ratio(REQUESTS, arm, arm.labels().1);
        let peers = Arm::PEERS.into_iter().filter(|&arm| self.wants(arm));
        let peers: Vec<_> = peers.chain([Arm::OwnLoop]).collect();
        let ratios = peers.iter().map(over).chain([Cells::Verdict]).collect();
        vec![
            rows(
                "Every algorithm against its peers and the ceiling, on one core",
                |place, _| place.is_largest,
            ),
            rows(
                "Smaller blocks against the peers, on one core",
                |place, _| !place.is_largest,
            ),
            sheet("A lane over its peers", ratios, None, |_, arm| {
                *arm == Arm::Engine
            }),
            sheet(
                "Every algorithm beside its peers and the ceiling",
                vec![Cells::of(SPEED, "")],
                Some("arm"),
                |place, _| !place.is_public_key(),
            ),
            sheet(
                "Public keys beside their peers",
                vec![Cells::of(REQUESTS, "")],
                Some("arm"),
                |place, _| place.is_public_key(),
            ),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }
}

#[cfg(test)]
mod tests;
