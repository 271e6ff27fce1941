//! The sections `router-native` and `router-os-level`: RFC 2544 throughput of
//! routers, and what goes with it (source 004, table 2 and figures 3 and 6). One
//! trial of the kit is one procedure of the RFC, a search from its first trial to
//! its last.

mod native;
mod options;
mod os_level;
mod rig;

use std::fmt::Debug;

use forward::tester::stream::FrameSize;
use forward::topology::Cpus;
use kit::prelude::*;
use kit::routers::ground;
use kit::routers::metrics::{LOSS, RECEIVED_PPS, ROUTER_CPU, directions, measures, spot};
use kit::routers::options::Home;
use kit::routers::rig::Routers;
use kit::routers::way::Way;
use kit::routers::wires;

pub use native::Native;
use options::{Config, Extra, Options};
pub use os_level::OsLevel;

/// Shorter and one scheduler gap decides; RFC 2544's own is 60 s.
const SLICE_S: (f64, f64) = (0.15, 1.0);
/// Starting the port, waiting for frames on their way, counting.
const OVERHEAD_S: f64 = 0.15;
/// Namespaces, interfaces, and until a frame passes; containers take longer.
const START_S: f64 = 1.0;
/// Most are short: a burst that is lost is short.
const BURST_TRIALS: f64 = 20.0;

const THROUGHPUT: Measure = Measure::higher("throughput_pps", "frames/s");
const SHARE: Measure = Measure::higher("throughput_percent", "% of the links");
const TRIALS: Measure = Measure::fact("trials", "trials");
const RATE: Measure = Measure::fact("rate_pps", "frames/s");
const BURST: Measure = Measure::higher("burst_frames", "frames");
const BUFFER: Measure = Measure::fact("buffer_us", "µs");

/// What the sections differ in.
pub trait Kind: Clone + Debug + PartialEq + 'static {
    const NAME: &'static str;
    const TITLE: &'static str;
    const QUESTION: Question;
    const HOMES: &'static [&'static str];
    const EXTRAS: &'static [Extra];
    /// Of the table of all rates: its title, and what it says first.
    const RATES: (&'static str, &'static str);

    fn answer(results: &Results<'_, Rfc2544<Self>>) -> Option<Answer>;
    fn findings(results: &Results<'_, Rfc2544<Self>>) -> Vec<Finding>;

    /// The source's figures beside ours.
    fn more(results: &Results<'_, Rfc2544<Self>>) -> Vec<Event> {
        let _ = results;
        Vec::new()
    }
}

/// A router: where it lives, and what forwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Router {
    pub home: Home,
    pub way: Way,
}

impl Router {
    /// What another router of the same path is compared with: the one with
    /// nothing between it and the ports.
    fn native(self) -> Self {
        Self {
            home: Home::NATIVE,
            ..self
        }
    }
}

/// A procedure of RFC 2544, section 26, at one rate where it has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Procedure {
    /// All that the generator can send.
    Overload,
    /// The highest rate without loss (26.1).
    Throughput,
    /// The same with the loss that is tolerated.
    PartialDrop,
    /// At a percentage of the throughput (26.2).
    Latency(u32),
    /// At a percentage of the links' rate (26.3).
    FrameLoss(u32),
    /// The longest burst without loss at the links' rate (26.4).
    BackToBack,
}

impl Procedure {
    /// In dimensions.
    const fn name(self) -> &'static str {
        match self {
            Self::Overload => "overload",
            Self::Throughput => "throughput",
            Self::PartialDrop => "partial-drop",
            Self::Latency(_) => "latency",
            Self::FrameLoss(_) => "frame-loss",
            Self::BackToBack => "back-to-back",
        }
    }

    const fn is_extra(self) -> bool {
        !matches!(self, Self::Overload | Self::Throughput | Self::PartialDrop)
    }
}

/// A router under one procedure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    pub router: Router,
    pub procedure: Procedure,
}

/// A section, configured.
#[derive(Clone)]
pub struct Rfc2544<K>(Config<K>);

pub type OfNative = Rfc2544<Native>;
pub type OfHomes = Rfc2544<OsLevel>;

impl<K: Kind> Rfc2544<K> {
    fn options(&self) -> &Options {
        &self.0.options
    }

