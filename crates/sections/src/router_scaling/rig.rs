//! Trials on routers.

use std::time::Duration;

use forward::bench::TrialResult;
use forward::topology::Cpus;
use kit::experiment::{Rig, Subjects};
use kit::host::Host;
use kit::routers::metrics::RECEIVED_PPS;
use kit::routers::rig::Routers;
use kit::routers::trial::Trial;
use kit::subject::{Reading, Stopped, Subject};
use trial::{Event, Sink, Validity, Verdict};

use super::case::Case;
use super::{FIRST, LEAST, MOST, OTHERS, SLICE_S, Scaling};

struct OnRouters {
    scaling: Scaling,
    cpus: Cpus,
    routers: Routers,
    /// What one router carries, frames/s, or why that is not valid.
    capacity_pps: Result<f64, Verdict>,
}

/// Trials on those routers.
pub(super) fn on(scaling: &Scaling, host: &Host, routers: Routers) -> Box<dyn Rig<Scaling>> {
    let remedy = "measure longer (--budget)";
    let unknown = Verdict::new(Validity::TooFewSamples, "it was not measured", remedy);
    Box::new(OnRouters {
        scaling: scaling.clone(),
        cpus: Cpus::among(&host.cpus),
        routers,
        capacity_pps: Err(unknown),
    })
}

impl OnRouters {
    fn run(
        &mut self,
        (case, capacity_pps): (Case, f64),
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let setups = self.scaling.setups(case, &self.cpus);
        let offers = self.scaling.offers(case, capacity_pps, slice);
        let trial = self
            .routers
            .with(&setups, go_on, |rig| rig.trial(&offers, go_on))?;
        Ok(reading(&trial))
    }

    /// What one router carries; tried again, since a disturbance may pass.
    fn alone(&mut self, go_on: &dyn Fn() -> bool) -> Result<f64, Stopped> {
        let slice = Duration::from_secs_f64(SLICE_S.1);
        let mut reading = self.run((Case::SideBySide(1), 0.0), slice, go_on)?;
        if !reading.verdict.is_valid() {
            reading = self.run((Case::SideBySide(1), 0.0), slice, go_on)?;
        }
        if !reading.verdict.is_valid() {
            return Err(Stopped::Doubted(reading.verdict));
        }
        let rate = reading.value(RECEIVED_PPS).filter(|rate| *rate > 0.0);
        rate.ok_or_else(|| {
            let remedy = "see router-native, which measures one router alone";
            Stopped::Doubted(Verdict::new(
                Validity::TooFewSamples,
                "no frame came through",
                remedy,
            ))
        })
    }
}

impl Rig<Scaling> for OnRouters {
    /// What is modest depends on what one router carries.
    fn prepare(
        &mut self,
        subjects: &Subjects<Scaling>,
        sink: &mut dyn Sink,
    ) -> Result<(), Stopped> {
        if !subjects.iter().any(|subject| subject.arm.is_beside()) {
            return Ok(());
        }
        let now = "one router alone, for what it carries".to_owned();
        sink.emit(Event::Progress(0.0, now));
        let alone = self.alone(&|| !sink.is_interrupted());
        self.capacity_pps = match (alone.as_ref().err().and_then(Stopped::verdict), alone) {
            (Some(doubt), _) => Err(Verdict {
                reason: format!("what one router carries is not known: {}", doubt.reason),
                ..doubt
            }),
            (None, alone) => Ok(alone?),
        };
        Ok(())
    }

    fn trial(
        &mut self,
        subject: &Subject<(), Case>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let capacity_pps = match &self.capacity_pps {
            Ok(pps) => *pps,
            // Nobody can be offered a share of it.
            Err(doubt) if subject.arm.is_beside() => return Err(Stopped::Doubted(doubt.clone())),
            Err(_) => 0.0,
        };
        self.run((subject.arm, capacity_pps), slice, go_on)
    }
}

fn reading(trial: &Trial) -> Reading {
    let mut reading = Reading::from(trial);
    let rates = || trial.routers.iter().map(TrialResult::received_pps);
    let others = trial.routers.get(1..).unwrap_or_default();
    let sum = |of: fn(&TrialResult) -> u64| others.iter().map(of).sum::<u64>() as f64;
    let offered = sum(TrialResult::offered);
    let delivered = (offered > 0.0).then(|| sum(TrialResult::received) / offered * 100.0);
    let own = [
        (LEAST, rates().reduce(f64::min)),
        (MOST, rates().reduce(f64::max)),
        (OTHERS, delivered),
        (FIRST, rates().next()),
    ];
    let known = own
        .into_iter()
        .filter_map(|(measure, value)| Some((measure, value?)));
    reading.values.extend(known);
    reading
}
