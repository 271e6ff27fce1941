//! Measuring under a tier: as a guest with fewer CPU features would see it.
//!
//! Libraries look at the CPU once, when they are loaded, so a mask must be in
//! the environment before that: the program replaces itself by one with
//! [`environment`], and that one calls [`enforce`], which limits our own code,
//! asks every library what it chose, and refuses where a mask did nothing.

mod choice;
mod in_force;
mod mask;
mod read_back;
mod vector;

use std::collections::BTreeSet;

use ::cpu::{Feature, Native, Processor, Tier, tier};
use crypto::Instructions;

pub use choice::{Choice, UnknownTier};
pub use in_force::{InForce, Unmaskable, cannot_mask, in_force, program};
pub use in_force::{facts, openssl_prefix};

use mask::Mask;

/// The variable that says that the environment holds a tier's masks, and
/// which.
pub const VARIABLE: &str = "LOCKGATE_TIER";

/// The mask that AWS-LC and OpenSSL read.
pub const MASK_VARIABLE: &str = "OPENSSL_ia32cap";

/// Why nothing can be measured under a tier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TierError {
    /// Another architecture.
    #[error("tiers are sets of x86 features, and this CPU is none; leave --tier out")]
    NotX86,
    /// More than the host has.
    #[error(
        "tier {wanted} is above this host's, which is {host} (it lacks {lacks}): choose {host} or a lower one, or show the CPU's features to this guest (QEMU: -cpu host)"
    )]
    AboveHost {
        wanted: &'static str,
        host: &'static str,
        /// What the next tier would need.
        lacks: String,
    },
    /// A library sees more than it should.
    #[error(
        "{library} was to see tier {wanted}, and sees {found}: its mask did nothing, so that figures would be of another tier; measure without --tier, or with a library that takes the mask ({MASK_VARIABLE})"
    )]
    NotMasked {
        library: &'static str,
        wanted: Choice,
        found: Choice,
    },
    /// Our own code has been limited to something else.
    #[error("tier {wanted} comes too late: back-ends may already use {in_force}")]
    TooLate {
        wanted: Choice,
        in_force: Instructions,
    },
}

/// The variables of a process under that tier: each to be set, or (`None`) to
/// be taken away. An empty mask would hide everything from OpenSSL.
///
/// # Errors
/// [`TierError`] where the host is below that tier.
pub fn environment(choice: Choice) -> Result<[(&'static str, Option<String>); 2], TierError> {
    check(choice, &usable()?)?;
    Ok([
        (VARIABLE, Some(choice.to_string())),
        (MASK_VARIABLE, Mask::of(choice).variable()),
    ])
}

/// Puts the tier in force for the rest of this process: before any back-end
/// is made, and with [`environment`] in place since the process began.
///
/// # Errors
/// [`TierError`] where the host is below that tier, or a library sees more.
pub fn enforce(choice: Choice) -> Result<(), TierError> {
    let usable = usable()?;
    check(choice, &usable)?;
    let limit = instructions(choice.reached());
    crypto::limit_instructions(limit).map_err(|in_force| TierError::TooLate {
        wanted: choice,
        in_force,
    })?;
    let readings = read_back::all();
    readings
        .iter()
        .try_for_each(|reading| reading.check(choice))?;
    in_force::set(InForce {
        choice,
        mask: Mask::of(choice).variable(),
        hides: hides(choice, &usable),
        hides_sha: hides_sha(choice, &usable),
        readings,
    });
    Ok(())
}

/// What a CPU model may hide of this host, the whole of it first, then less and
/// less: every lower tier, and what can be hidden alone. Empty on another
/// architecture than x86-64.
#[must_use]
pub fn choices() -> Vec<Choice> {
    usable().map_or_else(|_| Vec::new(), |usable| Choice::all_of(&usable))
}

fn usable() -> Result<BTreeSet<Feature>, TierError> {
    Processor::decode(&Native)
        .map(|processor| processor.usable())
        .ok_or(TierError::NotX86)
}

fn check(choice: Choice, usable: &BTreeSet<Feature>) -> Result<(), TierError> {
    let (reached, lacks) = tier(usable);
    if choice.tier <= reached {
        return Ok(());
    }
    let lacks: Vec<_> = lacks.iter().map(|feature| feature.label()).collect();
    Err(TierError::AboveHost {
        wanted: choice.tier.name(),
        host: reached.name(),
        lacks: lacks.join(", "),
    })
}

/// Whether anything that the host has is hidden.
fn hides(choice: Choice, usable: &BTreeSet<Feature>) -> bool {
    usable
        .iter()
        .any(|&feature| Mask::of(choice).hides(feature))
}

fn hides_sha(choice: Choice, usable: &BTreeSet<Feature>) -> bool {
    usable.contains(&Feature::ShaNi) && Mask::of(choice).hides(Feature::ShaNi)
}

/// The same tier, as back-ends know it.
fn instructions(tier: Tier) -> Instructions {
    match tier {
        Tier::None => Instructions::Baseline,
        Tier::Aesni => Instructions::AesNi,
        Tier::Avx => Instructions::Avx,
        Tier::Avx2 => Instructions::Avx2,
        Tier::Vaes => Instructions::Vaes,
        Tier::Avx512 => Instructions::Avx512,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_to(tier: Tier) -> BTreeSet<Feature> {
        let tiers = Tier::ALL.into_iter().filter(|each| *each <= tier);
        tiers.flat_map(Tier::adds).copied().collect()
    }

    #[test]
    fn a_tier_above_the_host_is_refused_with_what_is_lacking() {
        let choice = |name: &str| name.parse::<Choice>().unwrap();
        let host = up_to(Tier::Avx2);
        for name in ["none", "aesni", "avx", "avx2", "avx2-sha"] {
            assert_eq!(check(choice(name), &host), Ok(()), "{name}");
        }
        let error = check(choice("avx512"), &host).unwrap_err().to_string();
        for part in ["avx512", "which is avx2", "VAES", "-cpu host"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn only_what_the_host_has_counts_as_hidden() {
        let choice = |name: &str| name.parse::<Choice>().unwrap();
        let mut host = up_to(Tier::Avx2);
        assert!(!hides(choice("avx2"), &host) && hides(choice("avx"), &host));
        assert!(!hides(choice("avx2-sha"), &host));
        host.insert(Feature::ShaNi);
        assert!(hides(choice("avx2-sha"), &host));
    }

    #[test]
    fn tiers_and_instructions_rise_together() {
        let steps = Tier::ALL.map(instructions);
        assert!(steps.is_sorted() && steps[0] == Instructions::Baseline);
        assert!(steps.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
