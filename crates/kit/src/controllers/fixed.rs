//! The fixed settings of which the best is the oracle.

use policy::{Moderation, Policy, Settings};

/// Caps, notifications/s: the paper's best ones (5109, 6450) lie within.
const CAPS_PER_S: [u32; 9] = [250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000];
/// Caps of `armed+cap`, so that the oracle may do all that a controller may.
const ARMED_CAPS_PER_S: [u32; 3] = [1000, 4000, 16_000];
/// Completions gathered, besides all that are in flight.
const COUNTS: [usize; 2] = [4, 16];
/// How long the first of them waits at most, µs: long enough that the count
/// decides at every size.
const TIMEOUT_US: u32 = 1000;
/// How many settings are looked at twice, and how much longer.
const FINALISTS: usize = 4;
const FINAL: u32 = 2;

/// The grid at a depth. At depth 1 no setting holds anything back, so that
/// only the policies differ.
pub fn grid(depth: usize) -> Vec<Policy> {
    let mut grid = vec![Policy::EACH, Policy::ARMED];
    if depth == 1 {
        return grid;
    }
    let cap = |per_s| Settings::cap(per_s).expect("no cap here is 0");
    grid.extend(CAPS_PER_S.map(|per_s| of(Moderation::Each, cap(per_s))));
    grid.extend(ARMED_CAPS_PER_S.map(|per_s| of(Moderation::Armed, cap(per_s))));
    let fewer = COUNTS.into_iter().filter(|count| *count < depth);
    grid.extend(fewer.chain([depth]).map(|count| {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let settings = Settings::coalesce(count.min(policy::COUNT_MAX.into()), TIMEOUT_US);
        of(Moderation::Each, settings.expect("within its limits"))
    }));
    grid
}

/// Every setting of a grid once and the best again; fastest first. `rate` is
/// requests/s of a trial that is this many times as long as a short one.
///
/// # Errors
/// As `rate`.
pub fn scout<E>(
    depth: usize,
    mut rate: impl FnMut(Policy, u32) -> Result<f64, E>,
) -> Result<Vec<(Policy, f64)>, E> {
    let mut found = Vec::new();
    for arm in grid(depth) {
        found.push((arm, rate(arm, 1)?));
    }
    let sort = |found: &mut [(Policy, f64)]| found.sort_by(|a, b| b.1.total_cmp(&a.1));
    sort(&mut found);
    let finalists = FINALISTS.min(found.len());
    for (arm, first) in &mut found[..finalists] {
        // Weighted by how long each trial was.
        let again = rate(*arm, FINAL)?;
        *first = (*first + again * f64::from(FINAL)) / f64::from(1 + FINAL);
    }
    sort(&mut found[..finalists]);
    Ok(found)
}

/// How long that takes, seconds.
pub fn scout_s(depth: usize, trial_s: impl Fn(u32) -> f64) -> f64 {
    let count = grid(depth).len();
    count as f64 * trial_s(1) + FINALISTS.min(count) as f64 * trial_s(FINAL)
}

fn of(moderation: Moderation, settings: Settings) -> Policy {
    Policy {
        moderation,
        settings,
    }
}

/// Settings in words: `each, cap 4000/s`.
pub fn label(arm: &Policy) -> String {
    let Policy {
        moderation,
        settings,
    } = arm;
    let mut label = moderation.to_string();
    if let Some(per_s) = settings.cap_per_s() {
        label = format!("{label}, cap {per_s:.0}/s");
    }
    if settings.count() > 1 {
        label = format!("{label}, {} at once", settings.count());
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_what_stays_fast_when_looked_at_again() {
        let lucky = grid(32)[3];
        let mut trials = 0;
        let found = scout(32, |arm, times| {
            trials += 1;
            let rate = match (arm, times) {
                (Policy::ARMED, _) => 9.0,
                (arm, 1) if arm == lucky => 12.0,
                _ => 5.0,
            };
            Ok::<_, ()>(rate)
        });
        let found = found.unwrap();
        assert_eq!(found[0], (Policy::ARMED, 9.0));
        assert_eq!(found[1], (lucky, (12.0 + 2.0 * 5.0) / 3.0));
        assert_eq!(scout_s(32, |_| 1.0), f64::from(trials));
    }

    #[test]
    fn a_grid_has_every_kind_once_and_says_which() {
        for depth in [1, 2, 4, 16, 32, 4096] {
            let labels: Vec<_> = grid(depth).iter().map(label).collect();
            let mut distinct = labels.clone();
            distinct.sort();
            distinct.dedup();
            assert_eq!(distinct.len(), labels.len(), "{labels:?}");
            assert!(labels.contains(&"each".to_owned()) && labels.contains(&"armed".to_owned()));
            assert_eq!(depth > 1, labels.contains(&"each, cap 4000/s".to_owned()));
        }
        let labels: Vec<_> = grid(32).iter().map(label).collect();
        for label in ["each, 32 at once", "each, 4 at once", "armed, cap 1000/s"] {
            assert!(labels.contains(&label.to_owned()), "{labels:?}");
        }
    }
}
