//! What everything that is said of the results rests on.

use trial::stats::{Arms, compare, quantile};
use trial::validity::Observed;
use trial::{Comparison, Direction, Validity, Verdict};

use crate::kspeed::cell::{Cell, Series};
use crate::kspeed::config::Config;
use crate::kspeed::guest_facts::GuestFacts;
use crate::kspeed::method::Method;
use kit::observe::CpuTimes;
use kit::ratio::without_evidence;
use kit::words::size;

/// The middle half of the rounds may be so far apart, as a share of the
/// median: beyond, the rounds did not measure the same.
const SPREAD_MAX: f64 = 0.25;

/// Where and how everything was measured.
#[derive(Clone, Copy)]
pub(super) struct Conditions<'a> {
    pub(super) config: &'a Config,
    pub(super) guest: &'a GuestFacts,
    pub(super) host: HostFacts,
    pub(super) command: &'a str,
}

/// The results with their conditions.
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    pub(super) guest: &'a GuestFacts,
    pub(super) cells: &'a [Cell],
    pub(super) host: HostFacts,
    pub(super) command: &'a str,
}

impl<'a> Conditions<'a> {
    /// With these results.
    pub(super) fn over<'b>(&self, cells: &'b [Cell]) -> Context<'b>
    where
        'a: 'b,
    {
        Context {
            config: self.config,
            guest: self.guest,
            cells,
            host: self.host,
            command: self.command,
        }
    }
}

/// What of the host a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HostFacts {
    /// Of one core; 0 when unknown.
    pub(super) l2_bytes: u64,
    /// That the guest may use.
    pub(super) cpu_count: usize,
}

impl Context<'_> {
    /// Whether a method's figures at a place are valid.
    pub(super) fn verdict(&self, cell: &Cell, method: Method) -> Verdict {
        let verdict = self.of_rounds(cell, method);
        let far_apart = || spread(&cell.arm(method)?.rates());
        match verdict.is_valid() {
            true => far_apart().unwrap_or(verdict),
            false => verdict,
        }
    }

    /// The same whatever lies between the rounds: what both sides of a pair share
    /// cancels out in it.
    fn of_rounds(&self, cell: &Cell, method: Method) -> Verdict {
        let own = cell.arms.iter().find(|(own, _)| *own == method);
        let Some((_, series)) = own else {
            return Verdict::new(Validity::NotSupported, "not measured here", "");
        };
        if let Some(failure) = &series.failure {
            let (reason, remedy) = (&failure.reason[..], &failure.remedy[..]);
            return Verdict::new(Validity::NotSupported, reason, remedy);
        }
        if series.trials.is_empty() {
            let reason = "no round was measured";
            return Verdict::new(Validity::TooFewSamples, reason, "measure longer (--budget)");
        }
        self.observed(cell, method, series).verdict()
    }

    fn is_comparable(&self, cell: &Cell, method: Method) -> bool {
        self.of_rounds(cell, method).is_valid()
    }

    fn observed(&self, cell: &Cell, method: Method, series: &Series) -> Observed {
        let mut times = CpuTimes::default();
        let mut guest_cpus = 0.0;
        for trial in series.trials.values() {
            times.add(trial.times);
            guest_cpus += trial.guest_cpus / series.trials.len() as f64;
        }
        // QEMU has a thread a vCPU and one for its devices.
        let busy_threads = self.config.vcpus as usize + 1;
        let cpus = self.host.cpu_count;
        Observed {
            samples: series.trials.values().map(|trial| trial.completed).sum(),
            steal_ratio: times.steal_ratio(),
            load_elsewhere: times.load_elsewhere(series.trials.len(), cpus, guest_cpus),
            in_flight_bytes: cell.in_flight_bytes(method, self.config.depth) as u64,
            l2_bytes: self.host.l2_bytes,
            busy_threads: busy_threads.min(cpus),
            cpus,
            ..Observed::default()
        }
    }

    pub(super) fn is_valid(&self, cell: &Cell, method: Method) -> bool {
        self.verdict(cell, method).validity == Validity::Valid
    }

    /// Whether the driver completes requests later; none where the module did
    /// not run.
    pub(super) fn is_async(&self, cell: &Cell) -> Option<bool> {
        let details = cell
            .arms
            .iter()
            .filter_map(|(_, series)| series.detail.as_ref());
        details.map(|detail| detail.is_async).next()
    }

    /// A method's rate over another's, over the rounds that have both; no
    /// evidence where a trial is not valid.
    pub(super) fn ratio(
        &self,
        cell: &Cell,
        method: Method,
        reference: Method,
    ) -> Option<Comparison> {
        let pairs = cell.arm(method)?.pairs(cell.arm(reference)?);
        let threads = match cell.place.threads {
            1 => String::new(),
            threads => format!(", {threads} threads"),
        };
        let name = |method: Method| match method.depth(self.config.depth) {
            1 => method.to_string(),
            depth => format!("{method}, {depth} in flight"),
        };
        let arms = Arms {
            subject: format!(
                "{}, {}{threads}{}",
                cell.place.driver,
                size(cell.place.size_bytes),
                self.guest.mark()
            ),
            arm: name(method),
            reference: name(reference),
            metric: "requests_per_s".to_owned(),
            command: self.command.to_owned(),
        };
        let ratio = compare(arms, Direction::Higher, pairs).ok()?;
        if self.is_comparable(cell, method) && self.is_comparable(cell, reference) {
            Some(ratio)
        } else {
            Some(without_evidence(ratio))
        }
    }
}

/// What is wrong with rounds that are far apart.
fn spread(rates: &[f64]) -> Option<Verdict> {
    let at = |share| quantile(rates, share);
    let share = (at(0.75)? - at(0.25)?) / at(0.5)?;
    (share > SPREAD_MAX).then(|| {
        Verdict::new(
            Validity::Noisy,
            format!(
                "the middle half of {} rounds spreads over {:.0}% of the median, more than {:.0}%",
                rates.len(),
                share * 100.0,
                SPREAD_MAX * 100.0
            ),
            "measure on a quiet host, or longer (--budget)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_far_apart_are_noisy() {
        assert_eq!(spread(&[100.0, 101.0, 99.0, 102.0, 300.0]), None);
        let noisy = spread(&[100.0, 50.0, 150.0, 60.0, 140.0]).unwrap();
        assert_eq!(noisy.validity, Validity::Noisy);
        assert_eq!(spread(&[]), None);
    }
}
