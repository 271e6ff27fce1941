//! The section `crossings`: what each hand-over between two contexts costs on
//! this host. These prices are the T of `T·I + c·N + t·V ≤ 1` (DESIGN); what
//! a request and a byte of crypto cost, c and t, stand beside them.
//!
//! It is the model of a section: options, subjects, one trial, measures, pairs,
//! views, and findings in words. Everything else is the kit's.

mod findings;

use std::time::Duration;

use crypto::{Algorithm, Kind, Operation, Workload};
use kit::crossing::{Cpus, Crossing, Price, Where, price};
use kit::evidence::Evidence;
use kit::load::alone::{Slice, raw};
use kit::load::rig::Cores;
use kit::prelude::*;
use kit::words::size;

/// What each costs: the median of a trial.
const PRICE: Measure = Measure::lower("price_ns", "ns");
/// 99 of 100 are cheaper; where one is timed in batches, of these.
const P99: Measure = Measure::lower("p99_ns", "ns");
const BYTE: Measure = Measure::lower("price_ns_per_byte", "ns/byte");
const OWN_CPU: Measure = Measure::fact("cpu", "CPU number");
const OTHER_CPU: Measure = Measure::fact("other_cpu", "CPU number");

/// What a wake-up gains by it; the two then take turns.
const SAME_CORE: &str = "Wake a thread on the same core";

/// Requests whose prices give c and t: a small and a large one.
const SIZES_BYTES: [usize; 2] = [64, 16_384];
/// What a page of memory is, where a price is one of bytes.
const PAGE_BYTES: f64 = 4096.0;
/// Starting the threads of a trial and pinning them; a look at the core's clock.
const OVERHEAD_S: f64 = 0.004;

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Which crossings
        crossings: List<Name<Crossing>> = Crossing::ALL.map(Name),
        /// Algorithm whose price of a request and of a byte stands beside them
        algorithm: Name<Algorithm> = "aes-128-gcm",
        /// Library that computes
        backend: BackendName = BackendName::default(),
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct Crossings(Config);

/// What has a price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item {
    Crossing(Crossing),
    /// A request of this many bytes.
    Crypto(usize),
}

impl Crossings {
    fn kind(&self) -> Kind {
        let algorithm = self.0.algorithm.0;
        Kind::from(algorithm)
    }

    fn cpus(host: &Host) -> Cpus {
        let own = host.quiet_cpu();
        let other = host.cpus.first().copied().filter(|other| *other != own);
        Cpus { own, other }
    }

    fn subject(&self, item: Item) -> Subject<(), Item> {
        let (rank, spot) = match item {
            Item::Crossing(crossing) => {
                let placement = if crossing.needs_two_cpus() {
                    "split"
                } else {
                    "shared"
                };
                let spot = Spot::new()
                    .with("what", crossing.name(), crossing.words())
                    .also("placement", placement);
                (findings::rank(crossing), spot)
            }
            Item::Crypto(bytes) => {
                let name = self.kind().algorithm.name();
                let spot = Spot::new()
                    .with("what", "request", format!("{name}, {}", size(bytes)))
                    .also("algorithm", name)
                    .also("block_bytes", bytes as u64)
                    .also("backend", self.0.backend.name())
                    .also("placement", "shared");
                (1, spot)
            }
        };
        Subject::new((), item, spot).ranked(rank)
    }
}

impl Experiment for Crossings {
    const NAME: &'static str = "crossings";
    const TITLE: &'static str = "What each crossing costs here";
    const QUESTION: Question = Question {
        what: "What a crossing costs here",
        against: "what a request of crypto costs",
    };

