//! The section `crypto-speed`: what one core's crypto gives in each load mode,
//! what the naive way of asking costs, and how `openssl speed` does beside it.

mod findings;
mod grid;
mod rig;

use crypto::{Algorithm, Kind, Operation};
use engine::DEPTH_MAX;
use kit::config::checks::{BLOCK_BYTES_MAX, check_blocks, check_count, check_kind, check_slots};
use kit::drawing::block_axis;
use kit::load::benches::{
    CLIENT_CPU, CLIENTS_CPU, NOTIFICATIONS, REQUESTS, SPEED, WORKER_CPU, WORKERS_CPU,
};
use kit::load::once::OVERHEAD_S;
use kit::load::rig::Mode;
use kit::openssl;
use kit::place::Placement;
use kit::places::Places;
use kit::prelude::*;
use kit::words::NOTIFY_SLEEPERS;
use policy::Policy;
use trial::SeriesKind;

use grid::{Arm, Place, Role};

/// Each has a client thread; a container may allow few.
const LANES_MAX: usize = 256;
const WORKERS_MAX: usize = 256;
/// Most trials of one round: at the shortest they take half an hour.
const TRIALS_MAX: usize = 1 << 16;

/// What charts and tables say of depths.
const IN_FLIGHT: &str = "Unless depths are named, 16 requests are in flight, fewer where half of L2 would not hold them. MB/s are 10^6 bytes a second; medians over the rounds.";

/// Crossings to the workers.
const DOORBELLS: Measure = Measure::lower("doorbells_per_s", "1/s");
/// What an open loop sends.
const OFFERED: Measure = Measure::fact("offered_per_s", "requests/s");

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Algorithms of the requests
        algorithms: List<Name<Algorithm>> = ["aes-128-gcm", "aes-256-xts", "aes-128-cbc", "sha256"],
        /// Operations, each of the algorithms that have it; auto: the first of each
        operations: Auto<List<Name<Operation>>> = None,
        /// Bytes of one request
        sizes_bytes: List<Bytes<1, BLOCK_BYTES_MAX>> = grid::SIZES_BYTES,
        /// How a client asks: wait for each request, for each batch, or keep requests in flight
        modes: List<Name<Mode>> = Mode::ALL.map(Name),
        /// Requests in flight of batch and async; auto: 16, fewer of large blocks, and a ladder
        depths: Auto<List<Count<1, DEPTH_MAX>>> = None,
        /// Lanes, each with a client thread
        lanes: List<Count<1, LANES_MAX>> = [1],
        /// Worker threads
        workers: List<Count<1, WORKERS_MAX>> = [1],
        /// Whether clients share the workers' cores; auto: both, where there are two CPUs
        placements: Auto<List<Name<Placement>>> = None,
        /// Notification policies; auto: those that tell most of each mode
        policies: Auto<List<Name<Policy>>> = None,
        /// Library that computes
        backend: BackendName = BackendName::default(),
        /// Requests/s of the open loop; auto: half of what a closed loop reached
        rate_per_s: Auto<Real<1, 100_000_000_000>> = None,
        /// Whether `openssl speed` is measured on the worker's core
        peers: bool = true,
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct CryptoSpeed {
    config: Config,
    kinds: Vec<Kind>,
}

impl CryptoSpeed {
    /// Lists multiply: a few short lines could ask for more than memory holds.
    fn check_trials(&self) -> Result<(), ConfigError> {
        let own = &self.config;
        let lists = [
            self.kinds.len(),
            own.sizes_bytes.len(),
            own.depths.0.as_ref().map_or(1, |list| list.len()),
            own.lanes.len(),
            own.workers.len(),
            own.modes.len(),
            own.policies.0.as_ref().map_or(1, |list| list.len()),
        ];
        let trials = lists.into_iter().fold(1, usize::saturating_mul);
        let counted = (trials, "trials a round, of all lists together");
        check_count("sizes_bytes", counted, TRIALS_MAX)
    }

