//! `lockgate run`

use std::time::Duration;

use lab::scenario::{self, Overrides, Scenario};
use lab::schedule::Wanted;
use trial::Section;

use crate::cli::RunArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::measure::{Job, measure};

pub fn run(arguments: &RunArguments, console: &Console) -> Result<Exit, Failure> {
    let overrides = Overrides {
        seed: arguments.measuring.seed,
        precision: arguments.measuring.precision,
        options: arguments.options.0.clone(),
    };
    let loaded = arguments
        .scenarios
        .iter()
        .map(|name| scenario::load(name, &overrides));
    let scenarios = loaded.collect::<Result<Vec<_>, _>>().or_usage()?;
    scenario::check_options(&scenarios, &overrides).or_usage()?;
    let job = join(scenarios, arguments.measuring.budget);
    measure(job, &arguments.measuring, &arguments.export, console)
}

/// Several scenarios are one job: their budgets add up unless one is given,
/// and a section that two of them configure alike runs once.
fn join(scenarios: Vec<Scenario>, budget: Option<Duration>) -> Job {
    let resolved: Vec<_> = scenarios.iter().map(Scenario::resolved).collect();
    let own: Duration = scenarios.iter().map(|scenario| scenario.budget).sum();
    let seed = scenarios
        .first()
        .map_or(scenario::DEFAULT_SEED, |scenario| scenario.seed);
    let budget = budget.unwrap_or(own);
    let scenario = match <[_; 1]>::try_from(resolved) {
        Ok([only]) => only,
        Err(several) => serde_json::json!({ "scenarios": several }),
    };
    Job {
        sections: distinct(scenarios, budget.div_duration_f64(own)),
        scenario,
        seed,
        budget,
    }
}

/// Each of a budget that is `scale` times their common wish.
fn distinct(scenarios: Vec<Scenario>, scale: f64) -> Vec<Wanted> {
    let mut sections: Vec<Wanted> = vec![];
    let within = |scenario: Scenario| {
        let share = scenario.budget.mul_f64(scale);
        scenario.within(share)
    };
    for wanted in scenarios.into_iter().flat_map(within) {
        let is_same = |other: &Wanted| alike(other.section.as_ref(), wanted.section.as_ref());
        if !sections.iter().any(is_same) {
            sections.push(wanted);
        }
    }
    sections
}

fn alike(a: &dyn Section, b: &dyn Section) -> bool {
    a.name() == b.name() && a.resolved() == b.resolved()
}
