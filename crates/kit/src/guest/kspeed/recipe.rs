//! How the module is to ask a driver: known of the kinds, read from the kernel's
//! /proc/crypto of one that is only named.

use crate::guest::plain;

use super::catalogue::{Driver, GCM_AAD_BYTES, GCM_TAG_BYTES, Kind};

/// What is told of drivers that are there, bytes.
const OFFERED_BYTES_MAX: usize = 1000;
/// Longer tags are hashes of their own, of which ciphers cut a part off.
const TAG_BYTES_MAX: usize = 16;

/// The module's words beside driver, size and depth; what is none it chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recipe {
    pub kernel_type: &'static str,
    pub operation: &'static str,
    key_bytes: Option<usize>,
    aad_bytes: Option<usize>,
    tag_bytes: Option<usize>,
    pub in_place: Option<bool>,
}

impl Recipe {
    /// Of a driver whose kind is known.
    pub fn known(kind: Kind, operation: &'static str, in_place: Option<bool>) -> Self {
        let facts = kind.facts();
        let is_aead = kind == Kind::Gcm;
        Self {
            kernel_type: facts.kernel_type,
            operation,
            key_bytes: (facts.key_bytes > 0).then_some(facts.key_bytes),
            aad_bytes: is_aead.then_some(GCM_AAD_BYTES),
            tag_bytes: is_aead.then_some(GCM_TAG_BYTES),
            in_place,
        }
    }

    /// Of a driver that is only named, from /proc/crypto: with a key of that many
    /// bytes, or the shortest.
    ///
    /// # Errors
    /// In words: what there is instead.
    pub fn named(
        offered: &str,
        driver: Driver,
        key_bytes: Option<usize>,
        in_place: Option<bool>,
    ) -> Result<Self, String> {
        let blocks = || offered.split("\n\n").map(Offer);
        let own = blocks().find(|offer| offer.field("driver") == driver.name);
        let own = own.ok_or_else(|| {
            let reason = format!("the kernel has no driver '{driver}'");
            instead(reason, driver, blocks())
        })?;
        let Some((kernel_type, operation)) = own.kind() else {
            let reason = format!(
                "'{driver}' is of type {}, which the module does not measure",
                own.field("type")
            );
            return Err(instead(reason, driver, blocks()));
        };
        let is_aead = kernel_type == "aead";
        let tag_bytes = own
            .number("maxauthsize")
            .map(|most| most.min(TAG_BYTES_MAX));
        Ok(Self {
            kernel_type,
            operation,
            key_bytes: key_bytes.or_else(|| own.number("min keysize")),
            aad_bytes: None,
            tag_bytes: tag_bytes.filter(|_| is_aead),
            in_place: in_place.filter(|_| is_aead || kernel_type == "skcipher"),
        })
    }

    /// As the module reads them.
    pub fn words(&self) -> String {
        let numbers = [
            ("key", self.key_bytes),
            ("aad", self.aad_bytes),
            ("tag", self.tag_bytes),
        ];
        let numbers = numbers
            .into_iter()
            .filter_map(|(word, number)| Some(format!(" {word}={}", number?)));
        let place = self.in_place == Some(true);
        let place = place.then(|| " place=in".to_owned());
        numbers.chain(place).collect()
    }
}

/// One driver: lines of `key : value`.
struct Offer<'a>(&'a str);

impl<'a> Offer<'a> {
    fn field(&self, key: &str) -> &'a str {
        let lines = self.0.lines().filter_map(|line| line.split_once(':'));
        let mut own = lines.filter(|(name, _)| name.trim() == key);
        own.next().map_or("", |(_, value)| value.trim())
    }

    fn number(&self, key: &str) -> Option<usize> {
        self.field(key).parse().ok()
    }

    /// The module's type and operation.
    fn kind(&self) -> Option<(&'static str, &'static str)> {
        match self.field("type") {
            "skcipher" | "lskcipher" => Some(("skcipher", "encrypt")),
            "aead" => Some(("aead", "encrypt")),
            "ahash" | "shash" => Some(("ahash", "digest")),
            "akcipher" => Some(("akcipher", "encrypt")),
            _ => None,
        }
    }
}

/// The reason, and what could be named: of that algorithm, if it is one's name.
fn instead<'a>(
    reason: String,
    asked: Driver,
    offers: impl Iterator<Item = Offer<'a>> + Clone,
) -> String {
    let usable = offers.filter(|one| one.kind().is_some() && one.field("internal") == "no");
    let mut alike = usable.clone().filter(|one| one.field("name") == asked.name);
    let (whose, all): (_, Vec<_>) = match alike.next() {
        Some(first) => (
            " of that algorithm",
            std::iter::once(first).chain(alike).collect(),
        ),
        None => ("", usable.collect()),
    };
    let mut names: Vec<_> = all.iter().map(|one| one.field("driver")).collect();
    names.sort_unstable();
    names.dedup();
    let names = plain(&names.join(", "), OFFERED_BYTES_MAX);
    format!("{reason}; /proc/crypto offers{whose}: {names}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFERED: &str = include_str!("fixtures/proc-crypto");

    fn named(name: &str, key_bytes: Option<usize>) -> Result<Recipe, String> {
        Recipe::named(OFFERED, name.parse().unwrap(), key_bytes, Some(true))
    }

    #[test]
    fn a_named_driver_is_asked_as_proc_crypto_says() {
        for (name, kernel_type, operation, words) in [
            ("xts-aes-aesni", "skcipher", "encrypt", " key=32 place=in"),
            ("generic-gcm-aesni", "aead", "encrypt", " tag=16 place=in"),
            ("sha256-generic", "ahash", "digest", ""),
            ("rsa-generic", "akcipher", "encrypt", ""),
        ] {
            let recipe = named(name, None).unwrap();
            assert_eq!(
                (recipe.kernel_type, recipe.operation),
                (kernel_type, operation)
            );
            assert_eq!(recipe.words(), words, "{name}");
        }
        assert_eq!(
            named("xts-aes-aesni", Some(64)).unwrap().words(),
            " key=64 place=in"
        );
        let apart = Recipe::named(OFFERED, "xts-aes-aesni".parse().unwrap(), None, Some(false));
        assert_eq!(apart.unwrap().words(), " key=32");
    }

    #[test]
    fn what_is_not_there_or_of_another_type_is_told_with_what_is() {
        let absent = named("xts-aes-vendor", None).unwrap_err();
        for part in [
            "no driver 'xts-aes-vendor'",
            "rsa-generic, sha256-generic",
            "xts-aes-aesni",
        ] {
            assert!(absent.contains(part), "{absent}");
        }
        assert!(
            !absent.contains("__xts-aes-aesni"),
            "internal ones open for nobody"
        );
        let algorithm = named("xts(aes)", None).unwrap_err();
        assert!(
            algorithm.ends_with("offers of that algorithm: xts-aes-aesni"),
            "{algorithm}"
        );
        let other = named("zlib-deflate-scomp", None).unwrap_err();
        assert!(other.contains("of type scomp, which"), "{other}");
        let nothing = Recipe::named("\u{1b}[2J\n:\n\n", "a".parse().unwrap(), None, None);
        assert!(nothing.unwrap_err().ends_with("offers: "));
    }
}
