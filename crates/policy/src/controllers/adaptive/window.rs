//! Two spans of time, compared as well as their noise allows.

pub(super) const LOOKS_MIN: u32 = 3;
const REMEMBERED: u32 = 32;
const NOTHING: f64 = 0.02;
const ERRORS: f64 = 2.5;
const FAR_BELOW: f64 = 0.9;
/// A core's time saved by less than this part is not worth a wait.
const SAVED_MIN: f64 = 0.04;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    looks: u32,
    mean: f64,
    squares: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Better,
    Worse,
    Open,
    Same,
}

impl Window {
    pub(super) fn add(&mut self, value: f64) {
        if self.looks == REMEMBERED {
            self.looks -= 1;
            self.squares *= f64::from(self.looks) / f64::from(REMEMBERED);
        }
        self.looks += 1;
        let from_mean = value - self.mean;
        self.mean += from_mean / f64::from(self.looks);
        self.squares += from_mean * (value - self.mean);
    }

    pub(super) fn looks(&self) -> u32 {
        self.looks
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    fn error(&self) -> f64 {
        if self.looks < 2 {
            return f64::INFINITY;
        }
        let looks = f64::from(self.looks);
        (self.squares / (looks - 1.0) / looks).max(0.0).sqrt()
    }

    pub(super) fn spread(&self) -> f64 {
        if self.looks < 2 {
            return self.mean;
        }
        2.0 * (self.squares / f64::from(self.looks - 1)).max(0.0).sqrt()
    }

    /// By which part this is above `base`, and the error of that.
    fn above(&self, base: &Self) -> (f64, f64) {
        if base.mean <= 0.0 {
            return (0.0, f64::INFINITY);
        }
        let error = self.error().hypot(base.error()) / base.mean;
        (self.mean / base.mean - 1.0, ERRORS * error)
    }
}

/// Speed, and the core's time for one request, over one span.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) speed: Window,
    pub(super) cost: Window,
}

impl Span {
    pub(super) fn looks(&self) -> u32 {
        self.speed.looks()
    }

    /// Whether a speed is far below the usual: by a good part, and more than
    /// the usual spread of one look.
    pub(super) fn is_far_below(&self, base: &Self) -> bool {
        let (speed, usual) = (&self.speed, &base.speed);
        self.looks() > 0 && speed.mean() < FAR_BELOW * usual.mean() - usual.spread()
    }

    pub(super) fn against(&self, base: &Self) -> Verdict {
        if self.looks() < LOOKS_MIN || base.looks() < LOOKS_MIN {
            return Verdict::Open;
        }
        let (faster, doubt) = self.speed.above(&base.speed);
        if faster > doubt.max(NOTHING) {
            return Verdict::Better;
        }
        if faster < -doubt.max(NOTHING) {
            return Verdict::Worse;
        }
        if doubt > 2.0 * NOTHING {
            return Verdict::Open;
        }
        let (dearer, doubt) = self.cost.above(&base.cost);
        if dearer < -doubt.max(SAVED_MIN) {
            Verdict::Better
        } else if doubt > SAVED_MIN && dearer < 0.0 {
            Verdict::Open
        } else {
            Verdict::Same
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(speeds: &[f64], cost: f64) -> Span {
        let mut span = Span::default();
        for &speed in speeds {
            span.speed.add(speed);
            span.cost.add(cost);
        }
        span
    }

    #[test]
    fn says_what_the_noise_allows() {
        let base = span(&[100.0, 101.0, 99.0, 100.0], 5.0);
        let verdict = |speeds: &[f64], cost| span(speeds, cost).against(&base);
        assert_eq!(verdict(&[110.0, 111.0, 109.0], 5.0), Verdict::Better);
        assert_eq!(verdict(&[90.0, 91.0, 89.0], 1.0), Verdict::Worse);
        assert_eq!(verdict(&[100.0, 101.0, 100.0], 5.0), Verdict::Same);
        assert_eq!(verdict(&[100.0, 101.0, 100.0], 4.0), Verdict::Better);
        assert_eq!(verdict(&[130.0, 70.0, 120.0], 5.0), Verdict::Open);
        assert_eq!(verdict(&[110.0, 110.0], 5.0), Verdict::Open, "too few");
    }

    #[test]
    fn nothing_compares_with_nothing() {
        let nothing = span(&[0.0; 5], 0.0);
        assert_eq!(nothing.against(&nothing), Verdict::Open);
    }
}
