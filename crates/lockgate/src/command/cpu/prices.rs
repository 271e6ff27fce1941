//! What hiding a feature costs, from a run that measured it.

use std::path::Path;

use cpu::guest::{Mix, Prices};
use lab::store::{LATEST, beside, load, load_file};
use trial::{Dimension, Point, Run, Validity};

use crate::exit::{Exit, Failure, OrExit};

const SECTION: &str = "cpu-tiers";
/// So many runs are looked into for prices.
const RUNS_MAX: usize = 20;

/// Of the run named; of the newest that has some; else those that come with Lockgate.
pub fn prices(named: Option<&str>, runs: &Path) -> Result<Prices, Failure> {
    if let Some(name) = named {
        let own = of(&load(name, runs).or_usage()?);
        return own.ok_or_else(|| {
            let text = format!(
                "the run '{name}' has no prices of CPU features; `lockgate cpu price` measures them"
            );
            Failure::new(Exit::Usage, text)
        });
    }
    let latest = load(LATEST, runs).ok();
    let newest = latest.as_ref().and_then(of);
    let older = || {
        let mut files = beside(LATEST, runs).unwrap_or_default();
        files.sort();
        let files = files.into_iter().rev().take(RUNS_MAX);
        files.filter_map(|file| of(&load_file(&file).ok()?)).next()
    };
    Ok(newest.or_else(older).unwrap_or_else(Prices::bundled))
}

fn of(run: &Run) -> Option<Prices> {
    let sections = run.sections.iter().filter(|own| own.name == SECTION);
    let points = sections.flat_map(|own| &own.points);
    let rates: Vec<_> = points.filter_map(rate).collect();
    let origin = format!("measured on {}, {}", run.host, run.started_utc);
    let rates = rates
        .iter()
        .map(|(work, tier, rate)| (&**work, &**tier, *rate));
    let own = Prices::from_rates(&origin, rates);
    (!own.works.is_empty()).then_some(own)
}

/// The work, what the process was shown, and how much of it a second.
fn rate(point: &Point) -> Option<(String, String, f64)> {
    let of = |name: &str| point.dimensions.get(name).map(Dimension::to_string);
    let pair = |left, right| Some(format!("{} {}", of(left)?, of(right)?));
    let work = pair("algorithm", "operation").or_else(|| pair("disk_mode", "direction"))?;
    let is_valid = point.verdict.validity == Validity::Valid;
    let rate = point.metric("requests_per_s").filter(|_| is_valid)?;
    Some((work, of("tier")?, rate.value))
}

/// A mix by its name, or shares of work.
pub fn mix(text: &str, prices: &Prices) -> Result<Mix, Failure> {
    let wrong = |what: String| {
        let works: Vec<_> = prices.works.keys().map(String::as_str).collect();
        let names: Vec<_> = Mix::names().collect();
        let text = format!(
            "--mix {text}: {what}; give {}, or shares of a core's time between 0 and 1 that are 1 at most together, such as 'sha256 hash=0.1'; priced is: {}",
            names.join(", "),
            works.join(", ")
        );
        Failure::new(Exit::Usage, text)
    };
    if let Some(own) = Mix::named(text) {
        return Ok(own);
    }
    let mut own = Mix::default();
    for part in text.split(',') {
        let pair = part.split_once('=');
        let (work, share) = pair.ok_or_else(|| wrong(format!("'{part}' is no share")))?;
        if !prices.works.contains_key(work) {
            return Err(wrong(format!("'{work}' has no price")));
        }
        let share: f64 = share
            .parse()
            .ok()
            .filter(|share| (0.0..=1.0).contains(share))
            .ok_or_else(|| wrong(format!("'{share}' is no share")))?;
        own.0.push((work.to_owned(), share));
    }
    let all: f64 = own.0.iter().map(|(_, share)| share).sum();
    match all <= 1.0 {
        true => Ok(own),
        false => Err(wrong(format!("the shares are {all} together"))),
    }
}