    fn check_kinds(&self) -> Result<(), ConfigError> {
        for &kind in &self.kinds {
            check_kind("algorithms", &self.config.backend, kind)?;
            check_blocks("sizes_bytes", kind, self.config.sizes_bytes.values())?;
        }
        Ok(())
    }

    fn check_memory(&self) -> Result<(), ConfigError> {
        let own = &self.config;
        let depths = own.depths.0.iter().flat_map(|list| list.values());
        let depth = depths.max().unwrap_or(1);
        let lanes = own.lanes.values().max().unwrap_or(1);
        let bytes = own.sizes_bytes.values().max().unwrap_or(1);
        let remedy = "lower depths, lanes or sizes_bytes";
        check_slots("depths", (depth.saturating_mul(lanes), bytes), remedy)
    }
}

/// The operations asked for that an algorithm has; its first one by default.
fn kinds(config: &Config) -> Result<Vec<Kind>, ConfigError> {
    let mut kinds = Vec::new();
    for algorithm in config.algorithms.values() {
        let has = algorithm.operations();
        let asked: Vec<_> = match &config.operations.0 {
            None => vec![has[0]],
            Some(list) => list.values().filter(|own| has.contains(own)).collect(),
        };
        if asked.is_empty() {
            let has: Vec<_> = has.iter().map(ToString::to_string).collect();
            let has = has.join(", ");
            let reason = format!("{algorithm} has none of these operations; it has {has}");
            return Err(ConfigError::value("operations", reason));
        }
        let own = asked.into_iter();
        kinds.extend(own.map(|operation| Kind::new(algorithm, operation)));
    }
    Ok(kinds)
}

