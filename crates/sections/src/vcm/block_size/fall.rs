//! Where speed falls as blocks grow: what the paper's figure 2 shows, and
//! takes interrupts for its cause.

use crypto::Kind;
use trial::stats::{Arms, compare};
use trial::{Comparison, Direction, Outcome};

use crate::vcm::block_size::grid::{Place, line, mb_per_s};
use kit::load::moderated::Arm;
use kit::place::Placement;
use kit::places::on;
use kit::words::size;
use kit::words::what;

/// Less is no fall worth a cause.
const SHARE_MAX: f64 = 0.97;

/// A fall under one arm: where speed was greatest, and where it is less.
#[derive(Clone, Debug)]
pub(crate) struct Fall {
    pub(crate) placement: Placement,
    pub(crate) kind: Kind,
    pub(crate) arm: Arm,
    pub(crate) peak_bytes: usize,
    pub(crate) peak_mb_per_s: f64,
    /// By rising block size; at least one.
    pub(crate) fallen: Vec<Fallen>,
}

/// A place beyond the peak that is certainly slower.
#[derive(Clone, Debug)]
pub(crate) struct Fallen {
    pub(crate) block_bytes: usize,
    pub(crate) mb_per_s: f64,
    /// Speed against the peak's, in interleaved pairs.
    pub(crate) ratio: Comparison,
}

impl Fall {
    /// The place that fell furthest.
    pub(crate) fn deepest(&self) -> Option<&Fallen> {
        let by_speed = |a: &&Fallen, b: &&Fallen| a.mb_per_s.total_cmp(&b.mb_per_s);
        self.fallen.iter().min_by(by_speed)
    }
}

/// The fall on one line of the figure, if there is one.
pub(crate) fn fall(
    cells: &[Place],
    (placement, kind): (Placement, Kind),
    arm: Arm,
    (seed, command): (u64, &str),
) -> Option<Fall> {
    let line = line(cells, placement, kind);
    let speed = |place: &&Place| mb_per_s(place, arm);
    let peak = line
        .iter()
        .filter(|place| speed(place).is_some())
        .max_by(|a, b| speed(a).unwrap_or(0.0).total_cmp(&speed(b).unwrap_or(0.0)))?;
    let beyond = line
        .iter()
        .filter(|place| place.key.block_bytes > peak.key.block_bytes);
    let fallen = |place: &&Place| {
        let ratio = ratio(place, peak, arm, (seed, command))?;
        let is_fall = ratio.outcome == Outcome::Slower && ratio.ratio < SHARE_MAX;
        is_fall.then_some(Fallen {
            block_bytes: place.key.block_bytes,
            mb_per_s: speed(place)?,
            ratio,
        })
    };
    let fallen: Vec<_> = beyond.filter_map(fallen).collect();
    (!fallen.is_empty()).then_some(Fall {
        placement,
        kind,
        arm,
        peak_bytes: peak.key.block_bytes,
        peak_mb_per_s: speed(peak)?,
        fallen,
    })
}

/// One place's speed against another's, over the rounds that have both.
fn ratio(
    place: &Place,
    peak: &Place,
    arm: Arm,
    (seed, command): (u64, &str),
) -> Option<Comparison> {
    let name = |place: &Place| format!("{}, {}", arm, size(place.key.block_bytes));
    let pairs = place
        .arm(&arm)?
        .pairs(peak.arm(&arm)?, |window| window.requests_per_s(0));
    let scaled = |(own, peaks): (f64, f64)| {
        let bytes = |rate: f64, place: &Place| rate * place.key.block_bytes as f64 / 1e6;
        (bytes(own, place), bytes(peaks, peak))
    };
    let arms = Arms {
        subject: format!("{}, {}", what(place.key.kind), on(place.key.placement)),
        arm: name(place),
        reference: name(peak),
        metric: "speed_mb_per_s".to_owned(),
        command: command.to_owned(),
    };
    let pairs = pairs.into_iter().map(scaled).collect();
    compare(arms, Direction::Higher, pairs, seed).ok()
}

#[cfg(test)]
mod tests {
    use crypto::{Algorithm, Operation};
    use policy::Counters;

    use super::*;
    use crate::vcm::block_size::grid::Spot;
    use kit::load::cell::{Cell, Series, Trial};
    use kit::load::rig::{Facts, Load, Share, Window};

    const LINE: (Placement, Kind) = (
        Placement::Shared,
        Kind {
            algorithm: Algorithm::Aes128Cbc,
            operation: Operation::Encrypt,
        },
    );

    /// A place whose speed is planted, with so much noise.
    fn place(block_bytes: usize, mb_per_s: f64, noise: f64) -> Place {
        let trial = |round: usize| {
            let wave = 1.0 + noise * ((round % 3) as f64 - 1.0);
            let requests = mb_per_s * wave * 1e6 / block_bytes as f64;
            let counters = Counters {
                requests: requests as u64,
                ..Counters::default()
            };
            let window = Window {
                seconds: 1.0,
                tenants: vec![Share {
                    counters,
                    ..Share::default()
                }],
                ..Window::default()
            };
            let facts = Facts::default();
            (round, Trial { window, facts })
        };
        let series = Series {
            trials: (0..9).map(trial).collect(),
        };
        Cell {
            key: Spot {
                placement: LINE.0,
                kind: LINE.1,
                block_bytes,
            },
            bench: 0,
            load: Load::closed(0, 1),
            label: String::new(),
            in_flight_bytes: 0,
            arms: vec![(Arm::EACH, series)],
        }
    }

    fn planted(speeds: &[f64], noise: f64) -> Option<Fall> {
        let sizes = (0..speeds.len()).map(|index| 512 << index);
        let cells: Vec<_> = sizes
            .zip(speeds)
            .map(|(bytes, &speed)| place(bytes, speed, noise))
            .collect();
        fall(&cells, LINE, Arm::EACH, (1, ""))
    }

    #[test]
    fn a_planted_fall_is_found_with_its_peak() {
        let found = planted(&[100.0, 200.0, 400.0, 380.0, 300.0], 0.01).unwrap();
        assert_eq!(found.peak_bytes, 2048);
        assert_eq!(found.fallen.len(), 2);
        let deepest = found.deepest().unwrap();
        assert_eq!(deepest.block_bytes, 8192);
        assert!((deepest.ratio.ratio - 0.75).abs() < 0.03);
    }

    #[test]
    fn rising_flat_and_noisy_lines_do_not_fall() {
        assert!(planted(&[100.0, 200.0, 300.0], 0.01).is_none());
        assert!(planted(&[100.0, 200.0, 198.0], 0.001).is_none());
        assert!(planted(&[], 0.0).is_none());
        assert!(planted(&[100.0], 0.0).is_none());
    }
}
