//! Who is measured at a spot.

use std::fmt;
use std::str::FromStr;

use policy::Policy;
use policy::controllers::{NAMES, in_words};

use super::{MODERATE, OF_ORACLE, OF_UNCAPPED};
use crate::config::value::{Choice, List, Name};
use crate::subject::{Measure, Pair};

/// The paper's controller, as its prose has it.
pub const PROSE: &str = "speed-monitor-prose";
/// Ours.
pub const ADAPTIVE: &str = "adaptive";

/// A controller by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerName(pub &'static str);

impl fmt::Display for ControllerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl FromStr for ControllerName {
    /// In words, with the known names.
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = NAMES.into_iter().find(|known| *known == name);
        let error = || format!("unknown controller '{name}'; known: {}", NAMES.join(", "));
        found.map(Self).ok_or_else(error)
    }
}

impl Choice for ControllerName {
    fn known() -> Vec<String> {
        NAMES.map(str::to_owned).into()
    }

    fn described() -> Vec<String> {
        NAMES.map(in_words).into()
    }
}

/// One of those compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Contender {
    /// A notification for every completion.
    Uncapped,
    /// A notification only for a client that sleeps.
    Armed,
    /// The best of the fixed settings, measured again.
    Oracle,
    /// A controller of that name.
    Controlled(&'static str),
}

impl Contender {
    /// Ours.
    pub const ADAPTIVE: Self = Self::Controlled(ADAPTIVE);
    /// The paper's.
    pub const PROSE: Self = Self::Controlled(PROSE);

    /// All of them, in the order in which a plan lets go of them last: what needs
    /// nothing before the rounds is first.
    pub fn all(controllers: &List<Name<ControllerName>>) -> Vec<Self> {
        let controlled = controllers.iter().map(|name| Self::Controlled(name.0.0));
        let fixed = [Self::Uncapped, Self::Oracle, Self::Armed].into_iter();
        fixed.chain(controlled).collect()
    }

    /// Whether it is a controller that no headline is about.
    pub fn is_other(self) -> bool {
        matches!(self, Self::Controlled(_)) && self != Self::PROSE && self != Self::ADAPTIVE
    }

    /// The fixed setting that it is, where that is the oracle; none of a controller.
    pub fn fixed(self, oracle: Policy) -> Option<Policy> {
        match self {
            Self::Uncapped => Some(Policy::EACH),
            Self::Armed => Some(Policy::ARMED),
            Self::Oracle => Some(oracle),
            Self::Controlled(_) => None,
        }
    }

    /// Its ratios at a place, with what is asked of ours.
    pub fn pairs<P: Clone>(self, place: &P, measure: Measure) -> Vec<Pair<P, Self>> {
        let over = |reference, target: f64| {
            let is_ours = self == Self::ADAPTIVE;
            let is_change = is_ours && reference == Self::Uncapped;
            Pair::at(place.clone(), (self, reference), measure)
                .wanting(is_ours.then_some(target))
                .changed_by(if is_change { MODERATE } else { "" })
        };
        match self {
            Self::Uncapped => vec![],
            Self::Oracle => vec![over(Self::Uncapped, OF_UNCAPPED)],
            Self::Armed => vec![over(Self::Oracle, OF_ORACLE)],
            Self::Controlled(_) => vec![
                over(Self::Oracle, OF_ORACLE),
                over(Self::Uncapped, OF_UNCAPPED),
            ],
        }
    }

    /// Its name for people, with what a controller departs in.
    pub fn in_words(&self) -> String {
        policy::controllers::in_words(&self.to_string())
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uncapped => "uncapped",
            Self::Armed => "armed",
            Self::Oracle => "oracle",
            Self::Controlled(name) => name,
        })
    }
}
