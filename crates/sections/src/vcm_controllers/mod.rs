//! The section `vcm-controllers`: the paper's figures 8 to 10. What moderation
//! gains, and which controller finds it, by block size and by key size.
//!
//! At each place (placement, kind, block size, depth) the fixed settings of a
//! grid are scouted first, and the fastest is the *oracle*. Then contenders
//! (the oracle measured again, no moderation, `armed`, every controller) are
//! interleaved: the scouting figure, the best of many noisy ones, is compared
//! with nothing.
//!
//! A controller settles once, before the rounds; then it is kept (`Warm`) from
//! one of its trials to the next.

mod findings;
mod rig;
mod tables;
#[cfg(test)]
mod tests;

use crypto::{Algorithm, Kind, Operation, RsaBits, Workload};
use kit::config::checks::{check_blocks, check_kind};
use kit::controllers::contender::{Contender, ControllerName};
use kit::controllers::{departures, depth, parameters};
use kit::drawing::block_axis;
use kit::load::benches::{
    ALONE, Ask, CAP, CLIENT_CPU, HELD, MEASURES, NOTIFICATIONS, REQUESTS, SPEED, WORKER_CPU,
};
use kit::place::Placement;
use kit::places::Places;
use kit::prelude::*;
use kit::words::{size, what};
use policy::Policy;
use policy::controllers::{NAMES, Parameters};
use trial::SeriesKind;

/// Requests with public keys in flight: each is a millisecond of work or so,
/// and 32 would only make the queue longer.
const DEPTH_PUBLIC: usize = 8;
/// There are few of them a second: their trials are this much longer.
const PUBLIC_SLICES: f64 = 2.0;
/// In the usual grid, controllers that no headline is about come with places
/// of that rank.
const EVERY_RANK: u8 = 4;

const COUNT: Measure = Measure::fact("gathered_count", "completions");

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Algorithms of the requests
        algorithms: List<Name<Algorithm>> = ["aes-128-cbc", "sha256", "rsa-2048", "rsa-3072", "rsa-4096"],
        /// Operations; auto: an algorithm's first one, of RSA signing and encrypting
        operations: Auto<List<Name<Operation>>> = None,
        /// Bytes of one request; public keys have a size of their own
        sizes_bytes: List<Bytes<1, { 1 << 20 }>> = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536],
        /// Requests in flight; fewer where half of L2 would not hold them, and with public keys
        depth: Count<1, 1024> = 32,
        /// Whether the client shares the worker's core
        placements: List<Name<Placement>> = ["shared"],
        /// Controllers that are compared with the best fixed setting
        controllers: List<Name<ControllerName>> = NAMES,
        /// Milliseconds between two looks of the controllers whose sources have 1 s; auto: as those
        interval_ms: Auto<Real<1000, 10_000_000>> = Some(100.0.into()),
        /// What clients' time to look costs, as a part of the worker's (0: it is free); auto: they sleep
        cpu_price: Auto<Real<0, 1000>> = None,
        /// How long each controller is at work before anything counts
        settle_seconds: Real<0, 60_000> = 0.6,
        /// Library that computes
        backend: BackendName = BackendName::default(),
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct Controllers {
    config: Config,
    kinds: Vec<Kind>,
    parameters: Parameters,
}

