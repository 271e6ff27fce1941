//! The section `vcm-tasks`: the VCM paper's figure 3 on this host. Equal tasks
//! on one virtual function, each with a lane: what each gets, what they get
//! together, and how busy the cores are.

mod findings;

use std::time::Duration;

use crypto::{Algorithm, Kind, Workload};
use kit::config::checks::{BLOCK_BYTES_MAX, check_blocks, check_kind, check_slots};
use kit::drawing::dot_without_interval;
use kit::load::benches::OVERHEAD_S;
use kit::load::benches::{
    Ask, Benches, CLIENT_CPU, MEASURES, NOTIFICATIONS, REQUESTS, SPEED, WORKER_CPU, unmaskable,
};
use kit::load::moderated::Moderated;
use kit::load::rig::Window;
use kit::place::Placement;
use kit::places::{Places, on};
use kit::prelude::*;
use kit::words::{NOTIFY_SLEEPERS, size, what};
use policy::Policy;
use trial::{Series, SeriesKind};

/// Each has a thread, a lane, and for a moment the next one.
const TASKS_MAX: usize = engine::FUNCTION_LANES_MAX / 2;
/// Starting one bench and filling its memory, seconds.
const START_S: f64 = 0.1;

const TASK_SPEED: Measure = Measure::higher("task_speed_mb_per_s", "MB/s");
const LEAST_SPEED: Measure = Measure::higher("least_task_speed_mb_per_s", "MB/s");
/// How evenly the tasks share, 1 being quite (Jain, Chiu and Hawe, 1984).
const JAIN: Measure = Measure::higher("jain_index", "1 is even");

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Algorithm of every request
        algorithm: Name<Algorithm> = "aes-128-cbc",
        /// Bytes of one request
        block_bytes: Bytes<1, BLOCK_BYTES_MAX> = 4096,
        /// Requests that each task keeps in flight
        depth: Count<1, { engine::DEPTH_MAX }> = 16,
        /// Numbers of tasks
        tasks: List<Count<1, TASKS_MAX>> = [1, 2, 3, 4, 5, 6, 7, 8],
        /// Notification policies
        policies: List<Name<Policy>> = ["each", "armed"],
        /// Whether clients share the worker's core; auto: both, where there are two CPUs
        placements: Auto<List<Name<Placement>>> = None,
        /// Library that computes
        backend: BackendName = BackendName::default(),
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct Tasks {
    config: Config,
    kind: Kind,
}

/// Where the tasks run, and how many they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    placement: Placement,
    tasks: usize,
}

impl Tasks {
    fn places(&self, host: &Host) -> Places {
        Places::named(&self.config.placements, &host.cpus)
    }

    fn tasks_max(&self) -> usize {
        let tasks = self.config.tasks.iter().map(|tasks| tasks.get());
        tasks.max().unwrap_or(1)
    }

    /// Input bytes of a request.
    fn block_bytes(&self) -> usize {
        Workload::input_bytes(self.kind, self.config.block_bytes.get())
    }

    /// The fewest, the most, and doublings between them say most.
    fn rank(&self, tasks: usize) -> u8 {
        let least = self.config.tasks.iter().map(|tasks| tasks.get()).min();
        let is_end = Some(tasks) == least || tasks == self.tasks_max();
        u8::from(!is_end && !tasks.is_power_of_two())
    }

    fn ask(&self, place: Place) -> Ask {
        Ask {
            placement: place.placement,
            kind: self.kind,
            block_bytes: self.config.block_bytes.get(),
            depth: self.config.depth.get(),
            tasks: place.tasks,
        }
    }

    fn spot(&self, place: Place, policy: Policy) -> Spot {
        let Config {
            block_bytes, depth, ..
        } = &self.config;
        Spot::new()
            .with("algorithm", self.kind.algorithm.name(), what(self.kind))
            .also("operation", self.kind.operation.name())
            .with(
                "block_bytes",
                block_bytes.get() as u64,
                size(block_bytes.get()),
            )
            .with("placement", place.placement.name(), on(place.placement))
            .also("backend", self.config.backend.name())
            .also("depth", depth.get() as u64)
            .with("tasks", place.tasks as u64, many(place.tasks))
            .with("policy", policy.to_string().as_str(), policy.to_string())
    }
}

