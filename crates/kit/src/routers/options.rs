//! What scenarios say of frames, destinations, tables and homes.

use std::fmt;
use std::str::FromStr;

use forward::bench::{Directions, Offer};
use forward::home;
use forward::tester::stream::{DESTINATIONS_MAX, FrameSize};
use forward::topology::{Attachment, Cpus, Family, Routes, Spec};
use toml::Value as Toml;

use crate::ConfigError;
use crate::config::value::{Choice, Value, read_whole};

/// The least and the largest frame, with its frame check sequence.
const BYTES: std::ops::RangeInclusive<u32> = 64..=1518;
/// The least of IPv6 with a stamp.
const BYTES_MIN_V6: u32 = 84;
const IMIX: &str = "imix";

/// A frame's size: bytes with the frame check sequence, or `imix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame(pub FrameSize);

impl From<u32> for Frame {
    /// Of this many bytes: for defaults.
    fn from(bytes: u32) -> Self {
        Self(FrameSize::Fixed(bytes))
    }
}

impl Frame {
    /// Whether frames of IPv6 may be so short.
    ///
    /// # Errors
    /// [`ConfigError`] at that key.
    pub fn check_v6(self, key: &str) -> Result<(), ConfigError> {
        let reason = match self.0 {
            FrameSize::Fixed(bytes) if bytes >= BYTES_MIN_V6 => return Ok(()),
            FrameSize::Fixed(bytes) => outside(bytes, BYTES_MIN_V6),
            FrameSize::Imix => format!(
                "IMIX has frames of 64 bytes, an IPv6 frame has {BYTES_MIN_V6} at least; name sizes"
            ),
        };
        Err(ConfigError::value(key, reason))
    }
}

fn outside(bytes: impl fmt::Display, least: u32) -> String {
    let most = BYTES.end();
    format!("{bytes} is outside {least} to {most} bytes (with the frame check sequence)")
}

impl Value for Frame {
    fn parse(value: &Toml) -> Result<Self, String> {
        match value {
            Toml::Integer(bytes) => {
                let fits = u32::try_from(*bytes).ok().filter(|own| BYTES.contains(own));
                fits.map(Self::from)
                    .ok_or_else(|| outside(bytes, *BYTES.start()))
            }
            Toml::String(name) if name == IMIX => Ok(Self(FrameSize::Imix)),
            other => Err(format!("{other} is no size; write bytes, or \"{IMIX}\"")),
        }
    }

    fn read(text: &str) -> Toml {
        read_whole(text)
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

/// An offer of those frames, as fast as the generator can.
pub fn offer(size: FrameSize, two_way: bool, ipv6: bool, destinations: u32) -> Offer {
    Offer {
        size,
        directions: match two_way {
            true => Directions::TwoWay,
            false => Directions::OneWay,
        },
        family: if ipv6 { Family::V6 } else { Family::V4 },
        destinations,
        ..Offer::default()
    }
}

/// Different destinations that the tester can count: a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destinations(pub u32);

impl From<u32> for Destinations {
    fn from(count: u32) -> Self {
        Self(count)
    }
}

fn whole(value: &Toml) -> Option<u32> {
    u32::try_from(value.as_integer()?).ok()
}

impl Value for Destinations {
    fn parse(value: &Toml) -> Result<Self, String> {
        let fits = |count: &u32| count.is_power_of_two() && *count <= DESTINATIONS_MAX;
        let count = whole(value).filter(fits);
        count
            .map(Self)
            .ok_or_else(|| format!("{value} is no power of two from 1 to {DESTINATIONS_MAX}"))
    }

    fn read(text: &str) -> Toml {
        read_whole(text)
    }

    fn written(&self) -> Toml {
        Toml::Integer(self.0.into())
    }

    fn allowed() -> String {
        format!("a power of two from 1 to {DESTINATIONS_MAX}")
    }
}

/// Routes of a table besides the links'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRoutes(pub u32);

impl From<u32> for TableRoutes {
    fn from(count: u32) -> Self {
        Self(count)
    }
}

impl Value for TableRoutes {
    fn parse(value: &Toml) -> Result<Self, String> {
        let count = whole(value).ok_or_else(|| format!("{value} is no number of routes"))?;
        let spec = Spec {
            routes: Routes::Table(count),
            ..Spec::new(Cpus::among(&[0]))
        };
        let refused = |error: forward::topology::SpecError| error.to_string();
        spec.check().map(|()| Self(count)).map_err(refused)
    }

    fn read(text: &str) -> Toml {
        read_whole(text)
    }

    fn written(&self) -> Toml {
        Toml::Integer(self.0.into())
    }

    fn allowed() -> String {
        "an even number of routes".to_owned()
    }
}

/// Where a router lives, and what lies before it. Its name in a scenario is
/// the home's, with `:bridged` behind where a bridge of the host's is before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    pub kind: home::Kind,
    pub attachment: Attachment,
}

const BRIDGED: &str = ":bridged";
const HOMES: [home::Kind; 3] = [home::Kind::Namespace, home::Kind::Lxc, home::Kind::Runc];

impl Home {
    /// The one that everything else is compared with.
    pub const NATIVE: Self = Self {
        kind: home::Kind::Namespace,
        attachment: Attachment::Direct,
    };

