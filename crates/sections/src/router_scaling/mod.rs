//! The section `router-scaling`: routers side by side, total and each, and one
//! that is overloaded beside others with and without limits (source 004,
//! figures 7 and 8).

mod case;
mod findings;
mod rig;

use std::collections::HashSet;

use forward::bench::Offer;
use forward::topology::Cpus;
use kit::prelude::*;
use kit::routers::ground;
use kit::routers::metrics::{RECEIVED_PPS, ROUTER_CPU, measures, spot};
use kit::routers::options::Frame;
use kit::routers::rig::Routers;
use kit::routers::source::SCALING;
use kit::routers::trial::size_name;
use kit::routers::way::Way;
use kit::words::percent;

use case::{BESIDE, Case, LIMITED_CPUS, MODEST, many};

/// Each has six interfaces and three namespaces.
const ROUTERS_MAX: usize = 32;
/// Of fewer, none is beside another.
const BESIDE_MIN: usize = 2;
/// Starting the ports, waiting for frames on their way, counting.
const OVERHEAD_S: f64 = 0.25;
/// Namespaces, interfaces, and until a frame passes, for each router.
const START_S: f64 = 0.5;
/// The shortest trial that means something, and the longest, seconds.
const SLICE_S: (f64, f64) = (0.25, 0.5);

const LEAST: Measure = Measure::higher("least_pps", "frames/s");
const MOST: Measure = Measure::higher("most_pps", "frames/s");
const OTHERS: Measure = Measure::higher("others_delivered_percent", "%");
/// In a table alone.
const FIRST: Measure = Measure::higher("first_pps", "frames/s");

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// What every router is
        path: Name<Way> = "kernel",
        /// How many stand side by side
        routers: List<Count<1, ROUTERS_MAX>> = [1, 2, 4, 8],
        /// Routers side by side, two at least, of which one is offered all that the generator can; 0: none
        beside: Count<0, ROUTERS_MAX> = 4,
        /// Bytes of a frame with its check sequence, or imix
        frame: Frame = 64,
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct Scaling {
    config: Config,
    /// How many stand side by side, rising.
    counts: Vec<usize>,
}

impl Scaling {
    fn fewest_and_most(&self) -> (usize, usize) {
        let counts = &self.counts;
        (counts[0], counts[counts.len() - 1])
    }

    fn rank(&self, case: Case) -> u8 {
        let (fewest, most) = self.fewest_and_most();
        match case {
            Case::SideBySide(count) if count == fewest || count == most => 0,
            Case::SideBySide(_) => 1,
            _ => 2,
        }
    }

    fn cases(&self) -> Vec<Case> {
        let side = self.counts.iter().map(|&count| Case::SideBySide(count));
        let beside = BESIDE.into_iter().filter(|_| self.config.beside.get() > 0);
        side.chain(beside).collect()
    }

    fn spot(&self, case: Case, host: &Host) -> Spot {
        let setups = self.setups(case, &Cpus::among(&host.cpus));
        let offer = Offer {
            size: self.config.frame.0,
            ..Offer::default()
        };
        let (procedure, words) = case.procedure();
        spot(&setups[0], &offer)
            .with("routers", setups.len() as u64, many(setups.len()))
            .with("procedure", procedure, words)
    }

    /// Conditions in words: under tables and charts.
    fn note(&self) -> String {
        format!(
            "{} each, {}, one way, over veth pairs. All routers share the CPUs that one has: what more of them cost is seen, not what more CPUs give.",
            kit::headline::sentence(&self.config.path.what()),
            size_name(self.config.frame.0)
        )
    }
}

