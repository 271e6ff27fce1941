//! What the numbers mean, in plain words: the paper's figure 3 beside ours.

use kit::experiment::{Results, Subjects};
use kit::headline::Answer;
use kit::load::benches::{Ask, REQUESTS};
use kit::place::Placement;
use kit::places::on;
use kit::ratio::Ratio;
use kit::series::Told;
use kit::words::finding;
use policy::Policy;
use trial::{Finding, Outcome, Weight};

use super::{JAIN, Tasks, many};

/// Shares are even above this (Jain's index): one task of eight that gets a
/// fifth less than the others still leaves 0.99.
const EVEN_MIN: f64 = 0.99;

/// The fewest and the most tasks in a placement.
pub(super) fn ends(subjects: &Subjects<Tasks>, placement: Placement) -> Option<(usize, usize)> {
    let places = || subjects.iter().map(|subject| subject.place);
    let tasks = || {
        places()
            .filter(|one| one.placement == placement)
            .map(|one| one.tasks)
    };
    Some((tasks().min()?, tasks().max()?))
}

/// The shared core first: the paper's guests have one.
pub(super) fn answer(results: &Results<'_, Tasks>) -> Option<Answer> {
    let placements = [Placement::Shared, Placement::Split];
    let text = placements
        .into_iter()
        .find_map(|one| figure(results, one))?;
    Some(Answer::new(text, ""))
}

pub(super) fn findings(results: &Results<'_, Tasks>) -> Vec<Finding> {
    let is_second = figure(results, Placement::Shared).is_some();
    let split = figure(results, Placement::Split).filter(|_| is_second);
    let split = split.map(|text| finding(Weight::Note, text, ""));
    split.into_iter().chain(gain(results)).collect()
}

/// The sum, and who gets how much, under a notification for every completion.
fn figure(results: &Results<'_, Tasks>, placement: Placement) -> Option<String> {
    let (few, most) = ends(results.subjects, placement)?;
    let place = |tasks| results.experiment.place(placement, tasks);
    let ratio = |policy: Policy| {
        let ratio = results.ratio((&place(most), &policy), (&place(few), &policy), REQUESTS);
        ratio.filter(|ratio| ratio.is_believed)
    };
    let sum = ratio(Policy::EACH)?;
    let jain = results.median(&place(most), &Policy::EACH, JAIN)?;
    let armed = ratio(Policy::ARMED).map_or_else(String::new, |armed| {
        format!("; under `armed` {}", armed.words())
    });
    Some(format!(
        "{most} equal tasks with a notification for every completion get together {} of what {} gets, {:.3}× each, clients and worker on {}{armed}. {}.",
        sum.words(),
        many(few),
        sum.comparison.ratio * few as f64 / most as f64,
        on(placement),
        agreement(sum, jain)
    ))
}

/// What of the paper's figure 3 is seen here.
fn agreement(sum: &Ratio, jain: f64) -> String {
    let (is_less, is_even) = (sum.comparison.outcome == Outcome::Slower, jain >= EVEN_MIN);
    let agrees = match (is_less, is_even) {
        (true, true) => "agrees",
        (false, false) => "does not agree",
        _ => "agrees in part",
    };
    let even = if is_even { "evenly" } else { "unevenly" };
    let less = if is_less { "less" } else { "no less" };
    format!(
        "The paper's figure 3 {agrees}: here tasks share {even} (Jain's index {jain:.3}), and get {less} together than one alone"
    )
}

/// Where `armed` gains most.
fn gain(results: &Results<'_, Tasks>) -> Option<Finding> {
    let is_gain = |told: &&Told<Ask, Policy>| {
        (told.pair.arm.1, told.pair.reference.1) == (Policy::ARMED, Policy::EACH)
            && told.ratio.comparison.outcome == Outcome::Faster
    };
    let gains = results
        .told()
        .iter()
        .filter(is_gain)
        .map(|told| &told.ratio);
    let by_ratio = |a: &&Ratio, b: &&Ratio| a.comparison.ratio.total_cmp(&b.comparison.ratio);
    let best = gains.max_by(by_ratio)?;
    let text = format!(
        "With several tasks, too, fewer notifications gain: `armed` compared with `each`, {}: {}.",
        best.comparison.subject,
        best.words()
    );
    let remedy = "Notify only a client that sleeps (policy `armed`).";
    Some(finding(Weight::Advice, text, remedy))
}
