//! What a section says first: its answer with how many results are valid, or why
//! there is none. Never nothing.

use trial::{Finding, Validity, Verdict, Weight};

use crate::told::Tried;
use crate::words::finding;

/// What a section is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// As a sentence begins: `What this host forwards`.
    pub what: &'static str,
    /// What the answer is compared with: `the source's table 2`.
    pub against: &'static str,
}

/// What the numbers say, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whole sentences.
    pub text: String,
    /// Empty where there is nothing to do.
    pub remedy: String,
}

impl Answer {
    pub fn new(text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            remedy: remedy.into(),
        }
    }
}

impl From<Finding> for Answer {
    fn from(finding: Finding) -> Self {
        let Finding { text, remedy, .. } = finding;
        Self { text, remedy }
    }
}

impl Question {
    /// The headline, of all results that were tried.
    pub fn headline(&self, answer: Option<Answer>, tried: &[Tried]) -> Finding {
        let verdicts = tried.iter().map(|one| &one.verdict);
        let doubts: Vec<_> = verdicts.filter(|one| !one.is_valid()).collect();
        let Some(Answer { text, remedy }) = answer else {
            return self.open(&doubts);
        };
        let text = match doubts.len() {
            0 => text,
            some => format!(
                "{text} {} of {} results are valid; the warnings say why the others are not.",
                tried.len() - some,
                tried.len()
            ),
        };
        finding(Weight::Headline, text, remedy)
    }

    /// No answer: what spoilt the results, rather than what was missing.
    fn open(&self, doubts: &[&Verdict]) -> Finding {
        let Self { what, against } = self;
        let is_spoilt = |one: &&&Verdict| one.validity != Validity::NotSupported;
        let worst = doubts.iter().find(is_spoilt).or(doubts.first());
        let (why, remedy) = match worst {
            Some(doubt) => (
                format!(
                    "none of its {} is valid ({}: {})",
                    results(doubts.len()),
                    doubt.validity.name(),
                    first_reason(doubt)
                ),
                doubt.remedy.as_str(),
            ),
            None => (
                "nothing was measured that could say it".to_owned(),
                "Measure again, on a quiet host or with a larger --budget.",
            ),
        };
        let text = format!("{what} is not known: {why}. The reference is {against}.");
        finding(Weight::Headline, text, remedy)
    }
}

fn results(count: usize) -> String {
    match count {
        1 => "one result".to_owned(),
        count => format!("{count} results"),
    }
}

/// The first of a verdict's reasons: the warnings have all of them.
pub fn first_reason(verdict: &Verdict) -> &str {
    let reason = verdict.reason.as_str();
    reason.split_once("; ").map_or(reason, |(first, _)| first)
}

/// As a sentence begins.
pub fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_uppercase());
    first.into_iter().flatten().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::told::impossible;

    const QUESTION: Question = Question {
        what: "What this host forwards",
        against: "the source's table 2",
    };

    #[test]
    fn it_gives_the_answer_and_how_many_results_are_valid_or_why_there_is_none() {
        let tried = |verdict| Tried {
            name: "kernel, 64 B".to_owned(),
            is_measured: true,
            verdict,
        };
        let reason = "a pause of 20 ms; the hypervisor took 21% of the CPU time";
        let valid = tried(Verdict::valid());
        let noisy = tried(Verdict::new(Validity::Noisy, reason, "a quiet host"));
        let missing = tried(impossible("LXC", "install it"));
        let much = Answer::new("Much.", "Use it.");
        let (some, none) = (vec![valid.clone(), noisy.clone(), missing.clone()], vec![]);
        for (answer, tried, part, remedy) in [
            (Some(&much), vec![valid], "Much.", "Use it."),
            (Some(&much), some, "1 of 3 results", "Use it."),
            (
                None,
                vec![missing, noisy],
                "20 ms). The reference is the source's table 2.",
                "a quiet host",
            ),
            (None, none, "nothing was measured", "Measure again"),
        ] {
            let headline = QUESTION.headline(answer.cloned(), &tried);
            assert!(headline.text.contains(part), "{}", headline.text);
            assert!(headline.remedy.starts_with(remedy), "{}", headline.remedy);
            assert_eq!(headline.weight, Weight::Headline);
        }
        assert_eq!(sentence("kernel routing"), "Kernel routing");
    }
}
