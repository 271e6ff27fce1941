//! The section `vcm-device`: our crypto device for guests, without a guest. A front-end
//! plays the guest over shared memory, so that a request costs what the device costs:
//! what one worker serves, by depth and size, and what moderating the guest's interrupts
//! gains, by controller (the VCM paper's figures 8 and 9, of a device that knows the
//! guest's queue).

mod rig;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use crypto::{Algorithm, Kind};
use kit::config::checks::check_kind;
use kit::controllers::contender::ControllerName;
use kit::drawing::block_axis;
use kit::load::rig::Cores;
use kit::place::Placement;
use kit::places::Places;
use kit::prelude::*;
use kit::words::{finding, size, what};
use trial::Weight;

const SPEED: Measure = Measure::higher("speed_mb_per_s", "MB/s");
const REQUESTS: Measure = Measure::higher("requests_per_s", "requests/s");
const WORKER_NS: Measure = Measure::lower("worker_ns", "ns/request");
const INTERRUPTS: Measure = Measure::lower("interrupts_per_request", "per request");
const KICKS: Measure = Measure::lower("kicks_per_request", "per request");

/// Before a trial counts: connections, sessions, and what a controller needs to settle.
const SETTLE: Duration = Duration::from_millis(60);
const OVERHEAD_S: f64 = 0.09;

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Algorithms of the requests: AES-CBC, SHA or HMAC
        algorithms: List<Name<Algorithm>> = ["aes-128-cbc", "sha256"],
        /// Bytes of one request
        sizes_bytes: List<Bytes<16, { 1 << 20 }>> = [64, 1024, 16_384, 65_536],
        /// Requests in flight
        depths: List<Count<1, 1024>> = [1, 16, 64, 256],
        /// Whether the front-end shares the worker's core
        placements: List<Name<Placement>> = ["split"],
        /// Controllers of the guest's interrupts
        controllers: List<Name<ControllerName>> = ["adaptive", "dim", "vic", "speed-monitor-prose"],
        /// Library that computes
        backend: BackendName = BackendName::default(),
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct VcmDevice(Config);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    kind: Kind,
    block_bytes: usize,
    depth: usize,
    placement: Placement,
}

/// Who decides when the guest is interrupted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arm {
    /// Nobody: the guest looks.
    Polled,
    /// The device tells of each completion that the guest asks for.
    Asked,
    /// The guest asks to be told when three quarters of what is in flight are done.
    Delayed,
    /// A controller of the device.
    Controlled(&'static str),
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Polled => "polled",
            Self::Asked => "as asked",
            Self::Delayed => "delayed by the guest",
            Self::Controlled(name) => name,
        })
    }
}

const ADAPTIVE: Arm = Arm::Controlled("adaptive");

impl VcmDevice {
    fn arms(&self) -> Vec<Arm> {
        let controlled = self.0.controllers.iter();
        let controlled = controlled.map(|name| Arm::Controlled(name.0.0));
        let fixed = [Arm::Polled, Arm::Asked, Arm::Delayed];
        fixed.into_iter().chain(controlled).collect()
    }

    /// What the targets are of comes first; then depth by depth.
    fn rank(place: &Place, arm: Arm) -> u8 {
        let is_known = arm == Arm::Polled || arm == Arm::Asked || arm == ADAPTIVE;
        let is_target = place.kind.algorithm == Algorithm::Aes128Cbc
            && matches!(
                (place.block_bytes, place.depth),
                (64 | 16_384, 64) | (1024, 1 | 16)
            );
        match (is_target, is_known) {
            (true, true) => 0,
            (true, false) | (false, true) => 1,
            (false, false) => 2,
        }
    }

    fn spot(&self, place: &Place, arm: Arm) -> Spot {
        Spot::new()
            .kind(place.kind)
            .block(place.block_bytes)
            .with(
                "depth",
                place.depth as u64,
                format!("depth {}", place.depth),
            )
            .placement(place.placement)
            .also("backend", self.0.backend.name())
            .named("arm", arm)
    }
}

impl Experiment for VcmDevice {
    const NAME: &'static str = "vcm-device";
    const TITLE: &'static str = "VCM: what the crypto device for guests serves";
    const QUESTION: Question = Question {
        what: "What one worker serves of a guest's requests",
        against: "what interrupting the guest for each would leave",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Arm;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        for name in config.algorithms.iter() {
            let kind = Kind::from(name.0);
            check_kind("algorithms", &config.backend, kind)?;
            if !vhost::front::takes(kind) {
                let reason = format!("{} is not a service of the device", name.0);
                return Err(ConfigError::value("algorithms", reason));
            }
            let sizes = config.sizes_bytes.iter().map(|size| size.get());
            kit::config::checks::check_blocks("sizes_bytes", kind, sizes)?;
        }
        Ok(Self(config))
    }

