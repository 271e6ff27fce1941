//! The options of a section. Each is defined once, in the list that [`keys!`](crate::keys)
//! takes: from it come the key of a scenario, the flag, the default, the range,
//! the help and the command that measures again.

use toml::Value as Toml;

use super::ConfigError;
use super::value::{Auto, Count, Real, Value, near};

/// One option, for help and flags.
#[derive(Clone, Debug)]
pub struct Key {
    /// As in a scenario: `sizes_bytes`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub help: String,
    /// What it takes; asked for when it is to be told, since a list of what there
    /// is may look at the host.
    pub allowed: fn() -> String,
    /// Where it is not named.
    pub default: Toml,
    /// Whether a flag's commas stand between several.
    pub is_list: bool,
}

impl Key {
    /// For [`keys!`](crate::keys).
    pub fn of<T: Value>(name: &'static str, help: &str, default: &T) -> Self {
        Self {
            name,
            help: help.trim().replace("\n ", " "),
            allowed: T::allowed,
            default: default.written(),
            is_list: T::IS_LIST,
        }
    }

    /// As on a command line, without dashes: `sizes-bytes`.
    #[must_use]
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// What a flag's text says, as a scenario would have it.
    #[must_use]
    pub fn value(&self, text: &str) -> Toml {
        if self.is_list {
            return Toml::Array(parts(text).into_iter().map(scalar).collect());
        }
        scalar(text)
    }
}

/// What commas part; within parentheses they belong to a name.
fn parts(text: &str) -> Vec<&str> {
    let mut open = 0_usize;
    let is_end = |letter: char| {
        match letter {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _ => {}
        }
        letter == ',' && open == 0
    };
    text.split(is_end).map(str::trim).collect()
}

/// As a shell takes it.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.,:+/=%@".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

fn scalar(text: &str) -> Toml {
    let number = text.parse().map(Toml::Integer);
    let real = || text.parse::<f64>().ok().filter(|real| real.is_finite());
    match (number, text) {
        (Ok(number), _) => number,
        (_, "true") => Toml::Boolean(true),
        (_, "false") => Toml::Boolean(false),
        _ => real().map_or_else(|| Toml::from(text), Toml::Float),
    }
}

/// As a flag takes it.
#[must_use]
pub fn text(value: &Toml) -> String {
    match value {
        Toml::String(text) => text.clone(),
        Toml::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// A struct whose fields are the keys of a table; [`table!`](crate::table) writes it.
pub trait Table: Clone + Default + PartialEq + std::fmt::Debug + 'static {
    /// Its keys, in order.
    fn keys() -> Vec<Key>;

    /// Changes one; none where there is no such key.
    fn set(&mut self, key: &str, value: &Toml) -> Option<Result<(), String>>;

    /// Every key as a scenario has it.
    fn written(&self) -> toml::Table;
}

/// The options of a section; [`keys!`](crate::keys) writes it.
pub trait Keys: Table {
    /// What every section has.
    fn common(&self) -> Common;
}

/// Reads a table.
///
/// # Errors
/// [`ConfigError`] naming the first key that is unknown or whose value cannot be.
pub fn parse<K: Table>(table: &toml::Table) -> Result<K, ConfigError> {
    let mut own = K::default();
    for (key, value) in table {
        match own.set(key, value) {
            Some(Ok(())) => {}
            Some(Err(reason)) => return Err(ConfigError::value(key, reason)),
            None => return Err(unknown(key, K::keys().iter().map(|key| key.name).collect())),
        }
    }
    Ok(own)
}

/// That there is no such key.
#[must_use]
pub fn unknown(key: &str, allowed: Vec<&'static str>) -> ConfigError {
    ConfigError::UnknownKey {
        key: key.to_owned(),
        near: near(key, allowed.iter().copied()),
        allowed,
    }
}

/// The flags that give it, where it is not the default: ` --depth 32`.
#[must_use]
pub fn flags<K: Table>(own: &K) -> String {
    let (written, usual) = (own.written(), K::default().written());
    let keys = K::keys();
    let differing = keys
        .iter()
        .filter(|key| written.get(key.name) != usual.get(key.name));
    differing
        .map(|key| format!(" --{} {}", key.flag(), quoted(&text(&written[key.name]))))
        .collect()
}

/// Defines a struct whose fields are the keys of a table, each with its default.
/// The keys of a last field `and NAME: TYPE` are keys of the same table.
#[macro_export]
macro_rules! table {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[doc = $help:literal])+ $key:ident: $type:ty = $default:expr, )*
        }
        $( and $rest:ident: $rest_type:ty )?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $( $(#[doc = $help])+ pub $key: $type, )*
            $( pub $rest: $rest_type, )?
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $( $key: <$type>::from($default), )*
                    $( $rest: <$rest_type>::default(), )?
                }
            }
        }

        impl $crate::config::keys::Table for $name {
            fn keys() -> Vec<$crate::config::keys::Key> {
                let usual = Self::default();
                let own = [$(
                    $crate::config::keys::Key::of::<$type>(
                        stringify!($key), concat!($($help, "\n"),+), &usual.$key
                    ),
                )*];
                own.into_iter()$( .chain(<$rest_type>::keys()) )?.collect()
            }

            fn set(&mut self, key: &str, value: &toml::Value) -> Option<Result<(), String>> {
                match key {
                    $( stringify!($key) => Some(
                        <$type as $crate::config::value::Value>::parse(value)
                            .map(|value| self.$key = value)
                    ), )*
                    _ => None$( .or_else(|| self.$rest.set(key, value)) )?,
                }
            }

            fn written(&self) -> toml::Table {
                let own = [$( (
                    stringify!($key).to_owned(),
                    $crate::config::value::Value::written(&self.$key),
                ), )*];
                own.into_iter()$( .chain(self.$rest.written()) )?.collect()
            }
        }
    };
}

