//! Frame sizes in a scenario: numbers, and `"imix"`.

use forward::tester::stream::FrameSize;
use serde::{Deserialize, Serialize};

use crate::ConfigError;

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
        let size = one(key, size, ipv6)?;
        if !kept.contains(&size) {
            kept.push(size);
        }
    }
    crate::config::checks::some(key, &kept)?;
    Ok(kept)
}

fn one(key: &str, size: &Size, ipv6: bool) -> Result<FrameSize, ConfigError> {
    let least = if ipv6 { BYTES_MIN_V6 } else { *BYTES.start() };
    match size {
        Size::Bytes(bytes) if (least..=*BYTES.end()).contains(bytes) => {
            Ok(FrameSize::Fixed(*bytes))
        }
        Size::Bytes(bytes) => Err(ConfigError::value(
            key,
            format!(
                "{bytes} is outside {least} to {} bytes (with the frame check sequence)",
                BYTES.end()
            ),
        )),
        Size::Name(name) if name == IMIX && !ipv6 => Ok(FrameSize::Imix),
        Size::Name(name) if name == IMIX => Err(ConfigError::value(
            key,
            format!("IMIX has frames of 64 bytes, an IPv6 frame has {least} at least; name sizes"),
        )),
        Size::Name(name) => Err(ConfigError::value(
            key,
            format!("'{name}' is no size; write bytes, or \"{IMIX}\""),
        )),
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
}
