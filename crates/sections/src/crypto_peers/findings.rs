//! What the numbers mean, in plain words.

use kit::experiment::Results;
use kit::headline::Answer;
use kit::ratio::Ratio;
use kit::series::Told;
use kit::words::finding;
use trial::{Finding, Outcome, Weight};

use super::arm::Arm;
use super::{CryptoPeers, Place};

/// Shares of the ceiling up to this are rounding and noise.
const CEILING_MAX: f64 = 1.02;
/// Places named in one finding; the table has all.
const NAMED_MAX: usize = 12;

/// The engine over the fastest peer at each place, of what is valid.
fn standings<'a>(results: &'a Results<'_, CryptoPeers>) -> Vec<&'a Told<Place, Arm>> {
    let mut best: Vec<&Told<Place, Arm>> = Vec::new();
    let of_peer = |told: &&Told<Place, Arm>| {
        let (arm, reference) = (told.pair.arm.1, told.pair.reference.1);
        arm == Arm::Engine && Arm::PEERS.contains(&reference) && told.ratio.is_believed
    };
    for told in results.told().iter().filter(of_peer) {
        match best.iter_mut().find(|own| own.pair.arm == told.pair.arm) {
            Some(own) if own.ratio.comparison.ratio <= told.ratio.comparison.ratio => {}
            Some(own) => *own = told,
            None => best.push(told),
        }
    }
    best
}

/// How the engine does beside the fastest peer of each place.
pub(super) fn answer(results: &Results<'_, CryptoPeers>) -> Option<Answer> {
    let all = standings(results);
    let count = |wanted| {
        let outcomes = all.iter().map(|told| told.ratio.comparison.outcome);
        outcomes.filter(|outcome| *outcome == wanted).count()
    };
    let most = &by_ratio(&all).last().copied()?.ratio;
    let said = |count, words: &str| match count {
        0 => String::new(),
        count => format!("{words} in {count}"),
    };
    let text = format!(
        "A lane is faster than the fastest peer in {} of {} places{}{}; most at {}.",
        count(Outcome::Faster),
        all.len(),
        said(count(Outcome::Slower), ", slower"),
        said(count(Outcome::NoEvidence), ", not told apart"),
        at(most)
    );
    let remedy = String::new();
    Some(Answer { text, remedy })
}

fn by_ratio<'a>(all: &[&'a Told<Place, Arm>]) -> Vec<&'a Told<Place, Arm>> {
    let mut sorted = all.to_vec();
    let of = |told: &Told<Place, Arm>| told.ratio.comparison.ratio;
    sorted.sort_by(|a, b| of(a).total_cmp(&of(b)));
    sorted
}

/// `sha256, 4 KiB: 0.50× (0.48 to 0.52) of ring`.
fn at(ratio: &Ratio) -> String {
    let comparison = &ratio.comparison;
    let (place, peer) = (&comparison.subject, &comparison.reference);
    format!("{place}: {} of {peer}", ratio.words())
}

pub(super) fn findings(results: &Results<'_, CryptoPeers>) -> Vec<Finding> {
    let all = [losses(results), beyond(results)];
    all.into_iter().flatten().collect()
}

/// Each place where a peer is faster, the worst first.
fn losses(results: &Results<'_, CryptoPeers>) -> Option<Finding> {
    let mut lost = by_ratio(&standings(results));
    lost.retain(|told| told.ratio.comparison.outcome == Outcome::Slower);
    let named = listed(&lost)?;
    let text = format!("A peer is faster than a lane: {named}.");
    Some(finding(Weight::Note, text, ""))
}

/// Own loops that were faster than the ceiling, which nothing can be.
fn beyond(results: &Results<'_, CryptoPeers>) -> Option<Finding> {
    let is_beyond = |told: &&Told<Place, Arm>| {
        told.pair.reference.1 == Arm::Ceiling && told.ratio.reaches(CEILING_MAX)
    };
    let beyond: Vec<_> = results.told().iter().filter(is_beyond).collect();
    let text = format!(
        "The own loop measured faster than the ceiling, which cannot be: {}. The core was slower while the ceiling ran, so that these shares are not valid.",
        listed(&beyond)?
    );
    let remedy = "Measure on a quiet host whose clock holds still.";
    Some(finding(Weight::Warning, text, remedy))
}

