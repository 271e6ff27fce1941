//! How soon after a change the speed is what it stays at.

use trial::stats::median;

/// A speed of this share of the level has recovered.
pub const RECOVERED: f64 = 0.93;
/// How long it is to stay there: what comes later is no answer to the change.
pub const STAYS_S: f64 = 0.1;

/// One window of a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Since the phase began.
    pub begin_s: f64,
    pub mb_per_s: f64,
}

/// What a phase comes to: the median of the windows of its later half. None
/// without windows.
pub fn settled(looks: &[Look]) -> Option<f64> {
    let later = looks[looks.len() / 2..].iter().map(|look| look.mb_per_s);
    median(&later.collect::<Vec<_>>())
}

/// When the first window begins from which on the speed stays at
/// [`RECOVERED`] of `level` for [`STAYS_S`], s since the change; none where it
/// never does. One window below among those is chance, two are not.
pub fn recovery_s(looks: &[Look], level: f64) -> Option<f64> {
    let is_below = |look: &Look| look.mb_per_s < RECOVERED * level;
    let stays = |at: &usize| {
        let end_s = looks[*at].begin_s + STAYS_S - 1e-9;
        let next = looks[*at..].iter().take_while(|look| look.begin_s < end_s);
        !is_below(&looks[*at]) && next.filter(|look| is_below(look)).count() <= 1
    };
    let first = (0..looks.len()).find(stays)?;
    Some(looks[first].begin_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_is_where_the_speed_begins_to_stay() {
        const T: f64 = 10.0;
        for (speeds, after_ms) in [
            (&[T; 8][..], Some(0)),
            (&[2.0, 3.0, 5.0, T, T, T, T, T], Some(60)),
            (&[T, T, 2.0, T, T, T, 2.0, T], Some(0)),
            (&[T, T, 2.0, 2.0, T, T, T, T], Some(80)),
            // That was 160 ms later.
            (
                &[T, T, T, T, T, T, T, T, 5.0, 5.0, T, T, T, T, T, T],
                Some(0),
            ),
            (&[5.0, 5.0, 5.0, 5.0], None),
            (&[], None),
        ] {
            let look = |(at, &mb_per_s): (usize, &f64)| Look {
                begin_s: at as f64 * 0.02,
                mb_per_s,
            };
            let looks: Vec<_> = speeds.iter().enumerate().map(look).collect();
            let after = recovery_s(&looks, T).map(|s| (s * 1e3).round() as i32);
            assert_eq!(after, after_ms, "{speeds:?}");
            let half = settled(&looks);
            assert_eq!(half, speeds.last().copied(), "{speeds:?}");
        }
    }
}
