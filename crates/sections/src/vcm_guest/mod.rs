//! The section `vcm-guest`: a guest with our crypto device, by the stock driver of its
//! kernel. Beside it are QEMU's own device, in the same guest, and the front-end that
//! plays a guest, on the same engine: the VCM paper's figures 2, 3 and 8, with the
//! interrupts that the guest counts.

mod rig;
#[cfg(test)]
mod tests;

use std::fmt;

use crypto::{Algorithm, Kind};
use kit::config::checks::check_kind;
use kit::controllers::contender::ControllerName;
use kit::drawing::block_axis;
use kit::guest::{BOOT_S, check_cpu, emulated};
use kit::prelude::*;
use kit::words::{finding, size};
use trial::Weight;

const REQUESTS: Measure = Measure::higher("requests_per_s", "requests/s");
const SPEED: Measure = Measure::higher("speed_mb_per_s", "MB/s");
const INTERRUPTS: Measure = Measure::lower("interrupts_per_request", "per request");
/// CPU time of the device: our worker's, and that of QEMU's threads beside its vCPUs.
const DEVICE_NS: Measure = Measure::lower("device_ns", "ns/request");
/// The worker's part of it.
const WORKER_NS: Measure = Measure::lower("worker_ns", "ns/request");
/// What the device does with a second of CPU time.
const PER_CPU_S: Measure = Measure::higher("requests_per_device_s", "requests/CPU s");
/// Of the guest with its device.
const GUEST_CPU: Measure = Measure::fact("guest_cpu_percent", "% of a core");

/// What is asked of our device against QEMU's own, with its CPU time: 0.8 of that for a
/// request.
const DEVICE_TARGET: f64 = 1.25;
/// Interrupts a request, with 16 in flight.
const INTERRUPTS_TARGET: f64 = 0.1;
/// Figure 3 of the paper is about tasks on requests of this size.
const TASKS_BYTES: usize = 16_384;
/// The command into the guest, and another device for its driver.
const OVERHEAD_S: f64 = 0.5;
/// The kernel's driver encrypts so.
const ALGORITHM: Algorithm = Algorithm::Aes128Cbc;

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Bytes of one request of AES-128-CBC
        sizes_bytes: List<Bytes<16, 65_536>> = [512, 4096, 16_384, 65_536],
        /// Requests in flight: 1 waits for each
        depths: List<Count<1, 256>> = [1, 16],
        /// Tasks that encrypt at once, each with its own requests; of 16 KiB
        tasks: List<Count<1, 8>> = [1, 2, 4, 8],
        /// Controllers of the guest's interrupts
        controllers: List<Name<ControllerName>> = ["adaptive", "dim", "vic", "speed-monitor-prose"],
        /// Processors of the guest
        vcpus: Count<1, 8> = 1,
        /// CPU model of the guest, with flags
        cpu: String = "max",
        /// Release of the guest's kernel; empty: the first of the cache
        kernel: String = "",
        /// Library that computes
        backend: BackendName = BackendName::default(),
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct VcmGuest(Config);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    block_bytes: usize,
    depth: usize,
    tasks: usize,
}

/// Whose device it is, and who decides when the guest is interrupted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arm {
    /// QEMU's own.
    BuiltIn,
    /// Ours, whenever the guest asks.
    Asked,
    /// Ours, by a controller.
    Controlled(&'static str),
    /// Ours, without the guest: the front-end that plays one.
    Front,
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BuiltIn => "QEMU's device",
            Self::Asked => "as asked",
            Self::Front => "front-end",
            Self::Controlled(name) => name,
        })
    }
}

const ADAPTIVE: Arm = Arm::Controlled("adaptive");

impl VcmGuest {
    fn arms(&self) -> Vec<Arm> {
        let controlled = self.0.controllers.iter();
        let controlled = controlled.map(|name| Arm::Controlled(name.0.0));
        let fixed = [Arm::BuiltIn, Arm::Asked, Arm::Front];
        fixed.into_iter().chain(controlled).collect()
    }

