//! The section `vcm-cause`: why the speed falls with the block size.
//!
//! A place is a load, or a fault that is planted to test the diagnosis. A look
//! over its sizes finds where its speed falls. Then the load is run at the
//! fallen size as it is, and with one thing changed at a time (an arm each), in
//! interleaved rounds; from what helps follows the cause.

mod alone;
mod arm;
mod diagnosis;
mod done;
mod findings;
mod place;
mod plant;
mod planted;
mod rig;
#[cfg(test)]
mod tests;

use crypto::{Algorithm, Kind};
use engine::DEPTH_MAX;
use kit::config::checks::{BLOCK_BYTES_MAX, check_blocks, check_kind, check_sized, check_slots};
use kit::drawing::block_axis;
use kit::load::benches::{CLIENT_CPU, SPEED, WORKER_CPU};
use kit::load::rig::Cores;
use kit::place::Placement;
use kit::places::Places;
use kit::prelude::*;
use kit::words::size;
use policy::Policy;

use arm::{AT_FALL, Arm};
use done::NOTIFICATIONS;
use place::Place;
use plant::Plant;

kit::keys! {
    /// What is examined.
    pub struct Config {
        /// Algorithms of the loads
        algorithms: Several<Name<Algorithm>> = ["aes-128-cbc", "aes-128-gcm"],
        /// Bytes of one request, two sizes at least
        sizes_bytes: List<Bytes<1, BLOCK_BYTES_MAX>> = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536],
        /// Requests in flight
        depth: Count<1, { DEPTH_MAX / 2 }> = 64,
        /// Whether the client shares the worker's core; auto: both, where there are two CPUs
        placements: Auto<List<Name<Placement>>> = None,
        /// Notification policies of the loads
        policies: List<Name<Policy>> = ["each"],
        /// Faults that are planted to test the diagnosis
        planted: Several<Name<Plant>> = Plant::ALL.map(Name),
        /// Library that computes
        backend: BackendName = BackendName::default(),
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct Causes {
    config: Config,
    /// Rising.
    sizes_bytes: Vec<usize>,
}

/// Every place of some subjects, which stand together.
fn places(subjects: &Subjects<Causes>) -> Vec<Place> {
    let mut places: Vec<_> = subjects.iter().map(|subject| subject.place).collect();
    places.dedup();
    places
}

impl Causes {
    fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.config.algorithms.iter().map(|name| Kind::from(name.0))
    }

    /// Each once, however often it is named.
    fn all(&self, host: &Host) -> Vec<Place> {
        let mut places = Vec::new();
        for kind in self.kinds() {
            for (placement, _) in self.places(host).kept {
                places.extend(self.config.policies.iter().map(|policy| Place::Load {
                    kind,
                    depth: self.config.depth.get(),
                    placement,
                    policy: policy.0,
                }));
            }
        }
        let planted = self.config.planted.iter();
        places.extend(planted.map(|plant| Place::Planted(plant.0)));
        let is_first = |index: &usize| !places[..*index].contains(&places[*index]);
        let kept = (0..places.len()).filter(is_first);
        kept.map(|index| places[index]).collect()
    }

    fn subject(place: Place, (arm, name, words): (Arm, &str, &str)) -> Subject<Place, Arm> {
        let (subject, is_planted) = (place.name(), place.plant().is_some());
        let placement = arm.placement(place.setting(1).placement);
        let spot = Spot::new()
            .named("subject", subject)
            .with("experiment", name, words)
            .also("placement", placement.name());
        let (spot, rank) = match arm {
            Arm::Scan(bytes) => {
                let depth = place.setting(bytes).depth as u64;
                let spot = spot.with("block_bytes", bytes as u64, size(bytes));
                (spot.following("depth", depth, ""), 2)
            }
            _ => (spot, u8::from(is_planted)),
        };
        // Planted faults show at once, and so does what a client does alone.
        let is_short = is_planted || arm.is_alone();
        let weight = if is_short { 0.5 } else { 1.0 };
        Subject::new(place, arm, spot)
            .ranked(rank)
            .weighing(weight, 0.0)
    }
}

