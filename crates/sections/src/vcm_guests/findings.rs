//! What tenants have of each other, in plain words.

use kit::fairness::{JAIN, Kept, LEAST_SHARE, SHARE};
use kit::guest::{emulated, is_emulated};
use kit::prelude::*;
use kit::words::{finding, percent};
use trial::{Standing, Weight};

use super::case::{Case, Home};
use super::{INTERRUPTS, Place, REQUESTS, SHARE_KEPT, VcmGuests, WORKER_CPU, Whose, at};

/// The worst that a hostile tenant did; without any, how equal ones share.
pub(super) fn answer(results: &Results<'_, VcmGuests>) -> Option<Answer> {
    let told = results.told_by(|one| {
        one.ratio.is_believed && one.pair.target.is_some() && one.pair.arm.0.home == Home::FrontEnd
    });
    let Some(kept) = Kept::of(told.iter().copied()) else {
        return equal(results, Home::FrontEnd).map(Answer::from);
    };
    let least = kept.least;
    let (text, remedy) = match kept.standing {
        Standing::Met => (
            format!(
                "A hostile tenant takes no more than its share of the worker: a good one keeps at least {} of what it has beside an equal one. The least is {least}.",
                percent(SHARE_KEPT)
            ),
            "",
        ),
        Standing::NotMet => (
            format!(
                "A hostile tenant takes more than its share of the worker: a good one keeps {least}."
            ),
            "Give such a tenant a quota, or a worker of its own. A good one with more requests in flight (--depth) runs dry less often.",
        ),
        Standing::Undecided => (
            format!(
                "Whether a hostile tenant takes more than its share of the worker is undecided: the least that a good one keeps is {least}."
            ),
            "Measure longer (--budget) on a quiet host.",
        ),
    };
    Some(Answer::new(text, remedy))
}

pub(super) fn findings(results: &Results<'_, VcmGuests>) -> Vec<Finding> {
    let homes = || Home::ALL.into_iter();
    (homes().filter_map(|home| equal(results, home)))
        .chain(homes().filter_map(|home| weighted(results, home)))
        .chain(homes().filter_map(|home| interrupts(results, home)))
        .chain(emulation(results))
        .chain(results.notes.as_ref().and_then(emulated))
        .collect()
}

/// The first size at a home.
fn all_at(results: &Results<'_, VcmGuests>, home: Home) -> Place {
    let mut sizes = results.experiment.0.sizes_bytes.values();
    Place {
        home,
        block_bytes: sizes.next().expect("a list has one at least"),
        whose: Whose::All,
    }
}

/// The case of most tenants among some, with that of its values.
fn most<T>(
    results: &Results<'_, VcmGuests>,
    home: Home,
    is_it: impl Fn(&Case) -> bool,
    value: impl Fn(&Place, &Case) -> Option<T>,
) -> Option<(Case, T)> {
    let place = all_at(results, home);
    let cases = Case::all(&results.experiment.0, home).into_iter();
    let valid = cases.filter(|case| is_it(case) && case.is_shared_out());
    let valued = valid.filter_map(|case| Some((case, value(&place, &case)?)));
    valued.max_by_key(|(case, _)| case.tenants().len())
}

fn equal(results: &Results<'_, VcmGuests>, home: Home) -> Option<Finding> {
    let is_it = |case: &Case| matches!(case, Case::Equal(_, None));
    let value = |place: &Place, case: &Case| {
        let of = |measure| results.valid_median(place, case, measure);
        Some((of(JAIN)?, of(LEAST_SHARE)?, of(REQUESTS)?))
    };
    let (case, (jain, least, all)) = most(results, home, is_it, value)?;
    let place = all_at(results, home);
    let alone = results.valid_median(&place, &Case::ALONE, REQUESTS);
    let sums = alone.map_or_else(String::new, |alone| {
        format!(" Together they have {all:.0} requests/s, one alone has {alone:.0}.")
    });
    let text = format!(
        "{} tenants ({}): each has at least {} of its share; Jain's index is {jain:.4}.{sums}",
        case,
        at(&place),
        percent(least)
    );
    Some(finding(Weight::Note, text, ""))
}

fn weighted(results: &Results<'_, VcmGuests>, home: Home) -> Option<Finding> {
    let is_emulated = results.notes.as_ref().is_some_and(is_emulated);
    if home == Home::Guest && is_emulated {
        // They ask for less than a share: weights say nothing.
        return None;
    }
    let is_it = |case: &Case| matches!(case, Case::Weighted(_));
    let value = |place: &Place, case: &Case| results.valid_median(place, case, LEAST_SHARE);
    let (case, least) = most(results, home, is_it, value)?;
    let all = all_at(results, home);
    let shares = (0..case.tenants().len()).filter_map(|index| {
        let whose = Whose::Tenant(index);
        results.median(&Place { whose, ..all }, &case, SHARE)
    });
    let text = format!(
        "{case} ({}): tenants have {} of what their weights entitle them to; the worst is {}.",
        at(&all),
        shares.map(percent).collect::<Vec<_>>().join(", "),
        percent(least)
    );
    Some(finding(Weight::Note, capital(&text), ""))
}

fn capital(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    first.to_uppercase() + rest
}

/// By controller, where several were measured.
fn interrupts(results: &Results<'_, VcmGuests>, home: Home) -> Option<Finding> {
    let place = all_at(results, home);
    let config = &results.experiment.0;
    let count = |name| {
        let is_equal = |case: &Case| matches!(case, Case::Equal(..));
        let own = |case: &Case| is_equal(case) && case.controller(home, config) == Some(name);
        let value = |place: &Place, case: &Case| results.valid_median(place, case, INTERRUPTS);
        most(results, home, own, value)
    };
    let names = config.controllers.iter();
    let counts: Vec<_> = names
        .filter_map(|name| Some((name.0, count(name.0.0)?)))
        .collect();
    let (_, (case, _)) = counts.first().filter(|_| counts.len() > 1)?;
    let said = counts
        .iter()
        .map(|(name, (_, each))| format!("{name} {each:.3}"));
    let text = format!(
        "Interrupts a request with {case} tenants, each with a controller of its own ({}): {}.",
        at(&place),
        said.collect::<Vec<_>>().join(", ")
    );
    Some(finding(Weight::Note, text, ""))
}

/// What guests share, where they are emulated.
fn emulation(results: &Results<'_, VcmGuests>) -> Option<Finding> {
    results.notes.as_ref().filter(|about| is_emulated(about))?;
    let any = |case: &Case| matches!(case, Case::Equal(..));
    let value = |place: &Place, case: &Case| results.valid_median(place, case, WORKER_CPU);
    let (case, busy) = most(results, Home::Guest, any, value)?;
    let text = format!(
        "Guests that are emulated share the host's {} CPUs with the worker that serves them: with {case} guests it used {busy:.0}% of a core. What one takes from another there may be time to run; front-ends show the device's own shares.",
        results.host.cpus.len(),
    );
    Some(finding(Weight::Note, text, ""))
}
