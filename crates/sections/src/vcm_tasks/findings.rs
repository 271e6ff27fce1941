//! What the numbers mean, in plain words: the paper's figure 3 beside ours.

use kit::experiment::Results;
use kit::experiment::Subjects;
use kit::headline::Answer;
use kit::load::benches::REQUESTS;
use kit::place::Placement;
use kit::places::on;
use kit::ratio::Ratio;
use kit::subject::Subject;
use kit::words::finding;
use policy::Policy;
use trial::{Finding, Outcome, Weight};

use super::{JAIN, Place, Tasks, many};

/// Shares are even above this (Jain's index): one task of eight that gets a
/// fifth less than the others still leaves 0.99.
const EVEN_MIN: f64 = 0.99;

/// The fewest and the most tasks in a placement.
pub(super) fn ends(subjects: &Subjects<Tasks>, placement: Placement) -> Option<(usize, usize)> {
    let here = |subject: &&Subject<Place, Policy>| subject.place.placement == placement;
    let tasks = || {
        subjects
            .iter()
            .filter(here)
            .map(|subject| subject.place.tasks)
    };
    Some((tasks().min()?, tasks().max()?))
}

/// The shared core first: the paper's guests have one.
pub(super) fn answer(results: &Results<'_, Tasks>) -> Option<Answer> {
    let text = [Placement::Shared, Placement::Split]
        .into_iter()
        .find_map(|placement| figure(results, placement))?;
    Some(Answer {
        text,
        remedy: String::new(),
    })
}

pub(super) fn findings(results: &Results<'_, Tasks>) -> Vec<Finding> {
    let split =
        figure(results, Placement::Split).filter(|_| figure(results, Placement::Shared).is_some());
    let split = split.map(|text| finding(Weight::Note, text, ""));
    split.into_iter().chain(gain(results)).collect()
}

/// The sum, and who gets how much, under a notification for every completion.
fn figure(results: &Results<'_, Tasks>, placement: Placement) -> Option<String> {
    let (few, most) = ends(results.subjects, placement)?;
    let place = |tasks| Place { placement, tasks };
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
    let even = format!("Jain's index {jain:.3}");
    match (is_less, is_even) {
        (true, true) => format!(
            "The paper's figure 3 agrees: tasks share evenly ({even}), and get less together than one alone"
        ),
        (false, true) => format!(
            "The paper's figure 3 agrees in that tasks share evenly ({even}), not in that they get less together than one alone"
        ),
        (true, false) => format!(
            "The paper's figure 3 agrees in that tasks get less together than one alone, not in that they share evenly ({even})"
        ),
        (false, false) => format!(
            "The paper's figure 3 does not agree: tasks do not share evenly ({even}), nor get less together than one alone"
        ),
    }
}

/// Where `armed` gains most.
fn gain(results: &Results<'_, Tasks>) -> Option<Finding> {
    let gains = results.told().iter().filter(|told| {
        let (arm, reference) = (told.pair.arm.1, told.pair.reference.1);
        (arm, reference) == (Policy::ARMED, Policy::EACH)
            && told.ratio.comparison.outcome == Outcome::Faster
    });
    let best = gains.max_by(|a, b| {
        a.ratio
            .comparison
            .ratio
            .total_cmp(&b.ratio.comparison.ratio)
    })?;
    let text = format!(
        "With several tasks, too, fewer notifications gain: `armed` against `each`, {}: {}.",
        best.ratio.comparison.subject,
        best.ratio.words()
    );
    let remedy = "Notify only a client that sleeps (policy `armed`).";
    Some(finding(Weight::Advice, text, remedy))
}