/// What the rig found out besides.
#[derive(Default)]
pub struct Notes {
    /// Of places, the fixed settings with the requests/s of a short trial each;
    /// fastest first.
    scouted: Vec<(Ask, Vec<(Policy, f64)>)>,
    /// What a controller says of itself at a place.
    remarks: Vec<(Ask, Contender, &'static str)>,
}

/// How early a short run has a place: 0 is first.
fn rank(place: &Ask) -> u8 {
    use Algorithm as A;
    match (
        place.kind.algorithm,
        place.kind.operation,
        place.block_bytes,
    ) {
        (A::Aes128Cbc, _, 1024) => 0,
        (A::Aes128Cbc, _, 16_384) => 1,
        (A::Sha256, _, 4096) => 2,
        (A::Rsa(RsaBits::B2048, _), Operation::Sign, _) => 3,
        (A::Aes128Cbc | A::Sha256, _, 512 | 4096 | 65_536) => 4,
        _ => 5,
    }
}

/// Of public keys every operation is said.
fn operation(place: &Ask) -> String {
    let Kind {
        algorithm,
        operation,
    } = place.kind;
    match place.is_public() && algorithm.operations()[0] == operation {
        true => format!("{algorithm} {operation}"),
        false => what(place.kind),
    }
}

/// Where subjects are, each once.
fn places(subjects: &Subjects<Controllers>) -> Vec<Ask> {
    let mut places: Vec<_> = subjects.iter().map(|subject| subject.place).collect();
    places.dedup();
    places
}

/// A place in words.
fn at(spot: &Spot) -> String {
    spot.only(|name| name != "arm").words()
}

/// What is asked of each algorithm.
fn kinds(config: &Config) -> Vec<Kind> {
    let of = |name: &Name<Algorithm>| {
        let algorithm = name.0;
        let all = algorithm.operations().iter();
        all.map(move |&operation| Kind::new(algorithm, operation))
    };
    let is_wanted = |kind: &Kind| match &config.operations.0 {
        Some(some) => some.contains(&Name(kind.operation)),
        None => {
            let is_rsa = matches!(kind.algorithm, Algorithm::Rsa(..));
            kind.operation == kind.algorithm.operations()[0]
                || is_rsa && kind.operation == Operation::Encrypt
        }
    };
    let all = config.algorithms.iter().flat_map(of);
    all.filter(is_wanted).collect()
}

impl Controllers {
    /// The grid; what is in flight fits into half of L2.
    fn grid(&self, host: &Host) -> Vec<Ask> {
        let wanted = self.config.depth.get();
        let sizes: Vec<_> = self
            .config
            .sizes_bytes
            .iter()
            .map(|size| size.get())
            .collect();
        let mut grid = Vec::new();
        for (placement, _) in self.places(host).kept {
            for &kind in &self.kinds {
                let is_public = kind.algorithm.is_public_key();
                let sizes = if is_public { &[1][..] } else { &sizes };
                grid.extend(sizes.iter().map(|&bytes| Ask {
                    tasks: 1,
                    placement,
                    kind,
                    block_bytes: Workload::input_bytes(kind, bytes),
                    depth: match is_public {
                        true => wanted.min(DEPTH_PUBLIC),
                        false => depth(wanted, bytes, host.l2_bytes),
                    },
                }));
            }
        }
        grid
    }

    /// The two controllers that headlines are about come with their place; so
    /// do others that the user chose, and all once there is time for more places
    /// than say most. Places that the user chose come in their order.
    fn rank(&self, index: usize, place: Ask, arm: Contender) -> u8 {
        let usual = Config::default();
        let is_usual = self.config.algorithms == usual.algorithms
            && self.config.operations == usual.operations
            && self.config.sizes_bytes == usual.sizes_bytes;
        let rank = match is_usual {
            true => rank(&place),
            false => u8::try_from(index).unwrap_or(u8::MAX).min(100),
        };
        match (arm.is_other(), self.config.controllers == usual.controllers) {
            (false, _) => 2 * rank,
            (true, false) => 2 * rank + 1,
            (true, true) if is_usual => 2 * rank.max(EVERY_RANK),
            (true, true) => u8::MAX,
        }
    }

    fn spot(&self, place: Ask, arm: Contender) -> Spot {
        let Ask {
            placement,
            kind,
            block_bytes,
            depth,
            ..
        } = place;
        let said = |is_said: bool, words: String| if is_said { words } else { String::new() };
        let bytes = said(!place.is_public(), size(block_bytes));
        let bounded = said(depth < self.config.depth.get(), format!("depth {depth}"));
        Spot::new()
            .with("algorithm", kind.algorithm.name(), operation(&place))
            .also("operation", kind.operation.name())
            .with("block_bytes", block_bytes as u64, bytes)
            .following("depth", depth as u64, bounded)
            .placement(placement)
            .also("backend", self.config.backend.name())
            .named("arm", arm)
    }
}

impl Experiment for Controllers {
    const NAME: &'static str = "vcm-controllers";
    const TITLE: &'static str = "What moderation gains, and which controller finds it";
    const QUESTION: Question = Question {
        what: "What moderation gains, and which controller finds it,",
        against: "the VCM paper's figures 8 to 10 (its monitor finds the best cap for AES and SHA-256, and RSA hardly gains)",
    };

    type Config = Config;
    type Place = Ask;
    type Arm = Contender;
    type Notes = Notes;

