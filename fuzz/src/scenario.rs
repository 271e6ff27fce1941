//! A scenario file, down to the tables of its sections, and a budget.

use std::time::Duration;

use lab::budget::{Appetite, BUDGET_MAX, Share, parse_budget, share};
use lab::scenario::{Overrides, parse};
use trial::Section;

/// Parses the bytes as a budget and as a scenario; one that is accepted can
/// say what it resolved to and how long it wants to measure.
pub fn scenario(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match parse_budget(text) {
        Ok(budget) => assert!(!budget.is_zero() && budget <= BUDGET_MAX),
        Err(error) => assert!(error.to_string().contains(text)),
    }
    for seed in [None, Some(u64::MAX)] {
        match parse(
            "fuzzed",
            "fuzzed.toml",
            text,
            &Overrides {
                seed,
                ..Overrides::default()
            },
        ) {
            Ok(scenario) => {
                assert!(scenario.resolved()["sections"].is_object());
                assert!(!scenario.sections.is_empty() && !scenario.budget.is_zero());
                check(scenario.budget, &scenario.sections);
            }
            Err(error) => assert!(error.to_string().contains("fuzzed.toml"), "{error}"),
        }
    }
}

fn check(budget: Duration, sections: &[Box<dyn Section>]) {
    let sections = sections.iter().filter(|section| {
        assert!(!section.command().is_empty());
        // One that measures peers starts them to learn whether they are there.
        section.resolved()["peers"] != true
    });
    let appetites: Vec<_> = sections
        .map(|section| Appetite::of(section.as_ref()))
        .collect();
    let shares = share(budget, &appetites).into_iter();
    let granted = shares.map(|share| match share {
        Share::Granted(granted) => granted,
        Share::Refused { .. } => Duration::ZERO,
    });
    assert!(granted.sum::<Duration>() <= budget);
}