    fn grid(&self) -> Vec<Place> {
        let mut grid = Vec::new();
        for depth in self.0.depths.iter().map(|depth| depth.get()) {
            for block_bytes in self.0.sizes_bytes.iter().map(|bytes| bytes.get()) {
                let place = |tasks| Place {
                    block_bytes,
                    depth,
                    tasks,
                };
                let tasks = self.0.tasks.iter().map(|tasks| tasks.get());
                grid.extend(
                    tasks
                        .filter(|tasks| *tasks == 1 || block_bytes == TASKS_BYTES && depth > 1)
                        .map(place),
                );
            }
        }
        grid
    }

    /// What the targets are of, then sizes, then tasks and other controllers.
    fn rank(place: &Place, arm: Arm) -> u8 {
        let is_known = matches!(arm, Arm::BuiltIn | Arm::Asked) || arm == ADAPTIVE;
        let is_target = place.depth == 16 && matches!(place.block_bytes, 512 | 16_384);
        match (is_known, place.tasks) {
            (true, 1) if is_target => 0,
            (true, 1) => 1,
            (true, _) => 2,
            (false, _) => 3,
        }
    }

    fn spot(place: &Place, arm: Arm) -> Spot {
        let tasks = match place.tasks {
            1 => String::new(),
            tasks => format!("{tasks} tasks"),
        };
        Spot::new()
            .kind(Kind::from(ALGORITHM))
            .block(place.block_bytes)
            .with(
                "depth",
                place.depth as u64,
                format!("depth {}", place.depth),
            )
            .with("tasks", place.tasks as u64, tasks)
            .named("arm", arm)
    }
}

