//! Who is measured at a spot.

use std::fmt;

use policy::controllers::NAMES;

/// The paper's controller, as its prose has it.
pub const PROSE: &str = "speed-monitor-prose";
/// Ours.
pub const ADAPTIVE: &str = "adaptive";

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

/// A controller's name as the registry has it.
///
/// # Errors
/// In words, with the known names.
pub fn known(name: &str) -> Result<&'static str, String> {
    let found = NAMES.into_iter().find(|known| *known == name);
    found.ok_or_else(|| format!("unknown controller '{name}'; known: {}", NAMES.join(", ")))
}

/// The two that headlines are about, of those.
pub fn main_ones(names: &[&'static str]) -> Vec<&'static str> {
    let is_main = |name: &&str| [PROSE, ADAPTIVE].contains(name);
    names.iter().copied().filter(is_main).collect()
}