    type Config = Config;
    type Place = ();
    type Arm = Item;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        let own = Self(config);
        kit::config::checks::check_kind("algorithm", &own.0.backend, own.kind())?;
        if own.kind().algorithm.is_public_key() || own.kind().operation == Operation::Derive {
            let reason = "public keys have no price of a byte; name a cipher or a hash";
            return Err(ConfigError::value("algorithm", reason));
        }
        kit::config::checks::check_blocks("algorithm", own.kind(), SIZES_BYTES)?;
        Ok(own)
    }

    fn config(&self) -> &Config {
        &self.0
    }

    fn subjects(&self, _: &Host) -> Vec<Subject<(), Item>> {
        let crossings = self.0.crossings.iter();
        let crossings = crossings.map(|crossing| Item::Crossing(crossing.0));
        let crypto = SIZES_BYTES.into_iter().map(Item::Crypto);
        crossings
            .chain(crypto)
            .map(|item| self.subject(item))
            .collect()
    }

    /// Less holds too few wake-ups for a 99th percentile; how long a core has
    /// idled is part of their price, so longer trials are no more of the same.
    fn times(&self) -> Times {
        Times {
            good_s: 0.02,
            ..Times::new((0.015, 0.05), OVERHEAD_S)
        }
    }

    fn start_s(&self, _: &Subjects<Self>) -> f64 {
        0.05
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let (kind, backend) = (self.kind(), self.0.backend.clone());
        let workload = |bytes| Workload::new(backend.get(), kind, bytes).map_err(Stopped::failed);
        let workloads = SIZES_BYTES
            .into_iter()
            .map(workload)
            .collect::<Result<_, _>>()?;
        Ok(Box::new(OnCpus {
            cpus: Self::cpus(host),
            backend,
            workloads,
        }))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![PRICE, P99, BYTE, OWN_CPU, OTHER_CPU]
    }

    /// What another core adds to a wake-up, what the way of waking does, and
    /// how much dearer than a bare system call the others are.
    fn pairs(&self, _: &Subjects<Self>) -> Vec<Pair<(), Item>> {
        use Crossing::{
            EpollWait, Eventfd, Futex, IoUring, Notification, Pipe, SystemCall, UdpSend,
        };
        use Where::{OtherCore, SameCore};
        let pairs = [
            (Futex(OtherCore), Futex(SameCore)),
            (Eventfd(SameCore), Eventfd(OtherCore)),
            (Pipe(OtherCore), Pipe(SameCore)),
            (Eventfd(SameCore), Futex(SameCore)),
            (Pipe(SameCore), Eventfd(SameCore)),
            (Notification, SystemCall),
            (EpollWait, SystemCall),
            (IoUring, SystemCall),
            (UdpSend, SystemCall),
        ];
        let pair = |(arm, reference)| {
            let is_move = (arm, reference) == (Eventfd(SameCore), Eventfd(OtherCore));
            let change = if is_move { SAME_CORE } else { "" };
            let arms = (Item::Crossing(arm), Item::Crossing(reference));
            Pair::at((), arms, PRICE).changed_by(change)
        };
        pairs.map(pair).to_vec()
    }

    fn prices(&self, results: &Results<'_, Self>) -> Vec<trial::Price> {
        findings::prices(results)
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let note = "Medians over the rounds, whiskers: their 95% interval. A wake-up counts one way, from the waking call to the return of the other. Copying is shown for a page of 4 KiB.";
        let columns = [
            Cells::of(PRICE, "median"),
            Cells::of(P99, "p99"),
            Cells::of(BYTE, "a byte"),
            Cells::bare(OWN_CPU, "CPU"),
            Cells::bare(OTHER_CPU, "other CPU"),
            Cells::Verdict,
        ];
        let price = Shown::Value(PRICE);
        vec![
            Rows::new("What each crossing costs", note, "price", price)
                .scale(Scale::Log10)
                .into(),
            Sheet::new("The price of each crossing", note, columns).into(),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }

    fn more(&self, results: &Results<'_, Self>) -> Vec<Event> {
        findings::equation(results)
            .map(Event::Table)
            .into_iter()
            .collect()
    }
}

struct OnCpus {
    cpus: Cpus,
    backend: BackendName,
    /// One a size.
    workloads: Vec<Workload>,
}

impl Rig<Crossings> for OnCpus {
    fn trial(
        &mut self,
        subject: &Subject<(), Item>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let (own, other) = match subject.arm {
            Item::Crossing(crossing) => crossing.cpus(&self.cpus),
            Item::Crypto(_) => (self.cpus.own, self.cpus.own),
        };
        let cores = Cores {
            worker: own,
            client: other,
        };
        let trial = || match subject.arm {
            Item::Crossing(crossing) => {
                let price = price(crossing, &self.cpus, slice, go_on)?;
                Ok((of_crossing(crossing, &price), price.count))
            }
            Item::Crypto(bytes) => self.crypto(bytes, slice, go_on),
        };
        let (values, evidence) = Evidence::around(cores, trial)?;
        let cpus = [(OWN_CPU, own as f64), (OTHER_CPU, other as f64)];
        let cpus = cpus.into_iter().take(cores.all().len());
        let mut reading = Reading::new(values.into_iter().chain(cpus).collect());
        reading.evidence = Some(evidence);
        Ok(reading)
    }
}

fn of_crossing(crossing: Crossing, price: &Price) -> Vec<(Measure, f64)> {
    let (times, byte) = match crossing {
        Crossing::CopyByte => (PAGE_BYTES, Some((BYTE, price.median_ns))),
        _ => (1.0, None),
    };
    let own = [
        (PRICE, price.median_ns * times),
        (P99, price.p99_ns * times),
    ];
    own.into_iter().chain(byte).collect()
}

impl OnCpus {
    /// The back-end's own loop: no lane, no crossing.
    fn crypto(
        &self,
        bytes: usize,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(Vec<(Measure, f64)>, u64), Stopped> {
        let workload = self.workloads.iter().find(|own| own.block_bytes == bytes);
        let workload = workload.expect("every size has one");
        let slice = Slice {
            length: slice,
            go_on,
        };
        let did = raw(self.backend.get(), workload, 16, self.cpus.own, slice);
        let did = did.map_err(Stopped::failed)?;
        let price = (PRICE, 1e9 / did.requests_per_s());
        Ok((vec![price], did.requests as u64))
    }
}