    fn new(config: Config) -> Result<Self, ConfigError> {
        let kinds = kinds(&config);
        if kinds.is_empty() {
            let reason = "no algorithm has any of them; name at least one that one has";
            return Err(ConfigError::value("operations", reason));
        }
        for &kind in &kinds {
            check_kind("algorithms", &config.backend, kind)?;
            let sizes = config.sizes_bytes.iter().map(|size| size.get());
            check_blocks("sizes_bytes", kind, sizes)?;
        }
        let interval_ms = config.interval_ms.0.map_or(0.0, Real::get);
        let parameters = parameters(interval_ms)?
            .with_cpu_price(config.cpu_price.0.map(Real::get))
            .map_err(|error| ConfigError::value("cpu_price", error))?;
        Ok(Self {
            config,
            kinds,
            parameters,
        })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<Ask, Contender>> {
        let contenders = Contender::all(&self.config.controllers);
        let mut subjects = Vec::new();
        for (index, place) in self.grid(host).into_iter().enumerate() {
            let (weight, overhead_s) = match place.is_public() {
                true => (PUBLIC_SLICES, rig::DRAIN_S),
                false => (1.0, 0.0),
            };
            subjects.extend(contenders.iter().map(|&arm| {
                Subject::new(place, arm, self.spot(place, arm))
                    .ranked(self.rank(index, place, arm))
                    .weighing(weight, overhead_s)
            }));
        }
        subjects
    }

    fn places(&self, host: &Host) -> Places {
        let wanted: Vec<_> = self.config.placements.iter().map(|name| name.0).collect();
        Places::of(&wanted, &host.cpus)
    }

    /// Shorter means nothing where a cap is 250/s; longer says no more than
    /// another round would.
    fn times(&self) -> Times {
        Times {
            good_s: 0.06,
            ..Times::new((0.03, 0.2), rig::OVERHEAD_S)
        }
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        rig::start_s(subjects, self.config.settle_seconds.get())
    }

    fn steps(&self) -> Vec<String> {
        vec![format!(
            "before the rounds, at each place: trials of {} ms of every fixed setting, for the oracle, and {:.1} s for each controller to settle",
            rig::SCOUT.as_millis(),
            self.config.settle_seconds.get()
        )]
    }

    fn rig(&self, host: &Host, subjects: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        Ok(Box::new(rig::OnBenches::start(self, host, subjects)?))
    }

    fn measures(&self) -> Vec<Measure> {
        [&MEASURES[..], &[HELD, ALONE, CAP, COUNT]].concat()
    }

    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Ask, Contender>> {
        let of = |one: &Subject<Ask, Contender>| one.arm.pairs(&one.place, REQUESTS);
        subjects.iter().flat_map(of).collect()
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let depth = self.config.depth.get();
        let departures = departures(self.config.controllers.iter().map(|name| name.0.0));
        let by_size = |title: &str, label, measure: Measure| {
            let note = format!(
                "Up to {depth} requests in flight, fewer where half of L2 would not hold them. Whiskers: 95% interval of the median.{departures}"
            );
            let y = axis(label, measure.unit, Scale::Log10);
            Lines::new(title, note, ("block_bytes", block_axis()), y)
                .of(measure)
                .split(&["algorithm", "operation", "placement"])
                .only(|place: &Ask, _| !place.is_public())
        };
        let shares = format!(
            "1 is the oracle: the best of the fixed settings, found in short trials and measured again beside the others. Whiskers: 95% interval of the median of paired ratios.{departures}"
        );
        let all = format!(
            "Medians over the rounds; MB/s are 10^6 bytes a second. Shares are medians of interleaved pairs with their 95% interval. Latency is from submission to reaping, of all that are in flight. Controllers that look once a second in their sources look every {:.0} ms here.{departures}",
            self.parameters.interval_ns() as f64 / 1e6
        );
        let columns = [
            Cells::of(SPEED, "speed"),
            Cells::of(REQUESTS, "requests"),
            Cells::of(NOTIFICATIONS, "notifications"),
            Cells::of(HELD, "held back"),
            Cells::of(CLIENT_CPU, "client"),
            Cells::of(WORKER_CPU, "worker"),
            Cells::P99,
            Cells::Ratio(REQUESTS, Contender::Oracle, "of the oracle"),
            Cells::Ratio(REQUESTS, Contender::Uncapped, "of uncapped"),
            Cells::Verdict,
        ];
        let of_oracle = Shown::Ratio(REQUESTS, Contender::Oracle);
        let everyone = "Everyone's share of the best fixed setting";
        let notified = "Notifications by block size";
        vec![
            Rows::new(everyone, shares, "share of the oracle", of_oracle)
                .series("arm")
                .into(),
            by_size("Speed by block size", "speed", SPEED).into(),
            by_size(notified, "notifications", NOTIFICATIONS).into(),
            Sheet::new("Every contender at every place", all, columns).into(),
        ]
    }

    /// What no controller governs is a yardstick; and what the paper's figure shows.
    fn finish(&self, _: &Results<'_, Self>, spot: &Spot, chart: &mut Chart) {
        let yardsticks = [Contender::Oracle, Contender::Uncapped].map(|arm| arm.to_string());
        for series in &mut chart.series {
            if yardsticks.contains(&series.name) {
                series.kind = SeriesKind::Reference;
            }
        }
        let is_own = |kind: &&Kind| spot.value("algorithm") == Some(&kind.algorithm.name().into());
        let own = self.kinds.iter().find(is_own);
        if let Some(published) = own.and_then(|kind| tables::published(kind.algorithm)) {
            chart.note = format!(
                "{} The paper's figure {}: {}.",
                chart.note, published.figure, published.caption
            );
        }
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }

    fn more(&self, results: &Results<'_, Self>) -> Vec<Event> {
        tables::tables(results)
            .into_iter()
            .map(Event::Table)
            .collect()
    }
}
