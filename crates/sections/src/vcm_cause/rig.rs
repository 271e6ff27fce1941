//! Finds where the speed falls before the rounds, and does the trials.

use std::time::Duration;

use crypto::Kind;
use engine::DEPTH_MAX;
use kit::load::benches::{Ask, Benches, SPEED};
use kit::load::rig::{Cores, LatencyCounts};
use kit::places::Places;
use kit::prelude::*;
use trial::stats::{Random, median};
use trial::{Sink, Verdict};

use super::arm::{Arm, fall};
use super::done::{Done, of_lane};
use super::place::{Ends, Place, Setting};
use super::{Causes, alone, places, planted};

/// Rounds over the sizes, and seconds of each of their trials at most: enough
/// to see where to look.
const SCANS: usize = 2;
const SCAN_S: f64 = 0.012;
/// Set-up, warm-up, and what is still in flight, seconds.
pub(super) const OVERHEAD_S: f64 = 0.008;
/// Memory and keys of a load, seconds.
const START_S: f64 = 0.1;

/// Before the rounds, seconds.
pub(super) fn start_s(section: &Causes, subjects: &Subjects<Causes>) -> f64 {
    let one = |place: &Place| {
        let sizes = place.sizes(&section.sizes_bytes).len();
        START_S + (SCANS * sizes) as f64 * (scan_s(section) + OVERHEAD_S)
    };
    places(subjects).iter().map(one).sum()
}

fn scan_s(section: &Causes) -> f64 {
    let fixed = section.config.common.seconds.0;
    fixed.map_or(SCAN_S, |seconds| seconds.get().min(SCAN_S))
}

pub(super) struct OnHost {
    section: Causes,
    cpus: Vec<usize>,
    benches: Benches,
    /// For small requests, many in flight: no other touches their memory.
    split: Vec<(Place, Benches)>,
    /// Of each place, or why there are none.
    ends: Vec<(Place, Result<Ends, Verdict>)>,
}

impl OnHost {
    pub(super) fn start(
        section: &Causes,
        host: &Host,
        subjects: &Subjects<Causes>,
    ) -> Result<Self, Stopped> {
        let placements = Places::of(&[], &host.cpus);
        let mut asks = Vec::new();
        for place in places(subjects) {
            let Place::Load { kind, depth, .. } = place else {
                continue;
            };
            for &(placement, _) in &placements.kept {
                let ask = |&block_bytes: &usize| Ask {
                    placement,
                    kind,
                    block_bytes,
                    depth: depth * 2,
                    tasks: 1,
                };
                asks.extend(section.sizes_bytes.iter().map(ask));
            }
        }
        Ok(Self {
            benches: Benches::start(&section.config.backend, &placements, asks)?,
            section: section.clone(),
            cpus: host.cpus.clone(),
            split: Vec::new(),
            ends: Vec::new(),
        })
    }