    fn spot(&self, size: FrameSize, item: Item, cpus: &Cpus) -> Spot {
        let options = self.options();
        let setup = options.setup(item.router, cpus);
        let all = spot(&setup, &options.offer(size));
        // Where there is one home only, it goes without saying.
        let is_told = options.homes.len() > 1;
        let said = |words: &'static str| if is_told { words } else { "" };
        let (home, before) = (item.router.home.kind.name(), item.router.home.before());
        let own = all
            .only(|name| name != "home" && name != "attachment")
            .with("home", home, said(home))
            .with("attachment", before, said(before));
        let (words, percent) = match item.procedure {
            Procedure::Overload => ("at overload".to_owned(), None),
            Procedure::Throughput => ("without loss".to_owned(), None),
            Procedure::PartialDrop => {
                let percent = options.loss_percent.get();
                (format!("with {percent}% loss"), None)
            }
            Procedure::Latency(percent) => (format!("{percent}% of the throughput"), Some(percent)),
            Procedure::FrameLoss(percent) => (format!("{percent}% of the links"), Some(percent)),
            Procedure::BackToBack => ("bursts".to_owned(), None),
        };
        let name = item.procedure.name();
        match percent.map(u64::from) {
            None => own.with("procedure", name, words),
            Some(percent) => own
                .also("procedure", name)
                .with("rate_percent", percent, words),
        }
    }

    /// Conditions in words: under tables and charts.
    fn note(&self) -> String {
        let options = self.options();
        let links = match options.two_way {
            true => "two links",
            false => "a link",
        };
        let destinations = match options.destinations.0 {
            1 => "one destination".to_owned(),
            count => format!("{count} destinations"),
        };
        format!(
            "100% is what {links} of {} Mbit/s can carry; {}, {destinations}; RFC 2544's trials take 60 s. {}",
            options.link_mbit_per_s.get(),
            directions(options.offer(FrameSize::Imix).directions).0,
            wires::note(&options.ports.0),
        )
    }

    fn share_by_size(&self) -> Lines<FrameSize, Item> {
        Lines::new(
            "Throughput as a share of what the links carry, by frame size",
            self.note(),
            ("frame", axis("frame", "bytes", Scale::Log2)),
            axis("of the links", "%", Scale::Linear),
        )
        .of(SHARE)
        .only(|_, item| item.procedure == Procedure::Throughput)
    }

    fn loss_by_rate(&self) -> Lines<FrameSize, Item> {
        Lines::new(
            "Frame loss by rate",
            self.note(),
            (
                "rate_percent",
                axis("rate, of the links", "%", Scale::Linear),
            ),
            axis("frames lost", "%", Scale::Linear),
        )
        .of(LOSS)
        .only(|_, item| matches!(item.procedure, Procedure::FrameLoss(_)))
    }

    fn rates(&self) -> Sheet<FrameSize, Item> {
        let (title, first) = K::RATES;
        let note = format!(
            "{first}At overload: what arrives when the generator sends all that it can, limited by no link. {}",
            self.note()
        );
        let columns = [
            Cells::of(THROUGHPUT, ""),
            Cells::of(SHARE, ""),
            Cells::of(RECEIVED_PPS, ""),
            Cells::of(ROUTER_CPU, "router's CPU"),
            Cells::Verdict,
        ];
        Sheet::new(title, note, columns)
            .across("procedure")
            .only(|_, item| !item.procedure.is_extra())
    }

    fn latencies(&self) -> Sheet<FrameSize, Item> {
        let note = format!(
            "Of every frame, from the moment it was due to its arrival (RFC 2544 tags one frame in a trial). {}",
            self.note()
        );
        let columns = [
            Cells::of(RATE, "rate"),
            Cells::P99,
            Cells::of(LOSS, "lost"),
            Cells::Verdict,
        ];
        Sheet::new("Latency at the throughput and below it", note, columns)
            .only(|_, item| matches!(item.procedure, Procedure::Latency(_)))
    }

