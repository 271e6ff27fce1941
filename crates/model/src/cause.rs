//! Why a speed falls as requests grow: named only where experiments separate
//! one cause from the others.
//!
//! Every experiment repeats the fallen load with one thing changed. What it
//! saves of the extra time a byte is its [`Share`] of the fall, and what it
//! saves *at the peak* is taken off, since what helps both sizes alike explains
//! no fall between them.
//!
//! | cause | polled | small footprint | deeper | split | generator alone |
//! | --- | --- | --- | --- | --- | --- |
//! | notifications | restores | no | no, unless they are shared | may | far quicker |
//! | working set | no | restores | worse | no | far quicker |
//! | depth | may | no more bytes than at the peak | restores | restores | far quicker |
//! | fragmentation | no | no | no | restores | far quicker |
//! | generator | no | no | no | may | no quicker |
//!
//! So a split that restores speaks for fragmentation only once the others are
//! ruled out, and polling speaks for notifications only where neither the
//! depth nor the peak explains what it gains.

mod case;
mod evidence;
mod finding;
mod generator;
mod judge;
mod rules;
mod share;
mod test;
mod time;

use std::fmt;

pub use case::{Case, CaseError, Effect, Experiments, Point, measured};
pub use evidence::{Evidence, Source, Speaks};
pub use share::Share;
pub use test::Test;

use judge::Findings;

/// A fall counts when the upper bound of the fallen speed over the peak's is
/// below this, and there is none when the lower bound is not.
pub const FALL_RATIO: f64 = 0.97;

/// A cause is named when the lower bound of its share of the fall is at least
/// this and above every other's upper bound; one that stays below it is ruled
/// out.
pub const NAMED_SHARE: f64 = 0.3;

/// With this much of the fall explained by one cause, one that was not tested
/// cannot be larger.
pub const MAJOR_SHARE: f64 = 0.5;

/// Besides the named cause, those are mentioned whose share's lower bound is at least
/// this.
pub const MENTIONED_SHARE: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    Notifications,
    WorkingSet,
    Depth,
    /// Large requests cost more a byte than the same bytes in smaller ones:
    /// something cuts them up.
    Fragmentation,
    Generator,
    None,
    /// There is one, and the experiments do not show its cause; or they do not show
    /// whether there is one.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    Open,
    /// One cause is named; another one, smaller, contributes or may, or the
    /// share may be below [`MAJOR_SHARE`].
    Fair,
    /// One cause explains at least [`MAJOR_SHARE`], and all others are ruled
    /// out.
    Strong,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    pub cause: Cause,
    pub confidence: Confidence,
    pub share: Option<Share>,
    /// Other causes that contribute, or, where nothing is named, all that are
    /// still possible; the largest first.
    pub others: Vec<(Cause, Share)>,
    pub evidence: Vec<Evidence>,
    /// Experiments that would show more; empty when none would help.
    pub next: Vec<Test>,
}

/// Names the cause of a fall from `case.peak` to `case.fallen`.
///
/// Points and experiments must come from valid trials; a ratio must come from
/// the two arms interleaved. An experiment that was not run is `None`, which
/// is never counted for or against a cause.
///
/// # Errors
/// [`CaseError`] when a value cannot be.
pub fn diagnose(case: &Case) -> Result<Diagnosis, CaseError> {
    case.check()?;
    let fall = case.fall_ratio();
    if fall.high >= FALL_RATIO {
        return Ok(without_fall(case));
    }
    let findings = Findings::of(case);
    Ok(match findings.named() {
        Some(cause) => named(case, &findings, cause),
        None => Diagnosis {
            cause: Cause::Unknown,
            confidence: Confidence::Open,
            share: None,
            others: findings.possible(),
            evidence: evidence::all(case, &findings, Cause::Unknown),
            next: findings.next(),
        },
    })
}

fn named(case: &Case, findings: &Findings, cause: Cause) -> Diagnosis {
    let share = findings.share(cause);
    let is_strong = share.low >= MAJOR_SHARE && findings.rule_out_all_but(cause);
    Diagnosis {
        cause,
        confidence: if is_strong {
            Confidence::Strong
        } else {
            Confidence::Fair
        },
        share: Some(share),
        others: findings.contributing(cause),
        evidence: evidence::all(case, findings, cause),
        next: findings.untested(),
    }
}

/// There is no fall, or the points do not show one.
fn without_fall(case: &Case) -> Diagnosis {
    let is_known = case.fall_ratio().low >= FALL_RATIO;
    Diagnosis {
        cause: if is_known {
            Cause::None
        } else {
            Cause::Unknown
        },
        confidence: if is_known {
            Confidence::Strong
        } else {
            Confidence::Open
        },
        share: None,
        others: Vec::new(),
        evidence: vec![evidence::of_fall(case)],
        next: if is_known {
            Vec::new()
        } else {
            vec![Test::Again]
        },
    }
}

impl Diagnosis {
    /// The whole in one or two sentences, without the evidence.
    pub fn summary(&self) -> String {
        let list = |causes: &[(Cause, Share)]| {
            let each = causes.iter().map(|(cause, share)| match share.low {
                low if low.is_finite() => format!("{cause} ({:.0}%)", share.estimate * 100.0),
                _ => cause.to_string(),
            });
            each.collect::<Vec<_>>().join(", ")
        };
        let mut text = match (&self.share, self.others.is_empty()) {
            (None, true) => self.cause.sentence().to_owned(),
            (None, false) => format!(
                "{}; it may be {}",
                self.cause.sentence(),
                list(&self.others)
            ),
            (Some(share), true) => format!("{}: {}", self.cause.sentence(), share.words()),
            (Some(share), false) => format!(
                "{}: {}; besides {}",
                self.cause.sentence(),
                share.words(),
                list(&self.others)
            ),
        };
        if self.cause == Cause::Unknown && !self.next.is_empty() {
            let next: Vec<_> = self.next.iter().map(Test::to_string).collect();
            text.push_str(". To know: ");
            text.push_str(&next.join("; "));
        }
        text
    }
}

impl Cause {
    pub const ALL: [Self; 5] = [
        Self::Notifications,
        Self::WorkingSet,
        Self::Depth,
        Self::Fragmentation,
        Self::Generator,
    ];

    pub fn sentence(self) -> &'static str {
        match self {
            Self::Notifications => "notifications take the time",
            Self::WorkingSet => "the bytes in flight exceed a cache",
            Self::Depth => "too few requests are in flight to keep the core busy",
            Self::Fragmentation => {
                "large requests cost more than the same bytes in smaller ones: they are cut up on the way"
            }
            Self::Generator => "the load generator cannot prepare requests quickly enough",
            Self::None => "there is no fall",
            Self::Unknown => "the cause is not known",
        }
    }

    /// What to do about it; `None` where no cause is named.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Notifications => "cap or coalesce notifications as far as the depth allows",
            Self::WorkingSet => "keep fewer bytes in flight: a smaller depth at this size",
            Self::Depth => "keep more requests in flight",
            Self::Fragmentation => "split requests at the size of the peak",
            Self::Generator => "speed up or move the generator; the device was not measured",
            Self::None | Self::Unknown => "",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Notifications => "notifications",
            Self::WorkingSet => "working set",
            Self::Depth => "depth",
            Self::Fragmentation => "fragmentation",
            Self::Generator => "generator",
            Self::None => "none",
            Self::Unknown => "unknown",
        })
    }
}
