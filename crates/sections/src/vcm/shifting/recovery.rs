//! How soon after a change the speed is what it stays at.

use trial::stats::median;

/// A speed of so much of the level has recovered.
pub(super) const RECOVERED: f64 = 0.93;

/// So long it is to stay there: what comes later is no answer to the change.
pub(super) const STAYS_S: f64 = 0.1;

/// One window of a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    /// Since the phase began, s.
    pub(super) begin_s: f64,
    pub(super) mb_per_s: f64,
}

/// What a phase comes to: the median of the windows of its later half. None
/// without windows.
pub(super) fn settled(looks: &[Look]) -> Option<f64> {
    let later: Vec<_> = looks[looks.len() / 2..]
        .iter()
        .map(|look| look.mb_per_s)
        .collect();
    median(&later)
}

/// When the first window begins from which on the speed stays at
/// [`RECOVERED`] of `level` for [`STAYS_S`], s since the change; none where it
/// never does. One window below among those is chance, two are not.
pub(super) fn recovery_s(looks: &[Look], level: f64) -> Option<f64> {
    let stays = |at: &usize| {
        let begin_s = looks[*at].begin_s;
        let next = looks[*at..]
            .iter()
            .take_while(|look| look.begin_s < begin_s + STAYS_S - 1e-9);
        !is_below(&looks[*at], level) && next.filter(|look| is_below(look, level)).count() <= 1
    };
    let first = (0..looks.len()).find(stays)?;
    Some(looks[first].begin_s)
}

/// Share of the windows from `begin_s` on that are below: what trying other
/// settings costs, and chance.
pub(super) fn below_ratio(looks: &[Look], level: f64, begin_s: f64) -> f64 {
    let later: Vec<_> = looks
        .iter()
        .filter(|look| look.begin_s >= begin_s)
        .collect();
    let below = later.iter().filter(|look| is_below(look, level)).count();
    below as f64 / later.len().max(1) as f64
}

fn is_below(look: &Look, level: f64) -> bool {
    look.mb_per_s < RECOVERED * level
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(speeds: &[f64]) -> Vec<Look> {
        let look = |(at, &mb_per_s): (usize, &f64)| Look {
            begin_s: at as f64 * 0.02,
            mb_per_s,
        };
        speeds.iter().enumerate().map(look).collect()
    }

    fn recovery_ms(speeds: &[f64]) -> Option<f64> {
        let looks = looks(speeds);
        recovery_s(&looks, settled(&looks)?).map(|s| (s * 1e3).round())
    }

    #[test]
    fn recovery_is_where_the_speed_begins_to_stay() {
        assert_eq!(recovery_ms(&[10.0; 8]), Some(0.0));
        let slow = [2.0, 3.0, 5.0, 10.0, 10.0, 10.0, 10.0, 10.0];
        assert_eq!(recovery_ms(&slow), Some(60.0));
        let first = [2.0, 10.0, 10.0, 10.0, 10.0, 10.0];
        assert_eq!(recovery_ms(&first), Some(20.0));
        let hiccup = [10.0, 10.0, 2.0, 10.0, 10.0, 10.0, 2.0, 10.0];
        assert_eq!(recovery_ms(&hiccup), Some(0.0), "single windows");
        let relapse = [10.0, 10.0, 2.0, 2.0, 10.0, 10.0, 10.0, 10.0];
        assert_eq!(recovery_ms(&relapse), Some(80.0));
        let mut tried = [10.0; 16];
        tried[8..10].fill(5.0);
        assert_eq!(recovery_ms(&tried), Some(0.0), "that was 160 ms later");
        assert_eq!(below_ratio(&looks(&tried), 10.0, 0.0), 0.125);
        assert_eq!(recovery_ms(&[]), None);
    }

    #[test]
    fn a_level_that_is_never_reached_has_no_recovery() {
        let looks = looks(&[5.0; 6]);
        assert_eq!(recovery_s(&looks, 10.0), None);
        assert_eq!(settled(&looks), Some(5.0));
    }
}
