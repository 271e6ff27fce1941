//! When a worker that could do many requests at once waits for more of them.

/// Decides whether a worker waits for more requests before it begins a batch.
///
/// A multi-buffer kernel takes as long for half of its lanes as for all. A client
/// that keeps a lane full gets its completions all at once, and needs a moment to
/// submit again. A worker that begins with the first of them works at half its speed,
/// and stays so: one half of the requests is in its hands, the other on the way.
///
/// So it waits, for a part of the time that its work takes, until as many requests
/// are there as its kernel is wide or as came the last times. Whether that paid is
/// seen at once. The requests gained must be a larger part of those at hand than the
/// waiting time is of the working time. Where it did not pay, the next chances are
/// passed over, each time twice as many: a client that submits one and waits is
/// delayed once in a thousand requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gather {
    batch_ns: u64,
    usual: usize,
    /// Times that the usual number came since the last hope for more.
    content: u32,
    fruitless: u32,
    passing: u32,
    /// Batches since the last that was timed.
    untimed: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    pub until: usize,
    pub limit_ns: u64,
}

/// The longest wait, as a part of the time that the work takes.
const PART: u64 = 4;
/// The longest wait, ns.
const LIMIT_NS_MAX: u64 = 20_000;
const LIMIT_NS_MIN: u64 = 200;
const UNTIMED_MAX: u32 = 64;
/// How often more than the usual number is hoped for.
const HOPE_EVERY: u32 = 32;
/// Most chances passed over in a row: 2 to the power of this.
const FRUITLESS_MAX: u32 = 10;

impl Gather {
    /// Whether to wait, with `there` requests at hand and work for `width` at once;
    /// `None` means begin.
    pub fn begin(&mut self, there: usize, width: usize) -> Option<Patience> {
        let limit_ns = (self.batch_ns / PART).min(LIMIT_NS_MAX);
        let until = if self.usual == 0 {
            width
        } else {
            self.usual.min(width)
        };
        if there == 0 || limit_ns < LIMIT_NS_MIN {
            return None;
        }
        if there >= until {
            self.hope();
            return None;
        }
        if self.passing > 0 {
            self.passing -= 1;
            return None;
        }
        Some(Patience { until, limit_ns })
    }

    /// The wait is over: it had `before` requests at its begin and `after` at its
    /// end, `waited_ns` later.
    pub fn end(&mut self, patience: Patience, before: usize, after: usize, waited_ns: u64) {
        let gained = after.saturating_sub(before) as u64;
        let has_paid = gained * self.batch_ns > waited_ns * before as u64;
        if has_paid {
            self.fruitless = 0;
        } else {
            self.fruitless = (self.fruitless + 1).min(FRUITLESS_MAX);
            self.passing = 1 << self.fruitless;
        }
        if after < patience.until {
            self.usual = after;
        } else {
            self.hope();
        }
    }

    fn hope(&mut self) {
        self.content += 1;
        if self.content >= HOPE_EVERY {
            self.content = 0;
            self.usual = 0;
        }
    }

    /// Whether the next batch should be timed: short ones only now and then,
    /// since looking at the clock takes time too.
    pub fn wants_time(&mut self) -> bool {
        self.untimed += 1;
        self.batch_ns >= LIMIT_NS_MIN * PART || self.untimed >= UNTIMED_MAX
    }

    pub fn worked(&mut self, batch_ns: u64) {
        self.batch_ns = batch_ns;
        self.untimed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker whose kernel takes `batch_ns` for up to `width`, and a client
    /// that keeps `depth` in flight and takes `turn_ns` to submit again.
    /// Returns requests per microsecond.
    fn closed_loop(width: usize, depth: usize, batch_ns: u64, turn_ns: u64, waits: bool) -> f64 {
        let mut gather = Gather::default();
        let (mut now, mut done) = (0_u64, 0);
        // When each request in flight is there; half come late at first.
        let mut due: Vec<u64> = (0..depth)
            .map(|i| if i < depth / 2 { 0 } else { batch_ns / 2 })
            .collect();
        for _ in 0..20_000 {
            due.sort_unstable();
            now = now.max(due[0]);
            let there = |now: u64, due: &[u64]| due.iter().filter(|&&at| at <= now).count();
            let before = there(now, &due);
            if waits && let Some(patience) = gather.begin(before, width) {
                let begin = now;
                while there(now, &due) < patience.until && now - begin < patience.limit_ns {
                    now += 10;
                }
                gather.end(patience, before, there(now, &due), now - begin);
            }
            let count = there(now, &due).min(width);
            now += batch_ns;
            gather.worked(batch_ns);
            done += count;
            due[..count].iter_mut().for_each(|at| *at = now + turn_ns);
        }
        done as f64 * 1e3 / now as f64
    }

    #[test]
    fn two_halves_become_one_whole() {
        let speed = |waits| closed_loop(32, 30, 13_000, 1_500, waits);
        assert!(
            speed(true) > 1.6 * speed(false),
            "{} {}",
            speed(true),
            speed(false)
        );
        let best = 30.0 * 1e3 / (13_000.0 + 1_500.0);
        assert!(speed(true) > 0.97 * best, "{} of {best}", speed(true));
    }

    #[test]
    fn a_bad_start_is_not_for_ever() {
        let mut gather = Gather::default();
        gather.worked(13_000);
        let patience = gather.begin(10, 32).unwrap();
        gather.end(patience, 10, 15, patience.limit_ns);
        let until = |gather: &mut Gather| gather.begin(15, 32).map(|patience| patience.until);
        let hopes = (0..200).filter(|_| until(&mut gather) == Some(32)).count();
        assert!(hopes > 2, "{hopes}");
    }

    #[test]
    fn costs_next_to_nothing_where_it_cannot_pay() {
        for (width, depth, batch_ns, turn_ns) in [
            (32, 1, 10_000, 5_000),
            (32, 30, 13_000, 40_000),
            (32, 64, 13_000, 1_500),
            (32, 512, 300, 500),
            (8, 2, 2_000, 9_000),
        ] {
            let speed = |waits| closed_loop(width, depth, batch_ns, turn_ns, waits);
            assert!(
                speed(true) > 0.99 * speed(false),
                "{width} {depth} {batch_ns} {turn_ns}: {} {}",
                speed(true),
                speed(false)
            );
        }
    }

    #[test]
    fn never_waits_longer_than_a_part_of_the_work() {
        let mut gather = Gather::default();
        assert_eq!(gather.begin(1, 32), None, "nothing known");
        gather.worked(10_000);
        let patience = gather.begin(1, 32).unwrap();
        assert_eq!(
            patience,
            Patience {
                until: 32,
                limit_ns: 2_500
            }
        );
        gather.worked(10_000_000);
        assert_eq!(gather.begin(1, 32).unwrap().limit_ns, LIMIT_NS_MAX);
        assert_eq!(gather.begin(32, 32), None);
        assert_eq!(gather.begin(0, 32), None);
    }

    #[test]
    fn what_did_not_pay_is_tried_ever_less_often() {
        let mut gather = Gather::default();
        gather.worked(10_000);
        let mut waits = 0;
        for _ in 0..100_000 {
            if let Some(patience) = gather.begin(1, 32) {
                waits += 1;
                gather.end(patience, 1, 1, patience.limit_ns);
            }
        }
        assert!(waits < 120, "{waits}");
    }
}
