//! What the numbers mean, in plain words, and the article's figures beside ours.

use kit::drawing::text;
use kit::guest::emulated;
use kit::prelude::*;
use kit::ratio::Ratio;
use kit::series::{Series, Told};
use kit::words::{finding, percent, size};
use trial::{Outcome, Price, Table, Weight};

use super::method::Method;
use super::rig::REQUESTS;
use super::{Kspeed, Place, SAME_MIN};
use kit::guest::kspeed::catalogue::Driver;

/// Waiting for each request is a headline where it shows less than this share.
const HIDES: f64 = 0.8;
/// What the source says: how much of user space's speed the kernel's benchmark
/// showed on an accelerator (source 003, "优化结果"), by bytes of a request: one
/// after the other (not stated for 1024 B), and many in flight, with callbacks.
const PUBLISHED: [(usize, &str, &str); 2] = [(64, "0.10×", "0.33×"), (1024, "not stated", "1.00×")];

type All<'a> = Results<'a, Kspeed>;

/// The first that can be said.
pub(super) fn answer(results: &All<'_>) -> Option<Answer> {
    let answer = hidden(results)
        .or_else(|| at_once(results))
        .or_else(|| same(results));
    answer.map(Answer::from)
}

/// All but the answer.
pub(super) fn findings(results: &All<'_>) -> Vec<Finding> {
    let said = answer(results).map(|answer| answer.text);
    let all = [at_once, same, socket].into_iter();
    let all = all.filter_map(|finding| finding(results));
    let all = all.chain(named(results)).chain(emulated(&results.about));
    all.filter(|one| Some(&one.text) != said.as_ref()).collect()
}

/// The valid ratios of one method over another.
fn ratios<'a>(
    results: &'a All<'_>,
    method: Method,
    reference: Method,
) -> impl Iterator<Item = &'a Told<Place, Method>> {
    results.told().iter().filter(move |told| {
        (told.pair.arm.1, told.pair.reference.1) == (method, reference) && told.ratio.is_believed
    })
}

/// Whether a driver is known to complete requests at once.
fn is_at_once(results: &All<'_>, driver: Driver) -> bool {
    let told = &results.notes;
    told.iter()
        .any(|note| note.driver == driver && !note.is_async)
}

/// Of drivers that complete later, the valid ratio that differs most, in that
/// direction.
fn farthest<'a>(
    results: &'a All<'_>,
    (method, reference): (Method, Method),
    outcome: Outcome,
) -> Option<&'a Told<Place, Method>> {
    let own = ratios(results, method, reference).filter(|told| {
        let is_later = !is_at_once(results, told.pair.arm.0.driver);
        is_later && told.ratio.comparison.outcome == outcome
    });
    let distance = |told: &Told<Place, Method>| of(told).ln().abs();
    own.max_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn of(told: &Told<Place, Method>) -> f64 {
    told.ratio.comparison.ratio
}

/// ` (emulated guest)`, behind a figure in a sentence.
fn mark(results: &All<'_>) -> String {
    match results.about.words() {
        words if words.is_empty() => words,
        words => format!(" ({words})"),
    }
}

/// Where asking one by one hides most of an asynchronous driver.
fn hidden(results: &All<'_>) -> Option<Finding> {
    let most = farthest(results, (Method::Async, Method::Sync), Outcome::Faster)?;
    if 1.0 / of(most) >= HIDES {
        return None;
    }
    let place = most.pair.arm.0;
    let depth = results.experiment.depth();
    let rate = results.median(&place, &Method::Async, REQUESTS)?;
    let shows = |method: Method, words: &str| {
        let pair = Pair::at(place, (method, Method::Async), REQUESTS);
        let ratio = results.compare(&pair, &results.usual());
        let ratio = ratio.filter(|ratio| ratio.is_believed);
        let share = ratio.map(|ratio| percent(ratio.comparison.ratio));
        share.map_or_else(String::new, |share| format!(" {words} {share} of it."))
    };
    let text = format!(
        "At {} {} ({}) does {rate:.0} requests/s with {depth} in flight{}. Waiting for each request shows {} of that: async is {} of sync.{}",
        size(place.size_bytes),
        place.driver,
        place.driver.what,
        mark(results),
        percent(1.0 / of(most)),
        most.ratio.words(),
        shows(Method::Tcrypt, "tcrypt, which waits for each, shows"),
    );
    let batch = shows(Method::Batch, &format!("Batches of {depth} (num_mb) show"));
    let remedy = format!("Measure asynchronous drivers with callbacks (kspeed async).{batch}");
    Some(finding(Weight::Headline, text, remedy))
}

/// What drivers are that are only named.
fn named(results: &All<'_>) -> Vec<Finding> {
    let own = results
        .notes
        .iter()
        .filter(|note| note.driver.kind.own().is_none());
    let mut all: Vec<_> = own.map(|note| format!("Measured {}.", note.what)).collect();
    all.dedup();
    let note = |text| finding(Weight::Note, text, "");
    all.into_iter().map(note).collect()
}

