//! What hiding a feature costs, from a run that measured it.

use std::path::Path;

use cpu::guest::{Mix, Prices};
use lab::store::{LATEST, beside, load, load_file};
use trial::{Dimension, Point, Run, Validity};

use crate::exit::{Exit, Failure, OrExit};

const SECTION: &str = "cpu-tiers";
/// So many runs are looked into for prices.
const RUNS_MAX: usize = 20;

/// A mix, and prices of all its work: of the run named; of the newest that has them;
/// else those that come with Lockgate.
pub fn priced(mix: &str, named: Option<&str>, runs: &Path) -> Result<(Mix, Prices), Failure> {
    let own = parsed(mix)?;
    let prices_all = |prices: &Prices| unpriced(&own, prices).next().is_none();
    if let Some(name) = named {
        let prices = of(&load(name, runs).or_usage()?);
        return match prices.filter(|prices| prices_all(prices)) {
            Some(prices) => Ok((own, prices)),
            None => {
                let text = format!(
                    "the run '{name}' does not price all work of the mix '{mix}'; `lockgate cpu price` measures every price, and without --prices another run may have them"
                );
                Err(Failure::new(Exit::Usage, text))
            }
        };
    }
    let mut files = beside(LATEST, runs).unwrap_or_default();
    files.sort();
    let latest = load(LATEST, runs).ok().into_iter();
    let older = files.into_iter().rev().take(RUNS_MAX);
    let all = latest.chain(older.filter_map(|file| load_file(&file).ok()));
    let measured = all.filter_map(|run| of(&run)).find(prices_all);
    let prices = measured.unwrap_or_else(Prices::bundled);
    let lacking: Vec<_> = unpriced(&own, &prices).collect();
    if !lacking.is_empty() {
        let known: Vec<_> = prices.works.keys().map(String::as_str).collect();
        let what = format!("'{}' has no price", lacking.join("', '"));
        let text = format!("{}; priced is: {}", wrong(mix, &what), known.join(", "));
        return Err(Failure::new(Exit::Usage, text));
    }
    Ok((own, prices))
}

fn unpriced<'m>(mix: &'m Mix, prices: &'m Prices) -> impl Iterator<Item = &'m str> {
    let works = mix.0.iter().map(|(work, _)| work.as_str());
    works.filter(|work| !prices.works.contains_key(*work))
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

fn wrong(mix: &str, what: &str) -> String {
    let names: Vec<_> = Mix::names().collect();
    format!(
        "--mix {mix}: {what}; give {}, or shares of a core's time between 0 and 1 that are 1 at most together, such as 'sha256 hash=0.1'",
        names.join(", ")
    )
}

/// A mix by its name, or shares of work.
fn parsed(text: &str) -> Result<Mix, Failure> {
    let wrong = |what: String| Failure::new(Exit::Usage, wrong(text, &what));
    if let Some(own) = Mix::named(text) {
        return Ok(own);
    }
    let mut own = Mix::default();
    for part in text.split(',') {
        let pair = part.split_once('=');
        let (work, share) = pair.ok_or_else(|| wrong(format!("'{part}' is no share")))?;
        let number = share
            .parse()
            .ok()
            .filter(|share| (0.0..=1.0).contains(share));
        let number = number.ok_or_else(|| wrong(format!("'{share}' is no share")))?;
        own.0.push((work.to_owned(), number));
    }
    let all: f64 = own.0.iter().map(|(_, share)| share).sum();
    match all <= 1.0 + 1e-9 {
        true => Ok(own),
        false => Err(wrong(format!("the shares are {all} together"))),
    }
}
