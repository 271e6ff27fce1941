//! The options of a section. Each is defined once, in the list that [`keys!`](crate::keys)
//! takes: from it come the key of a scenario, the flag, the default, the range,
//! the help and the command that measures again.

use toml::Value as Toml;

use super::ConfigError;
use super::value::{Auto, Count, NONE, Real, Value, near};

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
    /// What a flag's text says, as a scenario would have it: its type decides, so that
    /// a text may look like a number.
    pub value: fn(&str) -> Toml,
}

impl Key {
    /// For [`keys!`](crate::keys).
    pub fn of<T: Value>(name: &'static str, help: &str, default: &T) -> Self {
        Self {
            name,
            help: help.trim().replace("\n ", " "),
            allowed: T::allowed,
            default: default.written(),
            value: T::read,
        }
    }

    /// As on a command line, without dashes: `sizes-bytes`.
    #[must_use]
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }
}

/// What commas part; within parentheses they belong to a name, and within double
/// quotes to a text.
pub(super) fn parts(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = Some(text);
    while let Some(text) = rest {
        let (part, behind) = in_quotes(text).unwrap_or_else(|| up_to_comma(text));
        parts.push(part);
        rest = behind;
    }
    parts
}

/// The first part, and what is behind its comma.
fn up_to_comma(text: &str) -> (String, Option<&str>) {
    let mut open = 0_usize;
    let is_end = |letter: char| {
        match letter {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _ => {}
        }
        letter == ',' && open == 0
    };
    let (part, behind) = match text.split_once(is_end) {
        Some((part, behind)) => (part, Some(behind)),
        None => (text, None),
    };
    (part.trim().to_owned(), behind)
}

/// The same of a part in quotes, in which a backslash stands before a quote or
/// another one; none where it is not in quotes as a whole.
fn in_quotes(text: &str) -> Option<(String, Option<&str>)> {
    let mut letters = text.trim_start().strip_prefix('"')?.chars();
    let mut part = String::new();
    loop {
        match letters.next()? {
            '"' => break,
            '\\' => part.push(letters.next()?),
            other => part.push(other),
        }
    }
    let behind = letters.as_str().trim_start();
    match behind.strip_prefix(',') {
        Some(behind) => Some((part, Some(behind))),
        None => behind.is_empty().then_some((part, None)),
    }
}

/// One of several, so that [`parts`] gives it again.
fn part(text: String) -> String {
    let is_plain = !text.starts_with('"') && parts(&format!("{text},x")) == [text.as_str(), "x"];
    match is_plain {
        true => text,
        false => format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\"")),
    }
}