/// Defines the options of a section: a struct with a field for each, and what
/// every section has besides.
///
/// ```text
/// kit::keys! {
///     /// What `crossings` measures.
///     pub struct Config {
///         /// Which crossings
///         crossings: List<Name<Crossing>> = Crossing::ALL.map(Name),
///     }
/// }
/// ```
#[macro_export]
macro_rules! keys {
    ( $(#[$meta:meta])* $vis:vis struct $name:ident { $($keys:tt)* } ) => {
        $crate::table! {
            $(#[$meta])*
            $vis struct $name { $($keys)* } and common: $crate::config::keys::Common
        }

        impl $crate::config::keys::Keys for $name {
            fn common(&self) -> $crate::config::keys::Common {
                self.common
            }
        }
    };
}

crate::table! {
    /// What every section has.
    #[derive(Copy)]
    pub struct Common {
        /// Seconds of one trial
        seconds: Auto<Real<1, 120_000>> = None,
        /// Rounds; any two arms of a place give that many interleaved pairs
        pairs: Auto<Count<1, 999>> = None,
        /// Half width of every ratio's interval that is enough, as a share (0.02: ±2%)
        precision: Auto<Real<1, 500>> = None,
        /// Seed of everything random
        seed: u64 = 1_u64,
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::{Bytes, List};
    use super::*;

    crate::keys! {
        struct Lock {
            /// Gates to open
            gates: List<Count<1, 9>> = [1, 2],
            /// Water of one
            water_bytes: Bytes<1, 4096> = 64,
        }
    }

    fn lock(text: &str) -> Result<Lock, ConfigError> {
        parse(&text.parse().unwrap())
    }

    #[test]
    fn one_definition_gives_key_flag_default_range_and_command() {
        let keys = Lock::keys();
        let gates = &keys[0];
        assert_eq!(
            (gates.name, gates.help.as_str()),
            ("gates", "Gates to open")
        );
        assert_eq!((gates.allowed)(), "1 to 9; several by commas");
        assert_eq!(text(&gates.default), "1,2");
        assert_eq!(keys[1].flag(), "water-bytes");
        let own = lock("gates = [3, 3, 1]\nwater_bytes = '4k'\nseconds = 0.0").unwrap();
        assert_eq!(flags(&own), " --gates 3,1 --water-bytes 4096");
        assert_eq!(flags(&Lock::default()), "");
    }

    /// What is printed is read again as the same.
    #[test]
    fn flags_mean_what_they_were_printed_from() {
        let own = lock("gates = [4, 7]\npairs = 3\nseconds = 0.5\nprecision = 'auto'\nseed = 9");
        let own = own.unwrap();
        let mut again = Lock::default();
        let printed = flags(&own);
        let words: Vec<_> = printed.split_whitespace().collect();
        for pair in words.chunks(2) {
            let name = pair[0].trim_start_matches("--").replace('-', "_");
            let key = Lock::keys().into_iter().find(|key| key.name == name);
            let value = key.expect("it is known").value(pair[1]);
            again.set(&name, &value).expect("it is known").unwrap();
        }
        assert_eq!(again, own);
    }

    #[test]
    fn wrong_ones_are_named_with_what_is_allowed() {
        for (text, parts) in [
            ("gates = []", ["gates", "at least one"]),
            ("gates = [10]", ["gates", "10 is outside 1 to 9"]),
            ("gates = ['x']", ["gates", "not a whole number"]),
            ("gate = 1", ["gate", "did you mean 'gates'?"]),
            (
                "water_bytes = '5k'",
                ["water_bytes", "5120 is outside 1 to 4096"],
            ),
            ("seconds = 121", ["seconds", "0.001 to 120"]),
            ("pairs = -1", ["pairs", "-1 is outside"]),
        ] {
            let error = lock(text).expect_err(text).to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }

    #[test]
    fn names_with_commas_and_parentheses_stand_in_a_shell() {
        assert_eq!(parts("gcm(ctr(a),b), cbc(a)"), ["gcm(ctr(a),b)", "cbc(a)"]);
        assert_eq!(quoted("1,armed+cap:5000"), "1,armed+cap:5000");
        assert_eq!(quoted("cbc(a)"), "'cbc(a)'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn zero_and_an_empty_list_still_mean_auto() {
        let own = lock("seconds = 0\npairs = 0\nprecision = 0.0").unwrap();
        assert_eq!(own, Lock::default());
        let list = Auto::<List<Count<1, 9>>>::parse(&Toml::Array(vec![]));
        assert_eq!(list, Ok(Auto(None)));
    }
}
