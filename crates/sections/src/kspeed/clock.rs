//! How fast the guest's cycle counter runs: tcrypt counts in its cycles.

use trial::stats::median;

/// The script that prints what the guest's kernel found.
pub(super) const SCRIPT: &str = "dmesg | grep -i 'tsc:'";
/// What is slower or faster is not a CPU's.
const MHZ: (f64, f64) = (100.0, 20_000.0);

/// What is known of the counter.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// What the kernel says.
    stated_per_ns: Option<f64>,
    /// What runs of the module found.
    measured_per_ns: Vec<f64>,
}

impl Clock {
    /// From the guest's log.
    pub(super) fn of_log(log: &str) -> Self {
        let stated = log.lines().filter_map(stated_mhz).next_back();
        Self {
            stated_per_ns: stated.map(|mhz| mhz / 1e3),
            measured_per_ns: Vec::new(),
        }
    }

    /// With what another run found, if its CPU has a counter.
    pub(super) fn extend(&mut self, cycles_per_ns: Option<f64>) {
        let is_own = |cycles: &f64| (MHZ.0..=MHZ.1).contains(&(cycles * 1e3));
        self.measured_per_ns
            .extend(cycles_per_ns.into_iter().filter(is_own));
    }

    /// Cycles in a nanosecond: as measured, or else as stated.
    pub(super) fn cycles_per_ns(&self) -> Option<f64> {
        median(&self.measured_per_ns).or(self.stated_per_ns)
    }
}

/// `tsc: Detected 2600.004 MHz processor`, or the later and better
/// `tsc: Refined TSC clocksource calibration: 2599.999 MHz`.
fn stated_mhz(line: &str) -> Option<f64> {
    let (_, said) = line.split_once("tsc: ")?;
    let (before, _) = said.split_once(" MHz")?;
    let is_own = before.starts_with("Detected") || before.starts_with("Refined");
    let number = before.rsplit(' ').next()?;
    let mhz: f64 = is_own.then(|| number.parse().ok()).flatten()?;
    (MHZ.0..=MHZ.1).contains(&mhz).then_some(mhz)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refined_figure_wins_and_a_measured_one_over_both() {
        let log = "[ 0.0] tsc: Fast TSC calibration using PIT\n[ 0.0] tsc: Detected 2600.004 MHz processor\n";
        let mut clock = Clock::of_log(log);
        assert_eq!(clock.cycles_per_ns(), Some(2600.004 / 1e3));
        let refined = format!("{log}[ 2.1] tsc: Refined TSC clocksource calibration: 2599.5 MHz\n");
        assert_eq!(Clock::of_log(&refined).cycles_per_ns(), Some(2599.5 / 1e3));
        clock.extend(Some(2.59));
        clock.extend(Some(f64::NAN));
        assert_eq!(clock.cycles_per_ns(), Some(2.59));
        for nonsense in ["", "tsc: Detected 1e99 MHz", "tsc: Detected x MHz"] {
            assert_eq!(Clock::of_log(nonsense).cycles_per_ns(), None);
        }
    }
}