/// As a shell takes it.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.,:+/=%@".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// As a flag takes it.
#[must_use]
pub fn text(value: &Toml) -> String {
    match value {
        Toml::String(text) => text.clone(),
        // One that is called as none is.
        Toml::Array(items) if *items == [Toml::from(NONE)] => format!("\"{NONE}\""),
        Toml::Array(items) => {
            let items = items.iter().map(|item| part(text(item)));
            items.collect::<Vec<_>>().join(",")
        }
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
        .map(|key| {
            let value = text(&written[key.name]);
            // What begins like a flag is no word of its own.
            let between = if value.starts_with('-') { "=" } else { " " };
            format!(" --{}{between}{}", key.flag(), quoted(&value))
        })
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
    use super::super::value::{Bytes, List, Name, Several};
    use super::*;
    use crypto::Algorithm;
    use proptest::collection::vec;
    use proptest::prelude::*;

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

    crate::keys! {
        struct Every {
            /// As it is
            text: String = "usual",
            /// Several
            texts: List<String> = ["usual"],
            /// Of its kind
            several: Several<String> = ["usual"],
            /// Of its kind
            chosen: Auto<List<Name<Algorithm>>> = None,
            /// Of its kind
            names: List<Name<Algorithm>> = ["sha256"],
            /// Of its kind
            counts: Several<Count<0, 99>> = [1],
            /// Of its kind
            bytes: List<Bytes<1, 4096>> = [64],
            /// Of its kind
            share: Auto<Real<0, 5000>> = None,
            /// Of its kind
            reals: Several<Real<0, 5000>> = [1.0],
            /// Of its kind
            is_so: bool = false,
        }
    }

    /// Words as a shell makes them of what has no other signs than quotes.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        let (mut word, mut is_quoted) = (None, false);
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\'' => (word, is_quoted) = (word.or(Some(String::new())), !is_quoted),
                ' ' if !is_quoted => words.extend(word.take()),
                '\\' if !is_quoted => word.get_or_insert_default().extend(letters.next()),
                other => word.get_or_insert_default().push(other),
            }
        }
        words.extend(word);
        words
    }

    /// What a printed command says, by the keys' own types.
    fn from_flags<K: Table>(printed: &str) -> K {
        let (keys, mut own) = (K::keys(), K::default());
        let mut words = words(printed).into_iter();
        while let Some(word) = words.next() {
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), value.to_owned()),
                None => {
                    let value = words.next().expect("a flag has a value");
                    assert!(!value.starts_with('-'), "{value} would be a flag");
                    (word, value)
                }
            };
            let key = keys.iter().find(|key| format!("--{}", key.flag()) == flag);
            let key = key.expect("it is known");
            let set = own.set(key.name, &(key.value)(&value));
            set.expect("it is known").expect("it was printed");
        }
        own
    }

    /// Those that look like something else, and any others.
    fn any_text() -> impl Strategy<Value = String> {
        let like = [
            "486",
            "-7",
            "0x10",
            "1e9",
            "2.0",
            ".5",
            "inf",
            "-inf",
            "nan",
            "true",
            "false",
            "none",
            "auto",
            "all",
            "",
            " ",
            ",",
            "a,b",
            ", ",
            "a ,b",
            " a",
            "a ",
            "(",
            ")",
            "f(a,b",
            "\"",
            "\"a\"",
            "'a'",
            "it's",
            "\\",
            "a\\",
            "\"a",
            "[1, 2]",
            "{ a = 1 }",
            "1979-05-27",
            "07:32:00",
            "--cpu",
            "-x=1",
            "a=b",
            "$HOME",
            "`a`",
            "a\nb",
            "ä",
            "host,-sha-ni",
        ];
        prop_oneof![
            2 => proptest::sample::select(like.map(str::to_owned).to_vec()),
            1 => "[ -~]{0,8}",
        ]
    }

    fn any_algorithms() -> impl Strategy<Value = List<Name<Algorithm>>> {
        let one = proptest::sample::select(Algorithm::ALL.to_vec()).prop_map(Name);
        vec(one, 1..3).prop_map(List::of)
    }

    fn any_every() -> impl Strategy<Value = Every> {
        let real = || (0..5000_i32).prop_map(|milli| Real::from(f64::from(milli) / 1e3));
        let numbers = (
            vec((0..99_usize).prop_map(Count::from), 0..3),
            vec((1..4096_usize).prop_map(Bytes::<1, 4096>::from), 1..3),
            proptest::option::of(real()),
            vec(real(), 0..3),
            any::<bool>(),
        );
        let texts = (any_text(), vec(any_text(), 1..4), vec(any_text(), 0..4));
        let names = (proptest::option::of(any_algorithms()), any_algorithms());
        (texts, names, numbers).prop_map(|(texts, names, numbers)| Every {
            text: texts.0,
            texts: List::of(texts.1),
            several: texts.2.into_iter().collect(),
            chosen: Auto(names.0),
            names: names.1,
            counts: numbers.0.into_iter().collect(),
            bytes: List::of(numbers.1),
            share: Auto(numbers.2),
            reals: numbers.3.into_iter().collect(),
            is_so: numbers.4,
            common: Common::default(),
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: testing::cases(512, 100_000), failure_persistence: None, ..ProptestConfig::default() })]

        /// A printed value is read as the same value again, whatever it looks like.
        #[test]
        fn flags_mean_what_they_were_printed_from(own in any_every()) {
            let printed = flags(&own);
            prop_assert_eq!(from_flags::<Every>(&printed), own, "{}", printed);
        }
    }

    #[test]
    fn a_number_is_no_text_and_no_text_a_number() {
        let told = |name: &str, text: &str| {
            let key = Every::keys().into_iter().find(|key| key.name == name);
            let value = (key.expect("it is known").value)(text);
            Every::default().set(name, &value).expect("it is known")
        };
        assert_eq!(told("text", "486"), Ok(()));
        assert_eq!(told("texts", "486,true,inf"), Ok(()));
        for (name, text, part) in [
            ("counts", "x", "\"x\" is not a whole number"),
            ("counts", "1.5", "not a whole number"),
            ("share", "inf", "inf is outside 0 to 5"),
            ("share", "nan", "NaN is outside"),
            ("is_so", "yes", "neither true nor false"),
            ("names", "256", "unknown algorithm '256'"),
        ] {
            let error = told(name, text).unwrap_err();
            assert!(error.contains(part), "{name} {text}: {error}");
        }
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
