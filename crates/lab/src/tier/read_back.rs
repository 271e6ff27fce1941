//! What each library says that it sees.

use cpu::Tier;
use crypto::Instructions;

use super::choice::Choice;
use super::{TierError, vector};
use crate::command;

/// One library's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Stable name, for the fact's key.
    pub(super) key: &'static str,
    /// The library.
    pub(super) library: &'static str,
    /// What it sees; `None` where it is there and does not tell.
    pub(super) seen: Option<Choice>,
}

impl Reading {
    /// Refuses what sees more than it should. Less is no error: a library may
    /// tell fewer tiers apart.
    pub(super) fn check(&self, wanted: Choice) -> Result<(), TierError> {
        match self.seen {
            Some(found) if found.tier > wanted.tier || (found.sha && !wanted.sha) => {
                Err(TierError::NotMasked {
                    library: self.library,
                    wanted,
                    found,
                })
            }
            _ => Ok(()),
        }
    }
}

/// Every library that takes part in measurements and can be asked.
pub(super) fn all() -> Vec<Reading> {
    let (instructions, sha) = crypto::aws_lc_chose();
    let mut readings = vec![
        Reading {
            key: "tier.aws_lc",
            library: "AWS-LC",
            seen: Some(Choice {
                tier: tier(instructions),
                sha,
            }),
        },
        own(),
    ];
    readings.extend(openssl());
    readings
}

/// Our own kernels and ipsec-mb, which go by the same limit. What they say
/// has no SHA-NI in it: they have none of their own, and ipsec-mb's SHA-NI
/// goes with the tier.
fn own() -> Reading {
    Reading {
        key: "tier.limit",
        library: "Lockgate's own code, and ipsec-mb",
        seen: Some(Choice {
            tier: tier(crypto::instructions()),
            sha: false,
        }),
    }
}

/// The program, since it is what is measured beside us.
fn openssl() -> Option<Reading> {
    match command::run("openssl", &["version", "-c"]) {
        command::Outcome::Missing => None,
        outcome => Some(Reading {
            key: "tier.openssl",
            library: "openssl (program)",
            seen: outcome
                .printed()
                .and_then(|printed| vector::parse(&printed)),
        }),
    }
}

fn tier(instructions: Instructions) -> Tier {
    match instructions {
        Instructions::Baseline => Tier::None,
        Instructions::AesNi => Tier::Aesni,
        Instructions::Avx => Tier::Avx,
        Instructions::Avx2 => Tier::Avx2,
        Instructions::Vaes => Tier::Vaes,
        Instructions::Avx512 => Tier::Avx512,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(seen: &str) -> Reading {
        Reading {
            key: "tier.library",
            library: "a library",
            seen: seen.parse().ok(),
        }
    }

    #[test]
    fn more_than_wanted_is_refused_and_less_is_not() {
        let wanted: Choice = "avx2-sha".parse().unwrap();
        for fine in ["avx2-sha", "none-sha", "does not tell"] {
            assert_eq!(reading(fine).check(wanted), Ok(()), "{fine}");
        }
        for more in ["vaes-sha", "avx512", "avx2", "none"] {
            let error = reading(more).check(wanted).unwrap_err().to_string();
            for part in ["a library", "tier avx2-sha", &format!("sees {more}")] {
                assert!(error.contains(part), "{error}");
            }
        }
    }

    #[test]
    fn both_names_of_a_tier_mean_the_same() {
        for each in Tier::ALL {
            assert_eq!(tier(super::super::instructions(each)), each);
        }
    }
}
