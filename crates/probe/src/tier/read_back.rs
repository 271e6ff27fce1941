//! What each library says that it sees.

use cpu::{Feature, Tier};
use crypto::Instructions;

use crate::command;
use crate::tier::choice::Choice;
use crate::tier::{TierError, instructions, vector};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Stable name, for the fact's key.
    pub(super) key: String,
    pub(super) name: &'static str,
    /// What it sees; `None` where it is there and does not tell.
    pub(super) seen: Option<Choice>,
}

impl Reading {
    /// Refuses what sees more than it should. Less is no error: a library may
    /// tell fewer tiers apart.
    pub(super) fn check(&self, wanted: Choice) -> Result<(), TierError> {
        match self.seen {
            Some(found) if found.tier > wanted.reached() || found.shows_more_than(wanted) => {
                Err(TierError::NotMasked {
                    library: self.name,
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
    let aws_lc = Reading {
        key: "tier.aws_lc".to_owned(),
        name: "AWS-LC",
        seen: Some(vector::seen(crypto::aws_lc_sees())),
    };
    let limit = Reading {
        key: "tier.limit".to_owned(),
        name: "Lockgate's own code",
        seen: Some(told(tier(crypto::instructions()))),
    };
    let candidates = crypto::candidates();
    let others = candidates
        .iter()
        .filter(|backend| backend.name() != "aws-lc")
        .map(|backend| said(backend.name(), &backend.instructions()));
    [aws_lc, limit]
        .into_iter()
        .chain(others)
        .chain(openssl())
        .collect()
}

/// What a back-end that goes by the limit says in words, which leave SHA-NI
/// out: the highest tier they name.
fn said(name: &'static str, words: &str) -> Reading {
    let names = [
        ("512", Tier::Avx512),
        ("without AES-NI", Tier::None),
        ("VAES", Tier::Vaes),
        ("AVX2", Tier::Avx2),
        ("AVX", Tier::Avx),
        ("SSE", Tier::Aesni),
        ("AES-NI", Tier::Aesni),
        ("baseline", Tier::None),
    ];
    let named = names.iter().find(|(part, _)| words.contains(part));
    Reading {
        key: format!("tier.{}", name.replace('-', "_")),
        name,
        seen: named.map(|&(_, tier)| told(tier)),
    }
}

/// Of a library that tells its tier alone: nothing besides.
fn told(tier: Tier) -> Choice {
    let alone = [Feature::ShaNi, Feature::Adx, Feature::Aes];
    alone.into_iter().fold(Choice::whole(tier), Choice::without)
}

/// The program, since it is what is measured beside us.
fn openssl() -> Option<Reading> {
    match command::run("openssl", &["version", "-c"]) {
        command::Outcome::Missing | command::Outcome::Refused(_) => None,
        outcome => Some(Reading {
            key: "tier.openssl".to_owned(),
            name: "openssl (program)",
            seen: outcome
                .printed()
                .and_then(|printed| vector::parse(&printed)),
        }),
    }
}

fn tier(own: Instructions) -> Tier {
    let found = Tier::ALL
        .into_iter()
        .find(|tier| instructions(*tier) == own);
    found.expect("every set of instructions is that of a tier")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(seen: &str) -> Reading {
        Reading {
            key: "tier.name".to_owned(),
            name: "a library",
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
    fn the_highest_tier_that_words_name_counts() {
        for (words, expected) in [
            ("AVX-512 with VAES", "avx512"),
            ("AVX-512", "avx512"),
            ("VAES-512", "avx512"),
            ("AVX2 with VAES", "vaes"),
            ("VAES-256", "vaes"),
            ("AVX2", "avx2"),
            ("AVX", "avx"),
            ("SSE", "aesni"),
            ("AES-NI", "aesni"),
            ("SSE without AES-NI", "none"),
            ("baseline", "none"),
        ] {
            let expected: Choice = expected.parse().unwrap();
            assert_eq!(
                said("a-b", words).seen,
                Some(told(expected.tier)),
                "{words}"
            );
        }
        let silent = said("a-b", "as the aes crate chooses");
        assert_eq!((silent.key.as_str(), silent.seen), ("tier.a_b", None));
    }

    #[test]
    fn what_instructions_are_called_is_understood() {
        for each in Tier::ALL {
            let words = instructions(each).to_string();
            let seen = said("library", &words).seen.unwrap();
            assert_eq!(seen.tier, each, "{words}");
        }
    }
}