    /// The load as it is at every size, a few times: peak and fall.
    fn find(
        &mut self,
        place: Place,
        random: &mut Random,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Ends, Stopped> {
        let sizes = place.sizes(&self.section.sizes_bytes).to_vec();
        let length = Duration::from_secs_f64(scan_s(&self.section));
        let mut speeds = vec![Vec::new(); sizes.len()];
        for _ in 0..SCANS {
            let mut order: Vec<_> = (0..sizes.len()).collect();
            random.shuffle(&mut order);
            for index in order {
                let arm = Arm::Scan(sizes[index]);
                let reading = self.run(place, arm, place.setting(sizes[index]), length, go_on)?;
                speeds[index].extend(reading.value(SPEED));
            }
        }
        let speeds = speeds.iter().map(|all| median(all).unwrap_or(0.0));
        let (peak, fallen) = fall(&speeds.collect::<Vec<_>>()).expect("there are two sizes");
        Ok((place.setting(sizes[peak]), place.setting(sizes[fallen])))
    }

    /// The bench of a load.
    fn bench(
        &mut self,
        place: Place,
        arm: Arm,
        setting: &Setting,
        kind: Kind,
    ) -> Result<&mut Benches, Stopped> {
        if arm != Arm::Split {
            return Ok(&mut self.benches);
        }
        if setting.depth > DEPTH_MAX {
            return Err(Stopped::NotSupported {
                what: format!("{} requests in flight", setting.depth),
                remedy: format!("lower depth: the limit of a lane is {DEPTH_MAX}"),
            });
        }
        let own = self.split.iter().position(|(own, _)| *own == place);
        let index = own.unwrap_or(self.split.len());
        if own.is_none() {
            let placement = Places::of(&[setting.placement], &self.cpus);
            let asks = [ask(kind, setting)];
            let benches = Benches::start(&self.section.config.backend, &placement, asks)?;
            self.split.push((place, benches));
        }
        Ok(&mut self.split[index].1)
    }

    fn run(
        &mut self,
        place: Place,
        arm: Arm,
        setting: Setting,
        length: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let (bytes, is_alone) = (setting.block_bytes, arm.is_alone());
        if let Place::Load { kind, .. } = place
            && !is_alone
        {
            let benches = self.bench(place, arm, &setting, kind)?;
            return load(benches, kind, &setting, length, go_on);
        }
        let cores = Cores::of(&self.cpus, setting.placement);
        let cores = cores.expect("what needs two CPUs is no subject on one");
        let backend = self.section.config.backend.get();
        let done = Done::in_parts(length, go_on, |part| match place {
            Place::Load { kind, .. } => alone::run(backend, kind, &setting, cores, part),
            Place::Planted(plant) if is_alone => planted::alone(plant, bytes, part),
            Place::Planted(plant) => planted::run(plant, &setting, cores, part),
        })?;
        Ok(done.reading(bytes, is_alone))
    }
}

fn load(
    benches: &mut Benches,
    kind: Kind,
    setting: &Setting,
    counted: Duration,
    go_on: &dyn Fn() -> bool,
) -> Result<Reading, Stopped> {
    let (ask, regime) = (ask(kind, setting), setting.policy);
    let mut reading = benches.trial(&ask, counted, regime, go_on, |window| {
        let counters = &window.tenants[0].counters;
        of_lane(counters.requests, counters).to_vec()
    })?;
    // Bytes beyond a cache are a cause that is looked for, no disturbance.
    if let Some(evidence) = &mut reading.evidence {
        evidence.in_flight_bytes = 0;
    }
    reading.latency = LatencyCounts::default();
    Ok(reading)
}

fn ask(kind: Kind, setting: &Setting) -> Ask {
    Ask {
        placement: setting.placement,
        kind,
        block_bytes: setting.block_bytes,
        depth: setting.depth,
        tasks: 1,
    }
}

impl Rig<Causes> for OnHost {
    fn prepare(&mut self, subjects: &Subjects<Causes>, sink: &mut dyn Sink) -> Result<(), Stopped> {
        let places = places(subjects);
        let mut random = Random::new(self.section.config.common.seed);
        for (index, &place) in places.iter().enumerate() {
            let share = index as f64 / places.len() as f64;
            sink.emit(Event::Progress(share, format!("sizes of {}", place.name())));
            // What fails spoils its own place alone.
            let found = match self.find(place, &mut random, &|| !sink.is_interrupted()) {
                Ok(both) => Ok(both),
                Err(stopped) => Err(stopped.verdict().ok_or(Stopped::Interrupted)?),
            };
            self.ends.push((place, found));
        }
        Ok(())
    }

    fn trial(
        &mut self,
        subject: &Subject<Place, Arm>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let Subject { place, arm, .. } = *subject;
        let setting = match arm {
            Arm::Scan(bytes) => place.setting(bytes),
            arm => {
                let own = self.ends.iter().find(|(own, _)| *own == place);
                let (_, found) = own.expect("every place was looked at");
                arm.setting(found.clone().map_err(Stopped::Doubted)?)
            }
        };
        let mut reading = self.run(place, arm, setting, slice, go_on)?;
        reading.also = Spot::new()
            .also("block_bytes", setting.block_bytes as u64)
            .also("depth", setting.depth as u64);
        Ok(reading)
    }
}