impl Experiment for Causes {
    const NAME: &'static str = "vcm-cause";
    const TITLE: &'static str = "VCM: why the speed falls as blocks grow";
    const QUESTION: Question = Question {
        what: "Why the speed falls as blocks grow",
        against: "the VCM paper's figures 2 and 8, which put it down to interrupts",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Arm;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        let mut sizes_bytes: Vec<_> = config.sizes_bytes.iter().map(|size| size.get()).collect();
        sizes_bytes.sort_unstable();
        let own = Self {
            config,
            sizes_bytes,
        };
        let is_empty = own.kinds().next().is_none();
        if is_empty && own.config.planted.iter().next().is_none() {
            let reason = "no load and no planted fault leave nothing to examine; name one";
            return Err(ConfigError::value("algorithms", reason));
        }
        if !is_empty && own.sizes_bytes.len() < 2 {
            let reason = "a fall with size needs two sizes at least";
            return Err(ConfigError::value("sizes_bytes", reason));
        }
        for kind in own.kinds() {
            check_sized("algorithms", kind)?;
            check_kind("algorithms", &own.config.backend, kind)?;
            check_blocks("sizes_bytes", kind, own.sizes_bytes.iter().copied())?;
        }
        // Twice the depth of every size, and as much again in small requests.
        let loads = own.kinds().count() * (2 + own.config.policies.len());
        let slots = own.config.depth.get() * loads;
        let all = (slots, own.sizes_bytes.iter().sum());
        let remedy = "lower depth, or name fewer sizes_bytes, algorithms or policies";
        check_slots("depth", all, remedy)?;
        Ok(own)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<Place, Arm>> {
        let can_move = Cores::of(&host.cpus, Placement::Split).is_some();
        let mut subjects = Vec::new();
        for place in self.all(host) {
            let changes = AT_FALL.into_iter();
            let changes = changes.filter(|(arm, ..)| arm.is_possible(place, can_move));
            let sizes = place.sizes(&self.sizes_bytes).iter();
            let scan = sizes.map(|&bytes| (Arm::Scan(bytes), "scan", ""));
            subjects.extend(changes.chain(scan).map(|arm| Self::subject(place, arm)));
        }
        subjects
    }

    fn places(&self, host: &Host) -> Places {
        Places::named(&self.config.placements, &host.cpus)
    }

    /// Shorter is mostly set-up; longer says no more than another round would.
    fn times(&self) -> Times {
        Times {
            good_s: 0.02,
            ..Times::new((0.01, 0.03), rig::OVERHEAD_S)
        }
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        rig::start_s(self, subjects)
    }

    fn rig(&self, host: &Host, subjects: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        Ok(Box::new(rig::OnHost::start(self, host, subjects)?))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![SPEED, NOTIFICATIONS, CLIENT_CPU, WORKER_CPU]
    }

    /// The fall, then each change beside the load as it is. Of what is planted,
    /// and of the client alone, ratios are evidence of the diagnosis only.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Arm>> {
        let loads = subjects.iter().filter(|one| one.place.plant().is_none());
        let pair = |one: &Subject<Place, Arm>| {
            let reference = one.arm.reference().filter(|_| !one.arm.is_alone())?;
            Some(Pair::at(one.place, (one.arm, reference), SPEED))
        };
        loads.filter_map(pair).collect()
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let speed = Lines::new(
            "Speed by block size, of the loads whose falls are examined",
            "Whiskers: 95% interval of the median. Hollow: trials were disturbed.",
            ("block_bytes", block_axis()),
            axis("speed", "MB/s", Scale::Log10),
        );
        let speed = speed
            .of(SPEED)
            .only(|place: &Place, _| place.plant().is_none());
        vec![speed.into()]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::all(results).0
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::all(results).1
    }

    fn more(&self, results: &Results<'_, Self>) -> Vec<Event> {
        let tables = diagnosis::tables(results).into_iter();
        tables.map(Event::Table).collect()
    }
}
