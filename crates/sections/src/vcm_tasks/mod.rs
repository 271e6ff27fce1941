//! The section `vcm-tasks`: the VCM paper's figure 3 on this host. Equal tasks
//! on one virtual function, each with a lane: what each gets, what they get
//! together, and how busy the cores are.

mod findings;

use crypto::{Algorithm, Kind, Workload};
use kit::config::checks::{BLOCK_BYTES_MAX, check_blocks, check_kind, check_slots};
use kit::load::benches::{
    Ask, Benches, CLIENT_CPU, MEASURES, NOTIFICATIONS, OVERHEAD_S, REQUESTS, SPEED, WORKER_CPU,
};
use kit::load::rig::Window;
use kit::place::Placement;
use kit::places::Places;
use kit::prelude::*;
use kit::words::{NOTIFY_SLEEPERS, size, what};
use policy::Policy;
use trial::{Dot, Series, SeriesKind};

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

impl Tasks {
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

    /// Where the tasks run, and how many they are.
    fn place(&self, placement: Placement, tasks: usize) -> Ask {
        Ask {
            placement,
            kind: self.kind,
            block_bytes: self.config.block_bytes.get(),
            depth: self.config.depth.get(),
            tasks,
        }
    }

    /// What each of the tasks at work got.
    fn shares(&self, window: &Window, tasks: usize) -> Vec<(Measure, f64)> {
        let requests = window.tenants[0].task_requests.iter().take(tasks);
        let rates: Vec<_> = requests
            .map(|&requests| requests as f64 / window.seconds)
            .collect();
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let speed = |per_s: f64| per_s * self.block_bytes() as f64 / 1e6;
        vec![
            (TASK_SPEED, speed(window.requests_per_s(0) / tasks as f64)),
            (LEAST_SPEED, speed(least)),
            (JAIN, model::fairness::jain_index(&rates).unwrap_or(0.0)),
        ]
    }

    fn spot(&self, place: Ask, policy: Policy) -> Spot {
        let tasks = place.tasks;
        place
            .spot(&self.config.backend)
            .with("tasks", tasks as u64, many(tasks))
            .named("policy", policy)
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
    type Place = Ask;
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

    fn subjects(&self, host: &Host) -> Vec<Subject<Ask, Policy>> {
        let mut subjects = Vec::new();
        for (placement, _) in self.places(host).kept {
            for tasks in self.config.tasks.iter().map(|tasks| tasks.get()) {
                let place = self.place(placement, tasks);
                subjects.extend(self.config.policies.iter().map(|policy| {
                    Subject::new(place, policy.0, self.spot(place, policy.0))
                        .ranked(self.rank(tasks))
                }));
            }
        }
        subjects
    }

    fn places(&self, host: &Host) -> Places {
        Places::named(&self.config.placements, &host.cpus)
    }

    /// Shorter and the scheduler has not been round all tasks a few times; longer
    /// says no more than another round would.
    fn times(&self) -> Times {
        Times::new((0.03, 0.05), OVERHEAD_S)
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        START_S * Places::among(subjects.iter().map(|subject| subject.place.placement)) as f64
    }

    fn rig(&self, host: &Host, subjects: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let section = self.clone();
        let asks = subjects.iter().map(|one| one.place);
        let mut benches = Benches::start(&self.config.backend, &self.places(host), asks)?;
        Ok(trials::<Self>(move |one, slice, go_on| {
            benches.trial(&one.place, slice, one.arm, go_on, |window| {
                section.shares(window, one.place.tasks)
            })
        }))
    }

    fn measures(&self) -> Vec<Measure> {
        [&MEASURES[..], &[TASK_SPEED, LEAST_SPEED, JAIN]].concat()
    }

    /// Each number of tasks against the fewest under the same policy, then what
    /// `armed` gains.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Ask, Policy>> {
        let sums = subjects.iter().filter_map(|subject| {
            let Subject { place, arm, .. } = *subject;
            let tasks = findings::ends(subjects, place.placement)?.0;
            let reference = (Ask { tasks, ..place }, arm);
            (place.tasks > tasks).then(|| Pair::new((place, arm), reference, REQUESTS))
        });
        let armed = subjects.iter().filter(|one| one.arm == Policy::ARMED);
        let gains = armed.map(|one| {
            let arms = (Policy::ARMED, Policy::EACH);
            Pair::at(one.place, arms, REQUESTS).changed_by(NOTIFY_SLEEPERS)
        });
        sums.chain(gains).collect()
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let depth = self.config.depth.get();
        let lines = |title: &str, note: &str, y| {
            let over = ("tasks", axis("equal tasks", "", Scale::Linear));
            Lines::new(title, note, over, y).split(&["algorithm", "block_bytes", "placement"])
        };
        let speeds = format!(
            "{depth} requests in flight a task, each with a lane of its own. Dashed: what the paper's figure 3 says of a task. Whiskers: 95% interval of the median."
        );
        let busy = "On one shared core clients and worker take turns. With a core each, an idle worker looks for work a little before it sleeps.";
        let title = format!(
            "{}, {}: equal tasks, {depth} requests in flight each",
            what(self.kind),
            size(self.block_bytes())
        );
        vec![
            lines(
                "Each task's speed and their sum",
                &speeds,
                axis("speed", "MB/s", Scale::Linear),
            )
            .called(SPEED, "sum")
            .called(TASK_SPEED, "a task")
            .into(),
            lines(
                "How busy the cores are",
                busy,
                axis("CPU time", "% of a core", Scale::Linear),
            )
            .called(CLIENT_CPU, "clients")
            .called(WORKER_CPU, "worker")
            .into(),
            Sheet::new(
                title,
                "MB/s are 10^6 bytes a second; medians over the rounds.",
                [
                    Cells::of(SPEED, "all"),
                    Cells::of(TASK_SPEED, "a task"),
                    Cells::of(JAIN, "Jain's index"),
                    Cells::of(NOTIFICATIONS, "notifications"),
                    Cells::of(CLIENT_CPU, "clients"),
                    Cells::of(WORKER_CPU, "worker"),
                    Cells::Verdict,
                ],
            )
            .into(),
        ]
    }

    /// One task's speed, divided by the number of tasks: the paper's.
    fn finish(&self, results: &Results<'_, Self>, spot: &Spot, chart: &mut Chart) {
        let Some(&Name(policy)) = self.config.policies.first() else {
            return;
        };
        let here = |subject: &&Subject<Ask, Policy>| {
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
                Dot::at(tasks as f64, speed * share(tasks))
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
