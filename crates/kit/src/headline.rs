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
                    kind(doubt),
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

/// A verdict's kind, as in points.
pub fn kind(verdict: &Verdict) -> String {
    let kind = serde_json::to_value(verdict.validity).unwrap_or_default();
    kind.as_str().unwrap_or("not valid").to_owned()
}

/// The first of a verdict's reasons: all of them are told with the warnings.
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

    fn tried(verdict: Verdict) -> Tried {
        Tried {
            name: "kernel".to_owned(),
            label: "kernel, 64 B".to_owned(),
            is_measured: true,
            verdict,
        }
    }

    fn noisy() -> Tried {
        let reason = "a pause of 20 ms; the hypervisor took 21% of the CPU time";
        tried(Verdict::new(Validity::Noisy, reason, "a quiet host"))
    }

    fn missing() -> Tried {
        tried(impossible("LXC", "install it"))
    }

    #[test]
    fn an_answer_says_how_many_results_carry_it() {
        let answer = Some(Answer::new("Much.", ""));
        let all = QUESTION.headline(answer.clone(), &[tried(Verdict::valid())]);
        assert_eq!(all.text, "Much.");
        let some = QUESTION.headline(answer, &[tried(Verdict::valid()), noisy(), missing()]);
        assert!(some.text.contains("1 of 3 results"), "{}", some.text);
        assert_eq!(some.weight, Weight::Headline);
    }

    #[test]
    fn without_an_answer_it_says_why_and_what_to_do() {
        let open = QUESTION.headline(None, &[missing(), noisy()]);
        let first = "(noisy: a pause of 20 ms)";
        assert!(open.text.contains(first), "{}", open.text);
        assert!(open.text.contains("table 2"), "{}", open.text);
        assert_eq!(open.remedy, "a quiet host");
        let nothing = QUESTION.headline(None, &[]);
        assert!(nothing.text.contains("nothing was measured"));
        assert!(!nothing.remedy.is_empty());
        assert_eq!(sentence("kernel routing"), "Kernel routing");
    }
}
