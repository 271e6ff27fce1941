//! Frame sizes in a scenario: numbers, and `"imix"`.

use forward::tester::stream::FrameSize;
use serde::{Deserialize, Serialize};
use toml::Value as Toml;

use crate::ConfigError;
use crate::config::value::Value;

/// The least and the largest frame, with its frame check sequence.
const BYTES: std::ops::RangeInclusive<u32> = 64..=1518;
/// The least of IPv6 with a stamp.
const BYTES_MIN_V6: u32 = 84;
const IMIX: &str = "imix";

/// As it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "write bytes with the frame check sequence, e.g. 64, or \"imix\""
)]
pub enum Size {
    Bytes(u32),
    Name(String),
}

/// Those sizes as they are written.
pub fn written(sizes: &[u32]) -> Vec<Size> {
    sizes.iter().copied().map(Size::Bytes).collect()
}

/// The sizes that a list means, none twice.
///
/// # Errors
/// [`ConfigError`] naming the first that cannot be.
pub fn parse(key: &str, sizes: &[Size], ipv6: bool) -> Result<Vec<FrameSize>, ConfigError> {
    let mut kept = Vec::new();
    for size in sizes {
        let size = one(size, ipv6).map_err(|error| ConfigError::value(key, error))?;
        if !kept.contains(&size) {
            kept.push(size);
        }
    }
    crate::config::checks::some(key, &kept)?;
    Ok(kept)
}

fn one(size: &Size, ipv6: bool) -> Result<FrameSize, String> {
    let least = if ipv6 { BYTES_MIN_V6 } else { *BYTES.start() };
    match size {
        Size::Bytes(bytes) if (least..=*BYTES.end()).contains(bytes) => {
            Ok(FrameSize::Fixed(*bytes))
        }
        Size::Bytes(bytes) => Err(outside(*bytes, least)),
        Size::Name(name) if name == IMIX && !ipv6 => Ok(FrameSize::Imix),
        Size::Name(name) if name == IMIX => Err(format!(
            "IMIX has frames of 64 bytes, an IPv6 frame has {least} at least; name sizes"
        )),
        Size::Name(name) => Err(format!("'{name}' is no size; write bytes, or \"{IMIX}\"")),
    }
}

fn outside(bytes: impl std::fmt::Display, least: u32) -> String {
    let most = BYTES.end();
    format!("{bytes} is outside {least} to {most} bytes (with the frame check sequence)")
}

/// A frame's size as an option: bytes with the frame check sequence, or `imix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame(pub FrameSize);

impl From<u32> for Frame {
    /// Of so many bytes: for defaults.
    fn from(bytes: u32) -> Self {
        Self(FrameSize::Fixed(bytes))
    }
}

impl Value for Frame {
    fn parse(value: &Toml) -> Result<Self, String> {
        let size = match value {
            Toml::Integer(bytes) => {
                Size::Bytes(u32::try_from(*bytes).map_err(|_| outside(bytes, *BYTES.start()))?)
            }
            Toml::String(name) => Size::Name(name.clone()),
            other => return Err(format!("{other} is no size; write bytes, or \"{IMIX}\"")),
        };
        one(&size, false).map(Self)
    }

    fn written(&self) -> Toml {
        match self.0 {
            FrameSize::Fixed(bytes) => Toml::Integer(bytes.into()),
            FrameSize::Imix => Toml::from(IMIX),
        }
    }

    fn allowed() -> String {
        format!("{} to {} bytes, or {IMIX}", BYTES.start(), BYTES.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_imix_are_sizes() {
        let imix = Size::Name("imix".to_owned());
        let sizes = [Size::Bytes(64), imix.clone(), Size::Bytes(64)];
        let parsed = parse("frames", &sizes, false).unwrap();
        assert_eq!(parsed, [FrameSize::Fixed(64), FrameSize::Imix]);
        for (size, ipv6, part) in [
            (Size::Bytes(63), false, "64 to 1518"),
            (Size::Bytes(1519), false, "1519"),
            (Size::Bytes(64), true, "84"),
            (imix, true, "IPv6"),
            (Size::Name("large".to_owned()), false, "'large'"),
        ] {
            let error = parse("frames", &[size], ipv6).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
        assert!(parse("frames", &[], false).is_err());
    }
    #[test]
    fn an_option_says_again_what_it_was_given() {
        for value in [Toml::Integer(64), Toml::Integer(1518), Toml::from("imix")] {
            assert_eq!(Frame::parse(&value).unwrap().written(), value);
        }
        for wrong in [Toml::Integer(63), Toml::Integer(-7), Toml::Float(64.0)] {
            let error = Frame::parse(&wrong).unwrap_err();
            assert!(error.contains(&wrong.to_string()), "{error}");
        }
    }
}