    fn config(&self) -> &Config {
        &self.0
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<Place, Arm>> {
        let mut subjects = Vec::new();
        for (placement, _) in self.places(host).kept {
            for algorithm in self.0.algorithms.iter() {
                for bytes in self.0.sizes_bytes.iter() {
                    for depth in self.0.depths.iter() {
                        let place = Place {
                            kind: Kind::from(algorithm.0),
                            block_bytes: bytes.get(),
                            depth: depth.get(),
                            placement,
                        };
                        subjects.extend(self.arms().into_iter().map(|arm| {
                            Subject::new(place, arm, self.spot(&place, arm))
                                .ranked(Self::rank(&place, arm))
                        }));
                    }
                }
            }
        }
        subjects
    }

    fn places(&self, host: &Host) -> Places {
        let wanted: Vec<_> = self.0.placements.iter().map(|name| name.0).collect();
        Places::of(&wanted, &host.cpus)
    }

    fn times(&self) -> Times {
        Times::new((0.03, 0.2), OVERHEAD_S)
    }

    fn start_s(&self, _: &Subjects<Self>) -> f64 {
        0.1
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        Ok(Box::new(rig::OnDevices::start(self, host)?))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![REQUESTS, SPEED, WORKER_NS, INTERRUPTS, KICKS]
    }

    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Arm>> {
        let pair = |subject: &Subject<Place, Arm>| {
            let (place, arm) = (subject.place, subject.arm);
            let to = |reference| Pair::at(place, (arm, reference), REQUESTS);
            match arm {
                Arm::Asked => None,
                _ if arm == ADAPTIVE => {
                    Some(to(Arm::Asked).changed_by("Let the controller adaptive moderate guests"))
                }
                _ => Some(to(Arm::Asked)),
            }
        };
        subjects.iter().filter_map(pair).collect()
    }

    fn views(&self) -> Vec<View<Place, Arm>> {
        let note = "A front-end plays the guest over shared memory: no guest takes part. Requests are encrypted in place. Whiskers: 95% interval of the median.";
        let by_size = |title: &str, label, measure: Measure| {
            let y = axis(label, measure.unit, Scale::Log10);
            Lines::new(title, note, ("block_bytes", block_axis()), y)
                .of(measure)
                .split(&["algorithm", "depth", "placement"])
        };
        let columns = [
            Cells::of(REQUESTS, "requests"),
            Cells::of(SPEED, "speed"),
            Cells::of(WORKER_NS, "worker"),
            Cells::of(INTERRUPTS, "interrupts"),
            Cells::of(KICKS, "kicks"),
            Cells::Ratio(REQUESTS, Arm::Asked, "of as asked"),
            Cells::Verdict,
        ];
        vec![
            by_size("Speed by block size", "speed", SPEED).into(),
            by_size("Interrupts by block size", "interrupts", INTERRUPTS).into(),
            Sheet::new("What one worker serves", note, columns).into(),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        let best = |bytes: usize| {
            let of = |subject: &Subject<Place, Arm>| {
                let is_it = subject.place.block_bytes == bytes && subject.arm == Arm::Polled;
                let value = || results.valid_median(&subject.place, &subject.arm, REQUESTS);
                is_it.then(value)?.map(|value| (value, subject.place))
            };
            let all = results.subjects.iter().filter_map(of);
            all.max_by(|a, b| a.0.total_cmp(&b.0))
        };
        let smallest = self.0.sizes_bytes.iter().map(|size| size.get()).min()?;
        let largest = self.0.sizes_bytes.iter().map(|size| size.get()).max()?;
        let (rate, place) = best(smallest)?;
        let mut text = format!(
            "One worker serves {:.2} million requests/s of {} ({}, depth {}).",
            rate / 1e6,
            size(smallest),
            what(place.kind),
            place.depth
        );
        if let Some((rate, place)) = best(largest).filter(|_| largest > smallest) {
            text.push_str(&format!(
                " Of {} it serves {:.1} GB/s ({}).",
                size(largest),
                rate * largest as f64 / 1e9,
                what(place.kind)
            ));
        }
        Some(Answer {
            text,
            remedy: "Give a guest depth: asynchronous requests cost a fraction of one at a time."
                .to_owned(),
        })
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        let per_request = |subject: &Subject<Place, Arm>| {
            let is_it = subject.arm == ADAPTIVE && subject.place.depth == 16;
            let value = || results.valid_median(&subject.place, &subject.arm, INTERRUPTS);
            is_it.then(value)?
        };
        let all: Vec<f64> = results.subjects.iter().filter_map(per_request).collect();
        let Some(most) = all.into_iter().reduce(f64::max) else {
            return Vec::new();
        };
        let text = format!(
            "With 16 requests in flight the controller adaptive interrupts the guest {most:.2} times a request, at most."
        );
        vec![finding(Weight::Note, text, "")]
    }
}

/// The worker's CPU, and the front-end's.
fn cores(host: &Host, placement: Placement) -> Option<Cores> {
    Cores::of(&host.cpus, placement)
}
