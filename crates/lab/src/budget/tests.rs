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

#[test]
fn what_remains_is_shared_in_proportion() {
    let shares = share(
        s(100),
        &[(s(10), s(50)), (s(20), s(80)), (s(0), s(0))].map(of),
    );
    // 70 s remain for wishes of 40 and 60.
    assert_eq!(
        shares,
        [38, 62, 0].map(|seconds| Share::Granted(s(seconds)))
    );
}

#[test]
fn an_unbounded_appetite_is_the_budget() {
    let shares = share(
        s(90),
        &[(s(1), Duration::MAX), (s(1), Duration::MAX)].map(of),
    );
    assert_eq!(shares, [Share::Granted(s(45)); 2]);
}

#[test]
fn the_one_that_does_not_fit_is_refused_with_its_figures() {
    let shares = share(
        s(30),
        &[(s(20), s(20)), (s(15), s(60)), (s(5), s(5))].map(of),
    );
    assert_eq!(
        shares,
        [
            Share::Granted(s(20)),
            Share::Refused {
                needed: s(15),
                left: s(5)
            },
            Share::Granted(s(5))
        ]
    );
}

#[test]
fn one_whose_least_does_not_fit_is_given_what_is_left_from_its_minimum_on() {
    let wide = Appetite {
        minimum: s(2),
        least: s(40),
        most: s(60),
    };
    assert_eq!(share(s(5), &[wide]), [Share::Granted(s(5))]);
    let shares = share(s(30), &[of((s(20), s(20))), wide]);
    assert_eq!(shares, [Share::Granted(s(20)), Share::Granted(s(10))]);
    let refused = Share::Refused {
        needed: s(2),
        left: s(1),
    };
    assert_eq!(share(s(1), &[wide]), [refused]);
}

#[test]
fn nobody_gets_more_than_asked() {
    assert_eq!(
        share(s(180), &[(s(1), s(10))].map(of)),
        [Share::Granted(s(10))]
    );
}

#[test]
fn budgets_are_read_in_seconds_minutes_hours() {
    assert_eq!(parse_budget("90"), Ok(s(90)));
    assert_eq!(parse_budget("90s"), Ok(s(90)));
    assert_eq!(parse_budget("3m"), Ok(s(180)));
    assert_eq!(parse_budget("1.5m"), Ok(s(90)));
    assert_eq!(parse_budget("2h"), Ok(s(7200)));
    for text in [
        "",
        "s",
        "ten",
        "3 parsecs",
        "1_000",
        "90é",
        "0",
        "-3",
        "inf",
        "NaN",
        "1e300",
        "25h",
    ] {
        let error = parse_budget(text).unwrap_err().to_string();
        assert!(error.contains(text) && error.contains("86400"), "{error}");
    }
}