impl Experiment for VcmGuest {
    const NAME: &'static str = "vcm-guest";
    const TITLE: &'static str = "VCM: a guest with our crypto device, and with QEMU's";
    const CREATES: &'static [&'static str] = &[
        "one QEMU process, and sockets of crypto devices in a temporary folder; they end with the section, and with lockgate",
    ];
    const QUESTION: Question = Question {
        what: "What a guest gets of our crypto device",
        against: "QEMU's own device and the VCM paper's figures 2, 3 and 8",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Arm;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        check_cpu(&config.cpu)?;
        let kind = Kind::from(ALGORITHM);
        check_kind("backend", &config.backend, kind)?;
        let sizes = config.sizes_bytes.iter().map(|size| size.get());
        kit::config::checks::check_blocks("sizes_bytes", kind, sizes)?;
        Ok(Self(config))
    }

    fn config(&self) -> &Config {
        &self.0
    }

    fn needs(&self, _: &Probe) -> Result<(), PlanError> {
        kit::guest::crypto::find(&self.0.kernel).map(drop)
    }

    fn subjects(&self, _: &Host) -> Vec<Subject<Place, Arm>> {
        let mut subjects = Vec::new();
        for place in self.grid() {
            for arm in self.arms() {
                // The front-end has one task.
                if arm != Arm::Front || place.tasks == 1 {
                    let subject = Subject::new(place, arm, Self::spot(&place, arm));
                    subjects.push(subject.ranked(Self::rank(&place, arm)));
                }
            }
        }
        subjects
    }

    fn times(&self) -> Times {
        Times::new((0.25, 1.0), OVERHEAD_S)
    }

    fn start_s(&self, _: &Subjects<Self>) -> f64 {
        BOOT_S
    }

    fn steps(&self) -> Vec<String> {
        let parts = kit::guest::crypto::find(&self.0.kernel);
        let step = parts.map(|parts| format!("one guest: {}", parts.words()));
        step.into_iter().collect()
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        Ok(Box::new(rig::OnGuest::new(self.clone(), host)?))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![
            REQUESTS, SPEED, INTERRUPTS, PER_CPU_S, DEVICE_NS, WORKER_NS, GUEST_CPU,
        ]
    }

    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Arm>> {
        let mut pairs = Vec::new();
        for Subject { place, arm, .. } in subjects {
            let to = |reference, measure| Pair::at(*place, (*arm, reference), measure);
            match arm {
                Arm::BuiltIn | Arm::Front => {}
                Arm::Asked => pairs.push(to(Arm::BuiltIn, REQUESTS)),
                Arm::Controlled(_) if *arm == ADAPTIVE => {
                    let is_target = place.depth == 16 && place.tasks == 1;
                    let target = is_target.then_some(DEVICE_TARGET);
                    pairs.push(to(Arm::BuiltIn, PER_CPU_S).wanting(target));
                    pairs.push(to(Arm::BuiltIn, REQUESTS));
                    pairs.push(to(Arm::Asked, REQUESTS));
                }
                Arm::Controlled(_) => pairs.push(to(Arm::Asked, REQUESTS)),
            }
        }
        pairs
    }

    fn views(&self) -> Vec<View<Place, Arm>> {
        let note = "The guest's stock driver, asked by Lockgate's module; interrupts are those of the guest's /proc/interrupts. The front-end plays a guest on the same engine. Device time is our worker's, which sleeps when it has nothing to do, and that of QEMU's threads beside its vCPUs. Whiskers: 95% interval of the median.";
        let by_size = |title: &str, label, measure: Measure| {
            let y = axis(label, measure.unit, Scale::Log10);
            Lines::new(title, note, ("block_bytes", block_axis()), y)
                .of(measure)
                .split(&["depth"])
                .only(|place: &Place, _| place.tasks == 1)
        };
        let tasks = {
            let x = axis("tasks", "", Scale::Linear);
            let y = axis("speed of all", SPEED.unit, Scale::Linear);
            Lines::new("Speed by tasks in one guest", note, ("tasks", x), y)
                .of(SPEED)
                .split(&["depth"])
                .only(|place: &Place, arm: &Arm| {
                    place.block_bytes == TASKS_BYTES && place.depth > 1 && *arm != Arm::Front
                })
        };
        let columns = [
            Cells::of(REQUESTS, "requests"),
            Cells::of(SPEED, "speed"),
            Cells::of(INTERRUPTS, "interrupts"),
            Cells::of(DEVICE_NS, "device"),
            Cells::of(WORKER_NS, "of it our worker"),
            Cells::of(GUEST_CPU, "guest"),
            Cells::Ratio(REQUESTS, Arm::BuiltIn, "of QEMU's device"),
            Cells::Verdict,
        ];
        vec![
            by_size("Speed by block size", "speed", SPEED).into(),
            by_size("Interrupts by block size", "interrupts", INTERRUPTS).into(),
            tasks.into(),
            Sheet::new("What a guest gets of its crypto device", note, columns).into(),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        let told = results.told().iter().filter(|own| own.ratio.is_believed);
        let of = |measure: Measure| {
            let own = told.clone().filter(move |own| {
                own.pair.arm.1 == ADAPTIVE
                    && own.pair.reference.1 == Arm::BuiltIn
                    && own.pair.measure == measure
                    && own.pair.arm.0.depth > 1
                    && own.pair.arm.0.tasks == 1
            });
            let words = own.map(|own| {
                let Place {
                    block_bytes, depth, ..
                } = own.pair.arm.0;
                let bytes = size(block_bytes);
                format!("{bytes} at depth {depth} {}", own.ratio.words())
            });
            words.collect::<Vec<_>>().join(", ")
        };
        let (requests, device) = (of(REQUESTS), of(PER_CPU_S));
        if requests.is_empty() && device.is_empty() {
            return None;
        }
        let text = format!(
            "Our device against QEMU's, in one guest ({}): requests/s {requests}; requests for a second of the device's CPU time {device}.",
            results.about.words()
        );
        let remedy = "`lockgate serve` is that device.";
        Some(Answer::new(text, remedy))
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        let interrupts = |subject: &Subject<Place, Arm>| {
            let Place { depth, tasks, .. } = subject.place;
            let is_it = subject.arm == ADAPTIVE && depth == 16 && tasks == 1;
            let value = || results.valid_median(&subject.place, &subject.arm, INTERRUPTS);
            is_it.then(value)?
        };
        let all: Vec<f64> = results.subjects.iter().filter_map(interrupts).collect();
        let most = all.into_iter().reduce(f64::max).map(|most| {
            let text = format!(
                "With 16 requests in flight the controller adaptive interrupts the guest {most:.2} times a request, at most; asked is {INTERRUPTS_TARGET}."
            );
            finding(Weight::Note, text, "")
        });
        most.into_iter().chain(emulated(&results.about)).collect()
    }
}
