//! What a notification, a request and a byte cost here, from what was seen.

/// Each look counts by this much less than the next: half in about a second
/// and a half of looks.
const FORGET: f64 = 0.995;
/// How much the guess below counts, beside one look at a busy core: enough
/// to decide what the looks leave open, too little to weigh against them.
const GUESS_WEIGHT: f64 = 1e-4;
/// A residual this many times the usual one counts less.
const ODD: f64 = 3.0;
/// Rates are in units of these, so that a busy core has about one of each.
const PER_US: f64 = 1e-3;
const UNIT_BYTES: f64 = 4096.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    pub notification_ns: f64,
    pub request_ns: f64,
    pub byte_ns: f64,
}

impl Prices {
    /// Before anything is seen: about what an eventfd and a fast cipher cost.
    pub(super) const GUESS: Self = Self {
        notification_ns: 1000.0,
        request_ns: 300.0,
        byte_ns: 0.1,
    };

    /// c + t·B: a request of that many bytes, ns.
    pub fn work_ns(&self, block_bytes: f64) -> f64 {
        self.request_ns + self.byte_ns * block_bytes
    }
}

/// Fits the prices to busy = T·I + c·N + t·V (the VCM paper's (1)–(3), with a price
/// per request besides the one per byte): least squares that forgets, with no price
/// below zero. It keeps sums of products rather than an inverse, so that a long time
/// of the same load spoils nothing.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    products: [[f64; 3]; 3],
    answers: [f64; 3],
    prices: Prices,
    usual: f64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) notifications_per_s: f64,
    pub(super) requests_per_s: f64,
    pub(super) bytes_per_s: f64,
    pub(super) busy: f64,
}

impl Default for Fit {
    fn default() -> Self {
        let mut fit = Self {
            products: [[0.0; 3]; 3],
            answers: [0.0; 3],
            prices: Prices::GUESS,
            usual: 0.0,
        };
        fit.guess();
        fit
    }
}

impl Fit {
    pub(super) fn prices(&self) -> Prices {
        self.prices
    }

    pub(super) fn see(&mut self, load: &Load) {
        let row = [
            load.notifications_per_s * PER_US * 1e-3,
            load.requests_per_s * PER_US * 1e-3,
            load.bytes_per_s * PER_US * 1e-3 / UNIT_BYTES,
        ];
        if !(load.busy > 0.0 && row.iter().all(|it| it.is_finite()) && row[1] > 0.0) {
            return;
        }
        let weight = self.weight(row, load.busy);
        self.products
            .iter_mut()
            .flatten()
            .for_each(|it| *it *= FORGET);
        self.answers.iter_mut().for_each(|it| *it *= FORGET);
        self.add(row, load.busy, weight);
        self.guess();
        self.prices = from_units(solve(&self.products, &self.answers));
    }

    /// 1, or less where it is unlike everything before: a scheduler's gap, a
    /// counter that was read late.
    fn weight(&mut self, row: [f64; 3], busy: f64) -> f64 {
        let expected: f64 = row
            .iter()
            .zip(to_units(self.prices))
            .map(|(x, b)| x * b)
            .sum();
        let residual = (busy - expected).abs();
        let limit = ODD * self.usual;
        self.usual += 0.1 * (residual.min(limit.max(1e-3)) - self.usual);
        if residual > limit && limit > 0.0 {
            limit / residual
        } else {
            1.0
        }
    }

    fn add(&mut self, row: [f64; 3], answer: f64, weight: f64) {
        for i in 0..3 {
            for j in 0..3 {
                self.products[i][j] += weight * row[i] * row[j];
            }
            self.answers[i] += weight * row[i] * answer;
        }
    }

    /// The guess, as looks that see one price alone. As many as were forgotten, so
    /// that its weight stays.
    fn guess(&mut self) {
        let is_first = self.products[0][0] == 0.0;
        let weight = if is_first { 1.0 } else { 1.0 - FORGET } * GUESS_WEIGHT;
        for (at, price) in to_units(Prices::GUESS).into_iter().enumerate() {
            let mut row = [0.0; 3];
            row[at] = 1.0;
            self.add(row, price, weight);
        }
    }
}

fn to_units(prices: Prices) -> [f64; 3] {
    [
        prices.notification_ns * PER_US,
        prices.request_ns * PER_US,
        prices.byte_ns * PER_US * UNIT_BYTES,
    ]
}

fn from_units(units: [f64; 3]) -> Prices {
    Prices {
        notification_ns: units[0] / PER_US,
        request_ns: units[1] / PER_US,
        byte_ns: units[2] / PER_US / UNIT_BYTES,
    }
}