    /// What lies before it, as in dimensions.
    pub const fn before(self) -> &'static str {
        match self.attachment {
            Attachment::Direct => "direct",
            Attachment::Bridged => "bridged",
        }
    }
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bridged = match self.attachment {
            Attachment::Direct => "",
            Attachment::Bridged => BRIDGED,
        };
        write!(f, "{}{bridged}", self.kind.name())
    }
}

impl FromStr for Home {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let (bare, attachment) = match name.strip_suffix(BRIDGED) {
            Some(bare) => (bare, Attachment::Bridged),
            None => (name, Attachment::Direct),
        };
        let kind = HOMES.into_iter().find(|home| home.name() == bare);
        let there_are = HOMES.map(home::Kind::name).join(", ");
        kind.map(|kind| Self { kind, attachment }).ok_or_else(|| {
            format!("no home '{name}'; there are: {there_are}, each also with {BRIDGED}")
        })
    }
}

impl Choice for Home {
    fn known() -> Vec<String> {
        let both = |kind: home::Kind| [kind.name().to_owned(), format!("{}{BRIDGED}", kind.name())];
        HOMES.into_iter().flat_map(both).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_says_again_what_it_was_given() {
        for value in [Toml::Integer(64), Toml::Integer(1518), Toml::from("imix")] {
            assert_eq!(Frame::parse(&value).unwrap().written(), value);
        }
        for wrong in [Toml::Integer(63), Toml::Integer(-7), Toml::Float(64.0)] {
            let error = Frame::parse(&wrong).unwrap_err();
            assert!(error.contains(&wrong.to_string()), "{error}");
        }
        for name in Home::known() {
            assert_eq!(name.parse::<Home>().unwrap().to_string(), name);
        }
        assert!("docker".parse::<Home>().unwrap_err().contains("runc"));
    }

    #[test]
    fn what_cannot_be_is_named_with_its_limit() {
        let error = |frame: Frame| frame.check_v6("frames").unwrap_err().to_string();
        assert!(error(Frame::from(64)).contains("84"));
        assert!(error(Frame(FrameSize::Imix)).contains("IPv6"));
        assert!(Frame::from(84).check_v6("frames").is_ok());
        let destinations = |count: i64| Destinations::parse(&Toml::Integer(count));
        assert_eq!(destinations(256), Ok(Destinations(256)));
        for wrong in [0, 3, -1, 131_072] {
            let error = destinations(wrong).unwrap_err();
            assert!(error.contains("65536"), "{error}");
        }
        let routes = |count: i64| TableRoutes::parse(&Toml::Integer(count));
        assert_eq!(routes(1000), Ok(TableRoutes(1000)));
        assert!(routes(3).unwrap_err().contains("even"));
        assert!(routes(2_000_000).unwrap_err().contains("1048576"));
    }
}