/// Drivers that complete at once.
fn at_once(results: &All<'_>) -> Option<Finding> {
    let own = ratios(results, Method::Async, Method::Sync);
    let own = own.filter(|told| is_at_once(results, told.pair.arm.0.driver));
    let (least, most, places) = ends(own.map(of))?;
    let text = format!(
        "Drivers that complete at once cannot gain from more requests in flight: async is {least:.2} to {most:.2}× sync at {places} places."
    );
    Some(finding(Weight::Note, text, ""))
}

/// Whether the kernel's benchmark and ours agree where they do the same.
fn same(results: &All<'_>) -> Option<Finding> {
    let own = || ratios(results, Method::Tcrypt, Method::Sync).map(of);
    let (least, most, all) = ends(own())?;
    let is_same = |ratio: &f64| (SAME_MIN..=1.0 / SAME_MIN).contains(ratio);
    let alike = own().filter(is_same).count();
    let counts = match results.experiment.0.tcrypt_seconds.get() {
        0 => "cycles of a few operations",
        _ => "operations a second",
    };
    let text = format!(
        "tcrypt serial ({counts}) gives {least:.2} to {most:.2}× of kspeed sync; within 10% at {alike} of {all} places."
    );
    let (weight, remedy) = match alike == all {
        true => (Weight::Note, ""),
        false => (
            Weight::Warning,
            "Let tcrypt count for a second (tcrypt_seconds = 1): a few operations right after set-up say little.",
        ),
    };
    Some(finding(weight, text, remedy))
}

/// What user space gets through the kernel's socket.
fn socket(results: &All<'_>) -> Option<Finding> {
    let worst = farthest(results, (Method::AfAlg, Method::Async), Outcome::Slower)?;
    let place = worst.pair.arm.0;
    let text = format!(
        "AF_ALG keeps one request in flight. From user space it shows {} of what {} does at {}{}.",
        percent(of(worst)),
        place.driver,
        size(place.size_bytes),
        mark(results)
    );
    let remedy = "Do not judge an asynchronous driver by AF_ALG.";
    Some(finding(Weight::Advice, text, remedy))
}

/// The least and the greatest ratio, and how many there are.
fn ends(ratios: impl Iterator<Item = f64>) -> Option<(f64, f64, usize)> {
    let all: Vec<_> = ratios.collect();
    let ends = all.iter().copied();
    Some((
        ends.clone().reduce(f64::min)?,
        ends.reduce(f64::max)?,
        all.len(),
    ))
}

/// A request that a driver's caller waits for, in the smallest size.
pub(super) fn prices(results: &All<'_>) -> Vec<Price> {
    let waits = results.measured();
    let waits: Vec<_> = waits
        .filter(|(one, _)| one.arm == Method::Sync)
        .map(|(one, series)| (one.place, series))
        .collect();
    let size = |place: &Place| (place.threads, place.size_bytes);
    let first = waits.iter().map(|(place, _)| size(place)).min();
    let is_own =
        |place: &Place| Some(size(place)) == first && results.is_valid(place, &Method::Sync);
    let own = waits.into_iter().filter(|(place, _)| is_own(place));
    let price = |(place, series): (Place, &Series)| {
        let rates = series.values(REQUESTS).into_iter();
        let rounds_ns: Vec<_> = rates.map(|rate| 1e9 / rate).collect();
        let name = format!("request to {}{}", place.driver.what, mark(results));
        Price::of_rounds(name, &rounds_ns)
    };
    own.filter_map(price).collect()
}

/// The article's figures beside this guest's.
pub(super) fn beside(results: &All<'_>) -> Option<Table> {
    let ratio = |place: Place, method: Method| {
        let pair = Pair::at(place, (method, Method::Engine), REQUESTS);
        results.compare(&pair, &results.usual())
    };
    let said = |ratio: Option<Ratio>| match ratio {
        Some(ratio) if ratio.is_believed => text(ratio.words()),
        Some(_) => text("not valid"),
        None => text(""),
    };
    let engine = results.measured().map(|(one, _)| one);
    let engine = engine.filter(|one| one.arm == Method::Engine);
    let places: Vec<_> = engine.map(|one| one.place).collect();
    let row = |place: Place, (bytes, serial, asynchronous)| {
        let own = ratio(place, Method::Async).filter(|_| place.size_bytes == bytes)?;
        let own_serial = ratio(place, Method::Tcrypt).or_else(|| ratio(place, Method::Sync));
        Some(vec![
            text(place.driver.name),
            text(size(bytes)),
            text(serial),
            said(own_serial),
            text(asynchronous),
            said(Some(own)),
        ])
    };
    let of = |published| {
        places
            .iter()
            .filter_map(move |&place| row(place, published))
    };
    let columns = [
        "driver",
        "size",
        "article: serial",
        "here: serial",
        "article: async",
        "here: async",
    ];
    let note = format!(
        "The article: an accelerator that it does not name, kernel against user space on the same hardware. Here user space is Lockgate's engine on the guest's own CPU; a virtio-crypto device computes on the host's{}.",
        mark(results)
    );
    results.table(
        "The article's figures beside this guest's: the kernel's rate over user space's",
        note,
        columns.map(|label| (label, "")),
        PUBLISHED.into_iter().flat_map(of).collect(),
    )
}