impl Experiment for CryptoSpeed {
    const NAME: &'static str = "crypto-speed";
    const TITLE: &'static str = "Crypto speed by load mode";
    const QUESTION: Question = Question {
        what: "What waiting for each request costs here",
        against: "the kspeed article (a tenth to a third of what user space gives, at 64 bytes)",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Arm;
    type Notes = rig::Notes;

    fn new(config: Config) -> Result<Self, ConfigError> {
        let kinds = kinds(&config)?;
        let own = Self { config, kinds };
        own.check_trials()?;
        own.check_kinds()?;
        own.check_memory()?;
        Ok(own)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<Place, Arm>> {
        grid::subjects(self, host)
    }

    fn left_out(&self, host: &Host) -> Option<String> {
        let peer = (self.config.peers && !host.has(openssl::PROGRAM))
            .then(|| "openssl speed, since openssl is not installed".to_owned());
        let places = Places::named(&self.config.placements, &host.cpus).left_out();
        let both: Vec<_> = places.into_iter().chain(peer).collect();
        (!both.is_empty()).then(|| both.join("; "))
    }

    /// Shorter holds too few decisions of the scheduler to mean anything; longer says
    /// no more than another round would.
    fn times(&self) -> Times {
        Times {
            least_s: 0.02,
            good_s: 0.035,
            most_s: 0.25,
            overhead_s: OVERHEAD_S,
        }
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        rig::start_s(self, subjects)
    }

    fn rig(&self, host: &Host, subjects: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        Ok(Box::new(rig::OnCpus::new(self, host, subjects)?))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![
            REQUESTS,
            SPEED,
            NOTIFICATIONS,
            DOORBELLS,
            CLIENT_CPU,
            WORKER_CPU,
            OFFERED,
            WORKERS_CPU,
            CLIENTS_CPU,
        ]
    }

    /// The peer, what the rings cost, what notifications cost, what waiting does.
    /// Targets stand where half of L2 holds what is in flight: a wake-up can hide there.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Arm>> {
        let mut pairs = Vec::new();
        let mut last = None;
        for place in subjects.iter().map(|own| own.place) {
            if place.role == Role::Ladder || last.replace(place) == Some(place) {
                continue;
            }
            let has = |arm| (subjects.iter()).any(|own| (own.place, own.arm) == (place, arm));
            let rings = match has(Arm::POLLED) {
                true => Arm::POLLED,
                false => Arm::ASYNC,
            };
            let algorithm = place.kind.algorithm;
            let is_wide = matches!(algorithm, Algorithm::Aes128Gcm | Algorithm::Aes256Xts);
            let peer = match (algorithm, place.block_bytes) {
                (Algorithm::Aes128Gcm, 16_384) => Some(2.0),
                (Algorithm::Aes256Xts, 16_384) => Some(1.8),
                _ => None,
            };
            let claim = (place.role == Role::Deep).then_some(0.9);
            let keep = format!("Keep {} requests in flight, not one", place.depth);
            let own = [
                (Arm::ASYNC, Arm::OpenSsl, peer, String::new()),
                (rings, Arm::Raw, claim.filter(|_| is_wide), String::new()),
                (Arm::ASYNC, Arm::POLLED, claim, String::new()),
                (Arm::HYBRID, Arm::POLLED, claim, String::new()),
                (Arm::ASYNC, Arm::EACH, None, NOTIFY_SLEEPERS.to_owned()),
                (Arm::ASYNC, Arm::SYNC, None, keep),
            ];
            let pair = |(rank, (arm, reference, target, change))| {
                let pair = Pair::at(place, (arm, reference), REQUESTS);
                (rank, pair.wanting(target).changed_by(change))
            };
            pairs.extend(own.into_iter().enumerate().map(pair));
        }
        pairs.sort_by_key(|(rank, _)| *rank);
        pairs.into_iter().map(|(_, pair)| pair).collect()
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let lines = |title: &str, over, scale| -> Lines<Place, Arm> {
            let note = format!("{IN_FLIGHT} Whiskers: 95% interval of the median.");
            Lines::new(title, note, over, axis("speed", "MB/s", scale)).of(SPEED)
        };
        let depths = axis("requests in flight", "", Scale::Log2);
        vec![
            lines("Speed by block size", ("block_bytes", block_axis()), Scale::Log10)
                .split(&["algorithm", "operation", "placement"])
                .only(|place, arm| place.role == Role::Grid && !matches!(arm, Arm::Paced(_)))
                .into(),
            lines("How many requests in flight are enough", ("depth", depths), Scale::Linear)
                .split(&["algorithm", "operation", "block_bytes", "placement"])
                .only(|place, arm| place.role != Role::Deep && *arm == Arm::ASYNC)
                .into(),
            Sheet::<Place, Arm>::new(
                "Speed by load mode, policy armed",
                IN_FLIGHT,
                [Cells::of(SPEED, "")],
            )
            .across("mode")
            .only(|place, arm| {
                place.role == Role::Grid && matches!(arm, Arm::Lane(_, Policy::ARMED))
            })
            .into(),
            Sheet::<Place, Arm>::new(
                "Crossings, CPU time and latency",
                "Notifications wake the client, doorbells the worker. Latency is from submission to completion, with the queue that the client itself makes; in an open loop from the time at which a request was meant to be sent.",
                [
                    Cells::of(REQUESTS, "requests"),
                    Cells::of(NOTIFICATIONS, "notifications"),
                    Cells::of(DOORBELLS, "doorbells"),
                    Cells::of(CLIENT_CPU, "client"),
                    Cells::of(WORKER_CPU, "worker"),
                    Cells::Latency(0.5, "p50"),
                    Cells::Latency(0.99, "p99"),
                    Cells::Latency(0.999, "p99.9"),
                    Cells::Verdict,
                ],
            )
            .only(|place, arm| {
                place.role != Role::Ladder && !matches!(arm, Arm::Raw | Arm::OpenSsl)
            })
            .into(),
        ]
    }

    /// Loops without a lane are what the others are compared with.
    fn finish(&self, _: &Results<'_, Self>, _: &Spot, chart: &mut Chart) {
        for series in &mut chart.series {
            if [grid::RAW, grid::OPENSSL].contains(&series.name.as_str()) {
                series.kind = SeriesKind::Reference;
            }
        }
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }

    fn more(&self, results: &Results<'_, Self>) -> Vec<Event> {
        findings::wake_ups(results).map(Event::Comparison).collect()
    }
}
