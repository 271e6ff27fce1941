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
use kit::config::checks::{check_blocks, check_count};
use kit::load::benches::{REQUESTS, SPEED, WORKERS_CPU};
use kit::load::once;
use kit::openssl;
use kit::prelude::*;
use kit::words::size;

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
            .kind(self.kind)
            .with("block_bytes", self.block_bytes as u64, block)
            .with("arm", arm.name(), arm.label());
        let spot = match arm {
            Arm::Engine | Arm::OwnLoop => spot.following("backend", backend, ""),
            Arm::Ring => spot,
            _ => return spot,
        };
        spot.following("depth", self.depth as u64, "")
    }

    /// The target of a ratio, if there is one.
    fn target(&self, arm: Arm, reference: Arm) -> Option<f64> {
        let is_medium = (1024..=BLOCK_BYTES).contains(&self.block_bytes);
        if (arm, reference) == (Arm::Engine, Arm::OwnLoop) {
            return (self.is_public_key() || is_medium).then_some(0.9);
        }
        let is_large = matches!(self.block_bytes, 4096 | BLOCK_BYTES);
        match (reference, self.kind.algorithm) {
            _ if arm != Arm::Engine || !self.is_claim() => None,
            (Arm::OpenSsl, Algorithm::Aes128Cbc) if is_large => Some(6.5),
            (Arm::OpenSsl, Algorithm::Sha256) if is_large => Some(2.0),
            (Arm::OpenSsl, Algorithm::Aes128Gcm) if is_large => Some(2.5),
            (Arm::OpenSsl, Algorithm::Aes128Ctr) if is_large => Some(2.2),
            (Arm::Dpdk32, Algorithm::Aes128Cbc) => Some(1.0),
            (Arm::Ring, Algorithm::Aes128Gcm) if self.block_bytes == 64 => Some(1.2),
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

fn depth(host: &Host, kind: Kind, block_bytes: usize) -> usize {
    match kind.algorithm.is_public_key() {
        true => PUBLIC_KEY_DEPTH,
        false => host.requests_held(DEPTH_MAX, block_bytes),
    }
}

impl CryptoPeers {
    /// With the call of another program that measures it, if it is one.
    fn subject(&self, place: Place, arm: Arm, at: usize) -> (Option<Call>, Subject<Place, Arm>) {
        let call = Call::of(&place, arm, &self.sizes(place.kind));
        let weight = match &call {
            Some(_) => 0.0,
            None if place.is_public_key() => 2.0,
            None => 1.0,
        };
        let spot = place.spot(arm, self.config.backend.name());
        let overhead_s = call.as_ref().map_or(0.0, |call| call.seconds(place.kind));
        let subject = Subject::new(place, arm, spot)
            .ranked(Self::rank(&place, arm, at))
            .weighing(weight, overhead_s);
        (call, subject)
    }

    /// The operations asked for that each algorithm has, or its usual ones. Of
    /// all algorithms those that the back-end has; one that was named and that
    /// it lacks is an error.
    fn kinds(config: &Config) -> Result<Vec<Kind>, ConfigError> {
        let (backend, is_named) = (&config.backend, config.algorithms != Names::all());
        let mut kinds = Vec::new();
        for &algorithm in &config.algorithms.0 {
            let has = algorithm.operations();
            let is_asked = |kind: &Kind| match &config.operations.0 {
                Some(asked) => asked.0.contains(&kind.operation),
                // A signature is made once, and verified many times.
                None if kind.operation == Operation::Verify => algorithm.is_public_key(),
                None => kind.operation == has[0],
            };
            let own = has.iter().map(|&operation| Kind::new(algorithm, operation));
            let own = own.filter(|kind| is_asked(kind) && backend.get().supports(*kind));
            let before = kinds.len();
            kinds.extend(own);
            if kinds.len() == before && is_named {
                let name = backend.name();
                let reason = format!("back-end {name} has none of the operations of {algorithm}");
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
        let mut sizes: Vec<_> = match (&self.config.sizes_bytes.0, claim_sizes(kind)) {
            _ if kind.algorithm.is_public_key() => vec![Workload::input_bytes(kind, 0)],
            (Some(own), _) => own.values().collect(),
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
        if let Some(sizes) = &config.sizes_bytes.0 {
            check_count("sizes_bytes", (sizes.len(), "sizes"), SIZES_MAX)?;
            for &kind in &kinds {
                check_blocks("sizes_bytes", kind, sizes.values())?;
            }
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
                for arm in Arm::EVERY.into_iter().filter(is_there) {
                    let (call, subject) = self.subject(place, arm, at);
                    let mut own = groups.iter_mut().filter(|_| call.is_some());
                    match own.find(|(own, _)| *own == call) {
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
        let wanted = Arm::EVERY.into_iter().filter(|&arm| self.wants(arm));
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
            let own = subjects.iter().filter(move |own| own.arm == reference);
            let change = match reference {
                Arm::OpenSsl | Arm::Ring => MANY_AT_ONCE,
                _ => "",
            };
            own.map(move |Subject { place, .. }| {
                Pair::at(*place, (arm, reference), REQUESTS)
                    .wanting(place.target(arm, reference))
                    .changed_by(change)
            })
        };
        RATIOS.into_iter().flat_map(of).collect()
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let note = "Client and worker on cores of their own, in place, in flight no more than half of L2. DPDK works on the 8192 buffers that are its default. The ceiling is AES rounds on registers alone. Of a public key a request is one operation.";
        let rows = |title: &str| -> Rows<Place, Arm> {
            Rows::new(title, note, "speed", Shown::Value(REQUESTS))
                .scale(Scale::Log10)
                .series("arm")
        };
        let sheet = |title: &str, columns: Vec<_>| -> Sheet<Place, Arm> {
            let note = "Medians over the rounds; MB/s are 10^6 bytes a second.";
            Sheet::new(title, note, columns)
        };
        let over = |arm: Arm| Cells::Ratio(REQUESTS, arm, arm.divisor());
        let peers = Arm::PEERS.into_iter().filter(|&arm| self.wants(arm));
        let ratios = peers.chain([Arm::OwnLoop]).map(over);
        vec![
            rows("Every algorithm against its peers and the ceiling, on one core")
                .only(|place, _| place.is_largest)
                .into(),
            rows("Smaller blocks against the peers, on one core")
                .only(|place, _| !place.is_largest)
                .into(),
            sheet(
                "A lane over its peers",
                ratios.chain([Cells::Verdict]).collect(),
            )
            .only(|_, arm| *arm == Arm::Engine)
            .into(),
            sheet(
                "Every algorithm beside its peers and the ceiling",
                vec![Cells::of(SPEED, "")],
            )
            .across("arm")
            .only(|place, _| !place.is_public_key())
            .into(),
            sheet(
                "Public keys beside their peers",
                vec![Cells::of(REQUESTS, "")],
            )
            .across("arm")
            .only(|place, _| place.is_public_key())
            .into(),
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
