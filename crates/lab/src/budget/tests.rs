use std::time::Duration;

use proptest::prelude::*;

use crate::budget::{Appetite, Share, parse_budget, share};
use crate::testing::config;

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// One that is content with nothing less than its least.
fn of((least, most): (Duration, Duration)) -> Appetite {
    Appetite {
        minimum: least,
        least,
        most,
    }
}

fn appetites() -> impl Strategy<Value = Vec<Appetite>> {
    let nanos = || {
        let nanos = prop_oneof![Just(0), 0..2_000_000_000_000_u64, Just(u64::MAX)];
        nanos.prop_map(Duration::from_nanos)
    };
    let one = (nanos(), nanos(), nanos()).prop_map(|(minimum, least, most)| Appetite {
        minimum,
        least,
        most,
    });
    proptest::collection::vec(one, 0..12)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn shares_keep_every_promise(budget_ns in 0..3_000_000_000_000_u64, appetites in appetites()) {
        let budget = Duration::from_nanos(budget_ns);
        let shares = share(budget, &appetites);
        prop_assert_eq!(shares.len(), appetites.len());
        let mut sum = Duration::ZERO;
        let mut hungry = false;
        for (given, appetite) in shares.iter().zip(&appetites) {
            let Appetite { minimum, least, most } = *appetite;
            match *given {
                Share::Granted(granted) => {
                    prop_assert!(granted >= minimum);
                    prop_assert!(granted <= most.max(least).max(minimum));
                    sum += granted;
                    hungry |= granted < most;
                }
                Share::Refused { needed, left } => {
                    prop_assert_eq!(needed, minimum);
                    prop_assert!(needed > left);
                }
            }
        }
        prop_assert!(sum <= budget);
        // Nothing is wasted but the rounding of at most 1 ns a section.
        prop_assert!(!hungry || budget - sum <= Duration::from_nanos(12));
    }

    #[test]
    fn any_text_is_a_budget_or_an_error(text in ".{0,12}") {
        if let Ok(budget) = parse_budget(&text) {
            prop_assert!(!budget.is_zero() && budget <= crate::budget::BUDGET_MAX);
        }
    }
}

/// Each with what remains or what is lacking.
#[test]
fn shares_are_in_proportion_and_the_least_comes_first() {
    let granted = |seconds| Share::Granted(s(seconds));
    let refused = |needed, left| Share::Refused {
        needed: s(needed),
        left: s(left),
    };
    let fixed = |least, most| of((s(least), s(most)));
    let wide = Appetite {
        minimum: s(2),
        least: s(40),
        most: s(60),
    };
    let unbounded = of((s(1), Duration::MAX));
    for (name, budget_s, appetites, shares) in [
        (
            "70 s remain for wishes of 40 and 60",
            100,
            vec![fixed(10, 50), fixed(20, 80), fixed(0, 0)],
            vec![granted(38), granted(62), granted(0)],
        ),
        (
            "an unbounded appetite is the budget",
            90,
            vec![unbounded, unbounded],
            vec![granted(45), granted(45)],
        ),
        (
            "one that does not fit is refused, the next one fits",
            30,
            vec![fixed(20, 20), fixed(15, 60), fixed(5, 5)],
            vec![granted(20), refused(15, 5), granted(5)],
        ),
        ("from its minimum on", 5, vec![wide], vec![granted(5)]),
        (
            "what another leaves",
            30,
            vec![fixed(20, 20), wide],
            vec![granted(20), granted(10)],
        ),
        ("below its minimum", 1, vec![wide], vec![refused(2, 1)]),
        (
            "no more than its most",
            180,
            vec![fixed(1, 10)],
            vec![granted(10)],
        ),
    ] {
        assert_eq!(share(s(budget_s), &appetites), shares, "{name}");
    }
}

#[test]
fn budgets_are_read_in_seconds_minutes_hours() {
    for (text, seconds) in [
        ("90", 90),
        ("90s", 90),
        ("3m", 180),
        ("1.5m", 90),
        ("2h", 7200),
    ] {
        assert_eq!(parse_budget(text).expect(text), s(seconds), "{text}");
    }
    let wrong = "|s|ten|3 parsecs|1_000|90é|0|-3|inf|NaN|1e300|25h";
    for text in wrong.split('|') {
        let error = parse_budget(text).unwrap_err().to_string();
        assert!(error.contains(text) && error.contains("86400"), "{error}");
    }
}
