//! How often a comparison claims what is not so, and how often it finds what is,
//! on simulated hosts. Arms are measured as sections measure them: each once a
//! round, their order drawn by lot, until a look finds the interval narrow or the
//! most rounds are done.

use lockgate_trial as trial;
use trial::stats::{Decision, ERROR, Looks, Precision, Random};
use trial::{Comparison, Outcome};

use crate::properties::{compare_at, normal};

#[derive(Clone, Copy, Debug)]
enum Host {
    Steady,
    /// It has two speeds, the second a factor of 1.6, and stays in one for 12
    /// trials on average: this project's own.
    TwoStates,
    /// It becomes slower by 2% a trial.
    Drifting,
    /// Each trial's speed keeps 0.95 of how far the last one's was off.
    Correlated,
    All,
}

const HOSTS: [Host; 5] = [
    Host::Steady,
    Host::TwoStates,
    Host::Drifting,
    Host::Correlated,
    Host::All,
];

/// Spread of one trial's speed, beside what the host does.
const SPREAD: f64 = 0.03;
/// Arms of a round: the two that are compared, and others.
const ARMS: usize = 4;

struct Clock {
    host: Host,
    random: Random,
    trials: f64,
    is_slow: bool,
    correlated: f64,
}

impl Clock {
    fn new(host: Host, seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self {
            host,
            is_slow: random.unit() < 0.5,
            random,
            trials: 0.0,
            correlated: 0.0,
        }
    }

    fn tick(&mut self) -> f64 {
        self.trials += 1.0;
        if self.random.unit() < 1.0 / 12.0 {
            self.is_slow = !self.is_slow;
        }
        self.correlated = 0.95 * self.correlated + 0.03 * normal(&mut self.random);
        let states = if self.is_slow { -(1.6_f64.ln()) } else { 0.0 };
        let drift = -0.02 * self.trials;
        let host = match self.host {
            Host::Steady => 0.0,
            Host::TwoStates => states,
            Host::Drifting => drift,
            Host::Correlated => self.correlated,
            Host::All => states + drift + self.correlated,
        };
        host + SPREAD * normal(&mut self.random)
    }

    /// Both arms' speeds of a round, with the true `ratio`; in the order of the list
    /// unless shuffled.
    fn round(&mut self, ratio: f64, is_shuffled: bool) -> (f64, f64) {
        let mut order: Vec<usize> = (0..ARMS).collect();
        if is_shuffled {
            self.random.shuffle(&mut order);
        }
        let mut speeds = [1.0; ARMS];
        for arm in order {
            speeds[arm] = self.tick().exp();
        }
        (ratio * speeds[0], speeds[1])
    }
}

fn compare(pairs: &[(f64, f64)], error: f64) -> Comparison {
    compare_at(pairs.to_vec(), error).expect("all are positive")
}

/// Of this many rounds in drawn order.
fn fixed(host: Host, seed: u64, ratio: f64, rounds: usize) -> Comparison {
    let mut clock = Clock::new(host, seed);
    let pairs: Vec<_> = (0..rounds).map(|_| clock.round(ratio, true)).collect();
    compare(&pairs, ERROR)
}

fn until_narrow(clock: &mut Clock, ratio: f64, is_shuffled: bool) -> Comparison {
    const ROUNDS_MAX: usize = 60;
    let rule = Precision::new(0.02, ROUNDS_MAX);
    let mut pairs = Vec::new();
    loop {
        pairs.push(clock.round(ratio, is_shuffled));
        let rounds = pairs.len();
        if Looks::is_at(rounds) {
            let look = compare(&pairs, Looks::of_a_look());
            if rule.decide(std::slice::from_ref(&look)) == Decision::Enough {
                return look;
            }
        }
        if rounds == ROUNDS_MAX {
            return compare(&pairs, Looks::of_the_end(rounds));
        }
    }
}

fn claims(runs: u64, run: impl Fn(u64) -> Comparison) -> f64 {
    let claimed = (0..runs).filter(|&seed| run(seed).outcome != Outcome::NoEvidence);
    claimed.count() as f64 / runs as f64
}

fn runs() -> u64 {
    u64::from(testing::cases(4_000, 40_000))
}

/// A share that is really `ERROR` is hardly ever above this.
fn limit(runs: u64) -> f64 {
    ERROR + 3.0 * (ERROR * (1.0 - ERROR) / runs as f64).sqrt()
}

#[test]
fn false_claims_are_one_in_twenty_at_most_whatever_the_host_does() {
    let limit = limit(runs());
    for host in HOSTS {
        for pairs in [6, 9, 15] {
            let share = claims(runs(), |seed| fixed(host, seed, 1.0, pairs));
            println!("{host:?}, {pairs} pairs: {:.2}%", share * 100.0);
            assert!(share <= limit, "{host:?}, {pairs} pairs: {share}");
        }
    }
}

#[test]
fn false_claims_are_one_in_twenty_at_most_where_widths_end_it() {
    let limit = limit(runs());
    for host in HOSTS {
        let share = claims(runs(), |seed| {
            until_narrow(&mut Clock::new(host, seed), 1.0, true)
        });
        println!("{host:?}, until narrow: {:.2}%", share * 100.0);
        assert!(share <= limit, "{host:?}: {share}");
    }
}

/// The same hosts do cause false claims without shuffling: otherwise the tests above
/// would show nothing.
#[test]
fn without_drawing_lots_a_drifting_host_makes_false_claims() {
    let share = claims(500, |seed| {
        until_narrow(&mut Clock::new(Host::Drifting, seed), 1.0, false)
    });
    assert!(share > 0.15, "{share}");
}

/// Looking after every round, at the full error, ends by chance: the looks prevent
/// that.
#[test]
fn looking_after_every_round_would_miss_more_often() {
    let share = claims(2_000, |seed| {
        let mut clock = Clock::new(Host::Steady, seed);
        let rule = Precision::new(0.02, 60);
        let mut pairs: Vec<_> = (0..8).map(|_| clock.round(1.0, true)).collect();
        loop {
            pairs.push(clock.round(1.0, true));
            let look = compare(&pairs, ERROR);
            if rule.decide(std::slice::from_ref(&look)) != Decision::More {
                return look;
            }
        }
    });
    assert!(share > limit(2_000), "{share}");
}

#[test]
fn a_tenth_more_is_found_from_nine_pairs_of_a_steady_host() {
    for ratio in [1.10, 1.0 / 1.10] {
        let share = claims(2_000, |seed| fixed(Host::Steady, seed, ratio, 9));
        println!("{ratio:.2}: found in {:.1}%", share * 100.0);
        assert!(share >= 0.8, "{ratio}: {share}");
    }
}

/// The interval holds the truth as often as its confidence says, at few pairs too.
#[test]
fn confidence_is_as_it_is() {
    for pairs in [3, 5, 6, 9, 20] {
        let runs = 4_000;
        let said = fixed(Host::All, 0, 1.3, pairs).confidence;
        let is_held = |seed: &u64| {
            let found = fixed(Host::All, *seed, 1.3, pairs);
            found.low <= 1.3 && 1.3 <= found.high
        };
        let share = (0..runs).filter(is_held).count() as f64 / runs as f64;
        let error = 4.0 * (said * (1.0 - said) / runs as f64).sqrt();
        let is_right = (share - said).abs() <= error;
        assert!(is_right, "{pairs} pairs: {share}, said {said}");
    }
}
