//! What a disk is encrypted with, as dm-crypt and cryptsetup write it:
//! `aes-xts-plain64`.

use std::fmt;
use std::str::FromStr;

pub use crypto::{SectorIv as Iv, SectorMode as Mode};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    pub mode: Mode,
    pub iv: Iv,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("cipher '{spec}' is not supported; take aes-MODE-IV, as in aes-xts-plain64")]
    Cipher { spec: String },
    #[error("mode '{mode}' of '{spec}' is not supported; supported: {}", names(&Mode::ALL, Mode::name))]
    Mode { spec: String, mode: String },
    #[error("IV '{iv}' of '{spec}' is not supported; supported: {}", names(&Iv::ALL, Iv::name))]
    Iv { spec: String, iv: String },
    #[error("'{spec}' has an IV that ECB has no use for; take plain, or none")]
    IvOfEcb { spec: String },
    #[error("'{spec}' names no IV; add one, as in {spec}-plain64")]
    NoIv { spec: String },
    #[error("{spec} takes a key of {} bits; got {bits}", bits_list(*spec))]
    KeySize { spec: Spec, bits: usize },
}

fn names<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> String {
    let names: Vec<_> = all.iter().map(|one| name(*one)).collect();
    names.join(", ")
}

fn bits_list(spec: Spec) -> String {
    let [a, b, c] = spec.mode.key_bytes().map(|bytes| bytes * 8);
    format!("{a}, {b} or {c}")
}

impl Spec {
    /// # Errors
    /// [`SpecError::KeySize`] for a key of a length that the mode does not take.
    pub fn check_key(self, bytes: usize) -> Result<(), SpecError> {
        let bits = bytes.saturating_mul(8);
        let refused = SpecError::KeySize { spec: self, bits };
        let takes = self.mode.key_bytes().contains(&bytes);
        takes.then_some(()).ok_or(refused)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, iv } = self;
        text.pad(&format!("aes-{}-{}", mode.name(), iv.name()))
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    /// As cryptsetup reads it: `aes` and `aes-plain` are aes-cbc-plain, and only ECB
    /// goes without an IV.
    fn from_str(spec: &str) -> Result<Self, SpecError> {
        let own = || spec.to_owned();
        let (cipher, rest) = spec.split_once('-').unwrap_or((spec, "cbc-plain"));
        if cipher != "aes" {
            return Err(SpecError::Cipher { spec: own() });
        }
        let rest = if rest == "plain" { "cbc-plain" } else { rest };
        let (mode, iv) = match rest.split_once('-') {
            Some((mode, iv)) => (mode, Some(iv)),
            None => (rest, None),
        };
        let known = Mode::ALL.into_iter().find(|known| known.name() == mode);
        let mode = known.ok_or_else(|| SpecError::Mode {
            spec: own(),
            mode: mode.to_owned(),
        })?;
        let iv = match iv {
            None if mode == Mode::Ecb => Iv::Null,
            None => return Err(SpecError::NoIv { spec: own() }),
            Some(name) => {
                let known = Iv::ALL.into_iter().find(|iv| iv.name() == name);
                known.ok_or_else(|| SpecError::Iv {
                    spec: own(),
                    iv: name.to_owned(),
                })?
            }
        };
        // The kernel refuses it, since its key would be of no use.
        if (mode, iv) == (Mode::Ecb, Iv::EssivSha256) {
            return Err(SpecError::IvOfEcb { spec: own() });
        }
        Ok(Self { mode, iv })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spec_is_read_as_it_is_written() {
        for mode in Mode::ALL {
            for iv in Iv::ALL {
                let spec = Spec { mode, iv };
                let read = spec.to_string().parse();
                if (mode, iv) == (Mode::Ecb, Iv::EssivSha256) {
                    assert!(matches!(read, Err(SpecError::IvOfEcb { .. })));
                } else {
                    assert_eq!(read, Ok(spec));
                }
            }
        }
    }

    #[test]
    fn short_forms_are_cryptsetups() {
        for (short, long) in [
            ("aes", "aes-cbc-plain"),
            ("aes-plain", "aes-cbc-plain"),
            ("aes-ecb", "aes-ecb-null"),
        ] {
            assert_eq!(short.parse::<Spec>().unwrap().to_string(), long);
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        for (spec, named) in [
            ("twofish-xts-plain64", "'twofish-xts-plain64'"),
            ("aes-gcm-random", "'gcm'"),
            ("aes-cbc-lmk", "'lmk'"),
            ("aes-cbc-essiv:md5", "'essiv:md5'"),
            ("aes-xts", "names no IV"),
            ("aes:64-cbc-plain", "'aes:64-cbc-plain'"),
            ("capi:xts(aes)-plain64", "'capi:xts(aes)-plain64'"),
            ("", "''"),
        ] {
            let error = spec.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains(named), "{spec}: {error}");
        }
    }
}