/// `1 task`, `8 tasks`.
fn many(tasks: usize) -> String {
    match tasks {
        1 => "1 task".to_owned(),
        tasks => format!("{tasks} tasks"),
    }
}

impl Experiment for Tasks {
    const NAME: &'static str = "vcm-tasks";
    const TITLE: &'static str = "VCM, figure 3: equal tasks on one virtual function";
    const QUESTION: Question = Question {
        what: "What equal tasks get of one virtual function",
        against: "the VCM paper's figure 3 (less together than one alone, the more the less)",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Policy;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        let kind = Kind::from(config.algorithm.0);
        let own = Self { config, kind };
        let Config {
            backend,
            block_bytes,
            depth,
            ..
        } = &own.config;
        check_kind("algorithm", backend, kind)?;
        check_blocks("block_bytes", kind, [block_bytes.get()])?;
        let slots = depth.get().saturating_mul(own.tasks_max());
        let remedy = "lower depth, tasks or block_bytes";
        check_slots("depth", (slots, block_bytes.get()), remedy)?;
        Ok(own)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn needs(&self, _: &Probe) -> Result<(), PlanError> {
        unmaskable(self.config.backend.name())
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<Place, Policy>> {
        let mut subjects = Vec::new();
        for (placement, _) in self.places(host).kept {
            for tasks in self.config.tasks.iter().map(|tasks| tasks.get()) {
                let place = Place { placement, tasks };
                subjects.extend(self.config.policies.iter().map(|policy| {
                    Subject::new(place, policy.0, self.spot(place, policy.0))
                        .ranked(self.rank(tasks))
                }));
            }
        }
        subjects
    }

    fn left_out(&self, host: &Host) -> Option<String> {
        self.places(host).left_out()
    }

    /// Shorter and the scheduler has not been round all tasks a few times; longer
    /// says no more than another round would.
    fn times(&self) -> Times {
        Times {
            least_s: 0.03,
            good_s: 0.03,
            most_s: 0.05,
            overhead_s: OVERHEAD_S,
        }
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        START_S * Places::among(subjects.iter().map(|subject| subject.place.placement)) as f64
    }

    fn rig(&self, host: &Host, subjects: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let asks: Vec<_> = subjects.iter().map(|one| self.ask(one.place)).collect();
        let benches = Benches::start(&self.config.backend, &self.places(host), &asks)?;
        Ok(Box::new(OnBenches {
            benches,
            section: self.clone(),
        }))
    }

    fn measures(&self) -> Vec<Measure> {
        [&MEASURES[..], &[TASK_SPEED, LEAST_SPEED, JAIN]].concat()
    }

    /// Each number of tasks against the fewest under the same policy, then what
    /// `armed` gains.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Policy>> {
        let pair = |arm, reference| Pair::new(arm, reference, REQUESTS);
        let sums = subjects.iter().filter_map(|subject| {
            let few = findings::ends(subjects, subject.place.placement)?.0;
            let reference = Place {
                tasks: few,
                ..subject.place
            };
            (subject.place.tasks > few)
                .then(|| pair((subject.place, subject.arm), (reference, subject.arm)))
        });
        let armed = subjects
            .iter()
            .filter(|subject| subject.arm == Policy::ARMED);
        let gains = armed.map(|one| {
            let gain = pair((one.place, Policy::ARMED), (one.place, Policy::EACH));
            gain.changed_by(NOTIFY_SLEEPERS)
        });
        sums.chain(gains).collect()
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let depth = self.config.depth.get();
        let lines = |title: &str, note: String, y, measures| {
            View::Lines(Lines {
                title: title.to_owned(),
                note,
                over: "tasks",
                x: axis("equal tasks", "", Scale::Linear),
                y,
                measures,
                split: vec!["algorithm", "block_bytes", "placement"],
                only: all,
            })
        };
        vec![
            lines(
                "Each task's speed and their sum",
                format!("{depth} requests in flight a task, each with a lane of its own. Dashed: what the paper's figure 3 says of a task. Whiskers: 95% interval of the median."),
                axis("speed", "MB/s", Scale::Linear),
                vec![(SPEED, "sum", 1.0), (TASK_SPEED, "a task", 1.0)],
            ),
            lines(
                "How busy the cores are",
                "On one shared core clients and worker take turns. With a core each, an idle worker looks for work a little before it sleeps.".to_owned(),
                axis("CPU time", "% of a core", Scale::Linear),
                vec![(CLIENT_CPU, "clients", 1.0), (WORKER_CPU, "worker", 1.0)],
            ),
            View::Table(Sheet {
                title: format!(
                    "{}, {}: equal tasks, {depth} requests in flight each",
                    what(self.kind),
                    size(self.block_bytes())
                ),
                note: "MB/s are 10^6 bytes a second; medians over the rounds.".to_owned(),
                columns: vec![
                    Cells::of(SPEED, "all"),
                    Cells::of(TASK_SPEED, "a task"),
                    Cells::of(JAIN, "Jain's index"),
                    Cells::of(NOTIFICATIONS, "notifications"),
                    Cells::of(CLIENT_CPU, "clients"),
                    Cells::of(WORKER_CPU, "worker"),
                    Cells::Verdict,
                ],
                across: None,
                only: all,
            }),
        ]
    }

    /// One task's speed, divided by the number of tasks: the paper's.
    fn finish(&self, results: &Results<'_, Self>, spot: &Spot, chart: &mut Chart) {
        let Some(&Name(policy)) = self.config.policies.first() else {
            return;
        };
        let here = |subject: &&Subject<Place, Policy>| {
            subject.arm == policy && subject.spot.value("placement") == spot.value("placement")
        };
        let own: Vec<_> = results.subjects.iter().filter(here).collect();
        let alone = own.iter().find(|subject| subject.place.tasks == 1);
        let alone = alone.and_then(|one| results.median(&one.place, &policy, SPEED));
        if let (Some(speed), "MB/s") = (alone, chart.y.unit.as_str()) {
            let share = |tasks: usize| {
                model::paper::published::share_of_one_task(u32::try_from(tasks).unwrap_or(u32::MAX))
            };
            let dots = own.iter().map(|subject| {
                let tasks = subject.place.tasks;
                dot_without_interval(tasks as f64, speed * share(tasks))
            });
            chart.series.push(Series {
                name: format!("one task's ÷ n, {policy}"),
                kind: SeriesKind::Reference,
                dots: dots.collect(),
            });
        }
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }
}

struct OnBenches {
    benches: Benches,
    section: Tasks,
}

impl Rig<Tasks> for OnBenches {
    fn trial(
        &mut self,
        subject: &Subject<Place, Policy>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let (ask, tasks) = (self.section.ask(subject.place), subject.place.tasks);
        let block_bytes = self.section.block_bytes() as f64;
        let speed = |per_s: f64| per_s * block_bytes / 1e6;
        let regime = subject.arm.regime();
        self.benches.trial(&ask, slice, regime, go_on, |window| {
            let rates = rates(window, tasks);
            let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
            vec![
                (TASK_SPEED, speed(window.requests_per_s(0) / tasks as f64)),
                (LEAST_SPEED, speed(least)),
                (JAIN, model::fairness::jain_index(&rates).unwrap_or(0.0)),
            ]
        })
    }
}

/// Requests/s of each task at work.
fn rates(window: &Window, tasks: usize) -> Vec<f64> {
    let requests = window.tenants[0].task_requests.iter().take(tasks);
    requests
        .map(|&requests| requests as f64 / window.seconds)
        .collect()
}