    fn bursts(&self) -> Sheet<FrameSize, Item> {
        let note = format!(
            "Frames at the links' rate (RFC 2544, section 26.4; the buffer that this speaks of: RFC 9004, section 6). {}",
            self.note()
        );
        let columns = [
            Cells::of(BURST, "burst"),
            Cells::of(BUFFER, "buffer"),
            Cells::Verdict,
        ];
        Sheet::new("The longest burst without loss", note, columns)
            .only(|_, item| item.procedure == Procedure::BackToBack)
    }
}

impl<K: Kind> Experiment for Rfc2544<K> {
    const NAME: &'static str = K::NAME;
    const TITLE: &'static str = K::TITLE;
    const PRIVILEGES: &'static [&'static str] = &[ground::PRIVILEGES];
    const CREATES: &'static [&'static str] = &[ground::CREATES];
    const STEADY: Option<Measure> = Some(RECEIVED_PPS);
    /// A search of a router that is as fast as its links ends at once.
    const SEARCHES: bool = true;
    const QUESTION: Question = K::QUESTION;

    type Config = Config<K>;
    type Place = FrameSize;
    type Arm = Item;
    type Notes = ();

    fn new(config: Config<K>) -> Result<Self, ConfigError> {
        config.options.check()?;
        Ok(Self(config))
    }

    fn config(&self) -> &Config<K> {
        &self.0
    }

    fn needs(&self, probe: &Probe) -> Result<(), PlanError> {
        ground::check(probe).map(drop)
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<FrameSize, Item>> {
        let cpus = Cpus::among(&host.cpus);
        let of = |(size, item): (FrameSize, Item)| {
            let weight = match item.procedure {
                Procedure::Throughput | Procedure::PartialDrop => self.options().search_trials(),
                Procedure::BackToBack => BURST_TRIALS,
                _ => 1.0,
            };
            let start_s = if item.router.way.spins() {
                START_S
            } else {
                0.0
            };
            Subject {
                is_once: item.procedure.is_extra(),
                ..Subject::new(size, item, self.spot(size, item, &cpus))
                    .weighing(weight, (weight - 1.0) * OVERHEAD_S + start_s)
            }
        };
        self.options().items().into_iter().map(of).collect()
    }

    fn times(&self) -> Times {
        Times::new(SLICE_S, OVERHEAD_S)
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        let is_needed = |router: &Router| {
            let own = |one: &Subject<_, Item>| one.arm.router == *router;
            !router.way.spins() && subjects.iter().any(own)
        };
        START_S * self.options().routers().filter(is_needed).count() as f64
    }

    fn steps(&self) -> Vec<String> {
        let searches = format!(
            "a search takes about {:.0} trials (RFC 2544's: of 60 s), fewer where the links are full; what that saves is for more rounds",
            self.options().search_trials()
        );
        vec![searches, ground::ports_step()]
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        Ok(rig::on(self, host, Routers::of_host()))
    }

    fn measures(&self) -> Vec<Measure> {
        let own = [THROUGHPUT, SHARE, TRIALS, RATE, BURST, BUFFER];
        own.into_iter().chain(measures()).collect()
    }

    /// Each home against a native router with the same path; and what a tolerated
    /// loss gives.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<FrameSize, Item>> {
        let pair = |one: &Subject<FrameSize, Item>| {
            let (size, Item { router, procedure }) = (one.place, one.arm);
            let native = router.native();
            let (reference, measure) = match procedure {
                Procedure::Overload if router != native => (procedure, RECEIVED_PPS),
                Procedure::Throughput if router != native => (procedure, THROUGHPUT),
                Procedure::PartialDrop if router == native => (Procedure::Throughput, THROUGHPUT),
                _ => return None,
            };
            let reference = Item {
                router: native,
                procedure: reference,
            };
            Some(Pair::new((size, one.arm), (size, reference), measure))
        };
        subjects.iter().filter_map(pair).collect()
    }

    fn views(&self) -> Vec<View<FrameSize, Item>> {
        vec![
            self.rates().into(),
            self.latencies().into(),
            self.bursts().into(),
            self.share_by_size().into(),
            self.loss_by_rate().into(),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        K::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        K::findings(results)
    }

    fn more(&self, results: &Results<'_, Self>) -> Vec<Event> {
        K::more(results)
    }
}

#[cfg(test)]
mod tests;