/// The least squares among prices that are not below zero: of all choices
/// which of the three are zero, the best that is feasible.
fn solve(products: &[[f64; 3]; 3], answers: &[f64; 3]) -> [f64; 3] {
    let feasible = (0..8_u8)
        .map(|free| solve_free(products, answers, free))
        .filter(|prices| prices.iter().all(|it| *it >= 0.0 && it.is_finite()));
    feasible
        .min_by(|one, other| {
            loss(products, answers, one).total_cmp(&loss(products, answers, other))
        })
        .unwrap_or_default()
}

/// xᵀAx − 2bᵀx: the sum of squares, but for a constant.
fn loss(products: &[[f64; 3]; 3], answers: &[f64; 3], prices: &[f64; 3]) -> f64 {
    let row = |i: usize| -> f64 { (0..3).map(|j| products[i][j] * prices[j]).sum() };
    (0..3)
        .map(|i| prices[i] * (row(i) - 2.0 * answers[i]))
        .sum()
}

fn solve_free(products: &[[f64; 3]; 3], answers: &[f64; 3], free: u8) -> [f64; 3] {
    let is_free = |i: usize| free & 1 << i != 0;
    let (mut a, mut b) = (*products, *answers);
    for i in (0..3).filter(|&i| !is_free(i)) {
        a[i] = [0.0; 3];
        (0..3).for_each(|j| a[j][i] = 0.0);
        (a[i][i], b[i]) = (1.0, 0.0);
    }
    for i in 0..3 {
        for j in i + 1..3 {
            let factor = a[j][i] / a[i][i];
            (0..3).for_each(|k| a[j][k] -= factor * a[i][k]);
            b[j] -= factor * b[i];
        }
    }
    let mut x = [0.0; 3];
    for i in (0..3).rev() {
        let known: f64 = (i + 1..3).map(|j| a[i][j] * x[j]).sum();
        x[i] = (b[i] - known) / a[i][i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUE: Prices = Prices {
        notification_ns: 650.0,
        request_ns: 120.0,
        byte_ns: 0.09,
    };

    fn load(depth: f64, block_bytes: f64) -> Load {
        let requests_per_s = 1e9 / (TRUE.work_ns(block_bytes) + TRUE.notification_ns / depth);
        Load {
            notifications_per_s: requests_per_s / depth,
            requests_per_s,
            bytes_per_s: requests_per_s * block_bytes,
            busy: 1.0,
        }
    }

    fn near(found: f64, expected: f64, part: f64) -> bool {
        (found - expected).abs() <= part * expected
    }

    #[test]
    fn finds_the_prices_once_the_load_has_varied() {
        let mut fit = Fit::default();
        for i in 0..300 {
            let depth = [1.0, 8.0, 64.0][i % 3];
            fit.see(&load(depth, [64.0, 4096.0, 16_384.0][i / 3 % 3]));
        }
        let found = fit.prices();
        assert!(near(found.notification_ns, 650.0, 0.05), "{found:?}");
        assert!(near(found.request_ns, 120.0, 0.1), "{found:?}");
        assert!(near(found.byte_ns, 0.09, 0.05), "{found:?}");
    }

    #[test]
    fn one_load_for_ever_leaves_prices_that_explain_it() {
        let mut fit = Fit::default();
        let only = load(8.0, 1024.0);
        (0..100_000).for_each(|_| fit.see(&only));
        let found = fit.prices();
        let explained = found.work_ns(1024.0) + found.notification_ns / 8.0;
        assert!(
            near(explained, 1e9 / only.requests_per_s, 0.02),
            "{found:?}"
        );
        assert!(found.notification_ns >= 0.0 && found.byte_ns >= 0.0);
    }

    #[test]
    fn no_price_is_negative_whatever_is_seen() {
        let mut fit = Fit::default();
        for i in 0..1000_u32 {
            let wild = f64::from(i.wrapping_mul(2_654_435_761) >> 8);
            fit.see(&Load {
                notifications_per_s: wild,
                requests_per_s: 1e9 / (wild + 1.0),
                bytes_per_s: wild * wild,
                busy: 1.0 / (1.0 + wild),
            });
            let Prices {
                notification_ns,
                request_ns,
                byte_ns,
            } = fit.prices();
            for price in [notification_ns, request_ns, byte_ns] {
                assert!(price >= 0.0 && price.is_finite(), "{i}: {price}");
            }
        }
    }

    #[test]
    fn one_odd_look_moves_little() {
        let mut fit = Fit::default();
        (0..200).for_each(|i| fit.see(&load([2.0, 32.0][i % 2], [512.0, 8192.0][i / 2 % 2])));
        let before = fit.prices();
        fit.see(&Load {
            busy: 0.05,
            ..load(8.0, 1024.0)
        });
        let after = fit.prices();
        assert!(
            near(after.request_ns, before.request_ns, 0.1),
            "{before:?} {after:?}"
        );
        assert!(near(after.notification_ns, before.notification_ns, 0.1));
    }
}