fn listed(all: &[&Told<Place, Arm>]) -> Option<String> {
    let named = all.iter().take(NAMED_MAX).map(|told| at(&told.ratio));
    let named = named.collect::<Vec<_>>().join("; ");
    match all.len().saturating_sub(NAMED_MAX) {
        _ if all.is_empty() => None,
        0 => Some(named),
        more => Some(format!("{named}; and {more} more in the table")),
    }
}

#[cfg(test)]
mod tests {
    use kit::experiment::Experiment;
    use kit::host::Host;
    use kit::load::benches::REQUESTS;
    use kit::subject::Reading;
    use kit::testing::section;
    use trial::{Validity, Verdict};

    use super::*;

    /// What is said of one place with those speeds; of noisy arms none is valid.
    fn said(algorithm: &str, arms: &[(Arm, f64, bool)]) -> (Option<Answer>, Vec<String>) {
        let table = format!("algorithms = ['{algorithm}']\nsizes_bytes = [4096]");
        let experiment: CryptoPeers = section(&table).unwrap();
        let host = Host::with_cpus([0, 1]);
        let subjects = experiment.subjects(&host);
        let mut results = Results::new(&experiment, &host, &subjects, (0.01, ""));
        for (subject, series) in subjects.iter().zip(&mut results.series) {
            let own = arms.iter().find(|(arm, ..)| *arm == subject.arm);
            let Some(&(_, rate, is_noisy)) = own else {
                continue;
            };
            let reading = |round: usize| {
                let rate = rate * (1.0 + 0.001 * (round % 3) as f64);
                let mut reading = Reading::new(vec![(REQUESTS, rate)]);
                if is_noisy {
                    reading.verdict = Verdict::new(Validity::Noisy, "a pause", "wait");
                }
                (round, reading)
            };
            series.rounds = (0..9).map(reading).collect();
        }
        results.conclude();
        let texts = findings(&results).into_iter().map(|one| one.text);
        (answer(&results), texts.collect())
    }

    #[test]
    fn the_fastest_peer_that_is_valid_is_what_counts() {
        let (engine, ring) = ((Arm::Engine, 50.0, false), (Arm::Ring, 100.0, false));
        let (answer, texts) = said("sha256", &[engine, ring, (Arm::OpenSsl, 80.0, false)]);
        let lost = "a lane: sha256, 4 KiB: 0.50× (0.50 to 0.50) of ring.";
        assert!(texts[0].ends_with(lost), "{texts:?}");
        let answer = answer.unwrap().text;
        assert!(answer.contains("in 0 of 1 places, slower in 1; most at sha256"));
        let noisy = (Arm::Ring, 100.0, true);
        let (_, texts) = said("sha256", &[engine, noisy, (Arm::OpenSsl, 80.0, false)]);
        assert!(texts[0].contains("of openssl speed"), "{texts:?}");
        let (answer, texts) = said("sha256", &[engine, noisy, (Arm::OpenSsl, 40.0, false)]);
        assert!(answer.unwrap().text.contains("in 1 of 1 places; most"));
        assert_eq!(texts.len(), 0);
        // Neither the loop of our own back-end nor the ceiling is a peer, and
        // what is not valid is neither lost nor won.
        let own = [engine, (Arm::OwnLoop, 99.0, false)];
        let doubtful = [(Arm::Engine, 50.0, true), ring];
        for arms in [own, doubtful] {
            assert_eq!(said("sha256", &arms), (None, Vec::new()));
        }
    }

    #[test]
    fn nothing_is_faster_than_the_ceiling() {
        let texts = |own| {
            let arms = [(Arm::OwnLoop, own, false), (Arm::Ceiling, 100.0, false)];
            said("aes-128-ctr", &arms).1
        };
        assert_eq!(texts(94.0).len() + texts(101.0).len(), 0, "rounding");
        let said = texts(112.0);
        assert!(said[0].contains("aes-128-ctr, 4 KiB: 1.12×"), "{said:?}");
    }
}