impl Experiment for Scaling {
    const NAME: &'static str = "router-scaling";
    const TITLE: &'static str = "Routers side by side, and one that is overloaded";
    const PRIVILEGES: &'static [&'static str] = &[ground::PRIVILEGES];
    const CREATES: &'static [&'static str] = &[ground::CREATES];
    const STEADY: Option<Measure> = Some(RECEIVED_PPS);
    const QUESTION: Question = Question {
        what: "What routers side by side forward",
        against: "the source's figures 7 and 8 (more routers change the total little)",
    };

    type Config = Config;
    type Place = ();
    type Arm = Case;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        let mut counts: Vec<_> = config.routers.iter().map(|count| count.get()).collect();
        counts.sort_unstable();
        let (way, beside) = (config.path.0, config.beside.get());
        if beside > 0 && beside < BESIDE_MIN {
            let reason = format!("{beside} is outside {BESIDE_MIN} to {ROUTERS_MAX}; 0: none");
            return Err(ConfigError::value("beside", reason));
        }
        if way.spins() && counts.last() > Some(&1) {
            let reason = format!(
                "{way} keeps a CPU busy while it waits: several would only fight for it; name a path of the kernel or XDP"
            );
            return Err(ConfigError::value("path", reason));
        }
        if beside > 0 && !way.can_be_limited() {
            let reason = format!(
                "{way} works in kernel threads that are bound to their CPUs and that no control group takes: a limit would not reach them; name another path, or beside = 0"
            );
            return Err(ConfigError::value("path", reason));
        }
        Ok(Self { config, counts })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn needs(&self, probe: &Probe) -> Result<(), PlanError> {
        ground::check(probe).map(drop)
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<(), Case>> {
        let of = |case| Subject::new((), case, self.spot(case, host)).ranked(self.rank(case));
        self.cases().into_iter().map(of).collect()
    }

    fn times(&self) -> Times {
        Times::new(SLICE_S, OVERHEAD_S)
    }

    /// Routers stay up, and cases that want the same share them. What is modest
    /// is found out with one.
    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        let is_beside = subjects.iter().any(|one| one.arm.is_beside());
        let alone = is_beside.then_some(Case::SideBySide(1));
        let cases = subjects.iter().map(|one| one.arm).chain(alone);
        let up: HashSet<_> = cases
            .map(|case| (self.count(case), case == Case::Limited))
            .collect();
        let routers: usize = up.iter().map(|(count, _)| count).sum();
        let alone_s = alone.map_or(0.0, |_| SLICE_S.1 + OVERHEAD_S);
        START_S * routers as f64 + alone_s
    }

    fn steps(&self) -> Vec<String> {
        vec![ground::ports_step()]
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        Ok(rig::on(self, host, Routers::of_host()))
    }

    fn measures(&self) -> Vec<Measure> {
        measures()
            .into_iter()
            .chain([LEAST, MOST, OTHERS])
            .collect()
    }

    /// The total of many against the fewest; what the others keep, with and
    /// without limits.
    fn pairs(&self, _: &Subjects<Self>) -> Vec<Pair<(), Case>> {
        let pair = |measure, arm, reference| Pair::at((), (arm, reference), measure);
        let fewest = Case::SideBySide(self.counts[0]);
        let more = self.counts[1..].iter();
        let totals = more.map(|&count| pair(RECEIVED_PPS, Case::SideBySide(count), fewest));
        let beside = [
            pair(OTHERS, Case::Overloaded, Case::Peace),
            pair(OTHERS, Case::Limited, Case::Overloaded),
        ];
        totals.chain(beside).collect()
    }

    fn views(&self) -> Vec<View<(), Case>> {
        let side_by_side = |_: &(), case: &Case| !case.is_beside();
        let mut lines = Lines::new(
            "What routers side by side forward",
            self.note(),
            ("routers", axis("routers", "", Scale::Log2)),
            axis("received", "million frames/s", Scale::Linear),
        )
        .split(&[
            "path",
            "poll",
            "batch",
            "queues",
            "binding",
            "frame",
            "direction",
        ])
        .only(side_by_side);
        lines.measures = vec![
            (RECEIVED_PPS, "together", 1e-6),
            (LEAST, "least of one", 1e-6),
            (MOST, "most of one", 1e-6),
        ];
        let figures = Sheet::new(
            "Routers side by side, as figures 7 and 8 of the source",
            format!(
                "The source's figures have no numbers; its text: {SCALING}. {}",
                self.note()
            ),
            [
                Cells::of(RECEIVED_PPS, "together"),
                Cells::of(LEAST, "least of one"),
                Cells::of(MOST, "most of one"),
                Cells::of(ROUTER_CPU, "routers' CPU"),
                Cells::Verdict,
            ],
        );
        let beside = self.config.beside.get();
        let overloaded = Sheet::new(
            "Beside an overloaded router",
            format!(
                "{beside} routers; the others are offered {} of their share of what one router carries. Limits: {:.2} of a CPU each. {}",
                percent(MODEST),
                LIMITED_CPUS / beside.max(1) as f64,
                self.note()
            ),
            [
                Cells::of(FIRST, "the first forwards"),
                Cells::of(OTHERS, "the others deliver"),
                Cells::Verdict,
            ],
        );
        vec![
            lines.into(),
            figures.only(side_by_side).into(),
            overloaded.only(|(), case: &Case| case.is_beside()).into(),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::beside(results).into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
