//! Which tier, by name.

use std::fmt;
use std::str::FromStr;

use cpu::Tier;

/// How a name ends that hides SHA-NI too.
const WITHOUT_SHA: &str = "-sha";

/// A tier, and whether SHA-NI (which is in none of them) stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub tier: Tier,
    /// Whether SHA-NI is left as the host has it.
    pub sha: bool,
}

/// A name that no tier has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown tier '{name}'; known: {}, each with {WITHOUT_SHA} behind it to hide SHA-NI too", Tier::ALL.map(Tier::name).join(", "))]
pub struct UnknownTier {
    pub name: String,
}

impl FromStr for Choice {
    type Err = UnknownTier;

    fn from_str(name: &str) -> Result<Self, UnknownTier> {
        let (base, sha) = match name.strip_suffix(WITHOUT_SHA) {
            Some(base) => (base, false),
            None => (name, true),
        };
        let tier = Tier::ALL.into_iter().find(|tier| tier.name() == base);
        tier.map(|tier| Self { tier, sha })
            .ok_or_else(|| UnknownTier {
                name: name.to_owned(),
            })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = if self.sha { "" } else { WITHOUT_SHA };
        write!(f, "{}{suffix}", self.tier.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_as_it_was_written() {
        for tier in Tier::ALL {
            for sha in [true, false] {
                let choice = Choice { tier, sha };
                assert_eq!(choice.to_string().parse(), Ok(choice));
            }
        }
    }

    #[test]
    fn what_is_no_tier_is_named_with_those_there_are() {
        for name in ["", "avx3", "AVX2", "avx2-", "-sha", "avx2-sha-sha"] {
            let error = name.parse::<Choice>().unwrap_err().to_string();
            assert!(error.contains(&format!("'{name}'")), "{error}");
            assert!(error.contains("aesni, avx, avx2"), "{error}");
        }
    }
}
