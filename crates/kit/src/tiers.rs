//! What sections that compare tiers share: which, how they are called, and why there
//! may be none.

use cpu::{Feature, Tier};
use probe::tier::{self, Choice};
use trial::PlanError;

use crate::apart::is_lockgate;
use crate::config::value::{Auto, List, Name};
use crate::host::Host;

/// What is hidden, as an option names it; auto: what the section says.
pub type Hidden = Auto<List<Name<Choice>>>;

/// The whole of the host first, then what is hidden of it: what was named as far as
/// the host has it, else all that `is_usual`.
pub fn choices(host: &Host, named: &Hidden, is_usual: fn(Choice) -> bool) -> Vec<Choice> {
    let Some((&whole, hidden)) = host.tiers.split_first() else {
        return Vec::new();
    };
    let hidden: Vec<_> = match &named.0 {
        None => hidden
            .iter()
            .copied()
            .filter(|own| is_usual(*own))
            .collect(),
        Some(named) => {
            let named = named.values();
            named
                .filter(|own| own.tier <= whole.tier && *own != whole)
                .collect()
        }
    };
    [vec![whole], hidden].concat()
}

/// What was named that the host is below.
pub fn left_out(host: &Host, named: &Hidden) -> Option<String> {
    let whole = host.tiers.first()?;
    let named = named.0.iter().flat_map(|list| list.values());
    let above = named.filter(|own| own.tier > whole.tier);
    let above: Vec<_> = above.map(|own| own.to_string()).collect();
    let above = above.join(", ");
    (!above.is_empty()).then(|| format!("tiers above this host's, which is {whole}: {above}"))
}

/// Its own tiers are masked apart: one for all would leave nothing to compare.
///
/// # Errors
/// [`PlanError::NotSupported`] under a tier, or where nothing can be hidden.
pub fn needs() -> Result<(), PlanError> {
    let not_supported = |reason: &str, remedy: &str| {
        Err(PlanError::NotSupported {
            reason: reason.to_owned(),
            remedy: remedy.to_owned(),
        })
    };
    if !is_lockgate() {
        return not_supported(
            "the program that runs is not lockgate, so it cannot start itself under tiers",
            "lockgate run",
        );
    }
    match (tier::in_force(), tier::choices().len()) {
        (Some(_), _) => not_supported("it compares tiers itself", "leave --tier out"),
        (None, 0) => not_supported("this CPU has no tiers", "measure on x86-64"),
        (None, 1) => not_supported(
            "this CPU, or the model that this guest is shown, has no AES-NI to hide",
            "show the CPU's features to this guest (QEMU: -cpu host)",
        ),
        _ => Ok(()),
    }
}

/// What nothing is hidden from, of all that are measured.
pub fn whole(choices: impl Iterator<Item = Choice>) -> Option<Choice> {
    let uncut = choices.filter(|own| own.alone().is_none());
    uncut.max_by_key(|own| own.tier)
}

/// What is hidden, with all that needs it: `AVX-512`; none of the whole.
pub fn hidden(choice: Choice, whole: Choice) -> Option<String> {
    let next = Tier::ALL.into_iter().find(|tier| *tier > choice.tier);
    match (choice.alone(), next) {
        // The others are in no tier.
        (Some(Feature::Aes), _) if choice.tier == whole.tier => Some("AES-NI alone".to_owned()),
        (Some(Feature::Aes), _) => Some("AES-NI and AVX".to_owned()),
        (Some(alone), _) => Some(alone.label().to_owned()),
        (None, Some(next)) if choice.tier < whole.tier => Some(next.label().to_owned()),
        _ => None,
    }
}

/// The same as an arm is called.
pub fn label(choice: Choice, whole: Choice) -> String {
    hidden(choice, whole).map_or_else(|| "whole CPU".to_owned(), |one| format!("without {one}"))
}
