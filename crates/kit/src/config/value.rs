//! The types that options have: each knows what it takes, and says so.

use std::fmt::Display;
use std::ops::Deref;
use std::str::FromStr;

use toml::Value as Toml;

use super::keys::parts;

/// What an option may hold.
pub trait Value: Clone + PartialEq + std::fmt::Debug {
    /// From what a scenario has.
    ///
    /// # Errors
    /// In words: the value and what is allowed.
    fn parse(value: &Toml) -> Result<Self, String>;

    /// What a flag's text says, as a scenario would have it. What is none of its
    /// kind stays a text, which [`parse`](Self::parse) refuses by name.
    fn read(text: &str) -> Toml;

    /// As a scenario has it.
    fn written(&self) -> Toml;

    /// What is allowed, for people.
    fn allowed() -> String;
}

/// A type of option with a range and a number behind it.
macro_rules! ranged {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name<const LEAST: usize, const MOST: usize>(usize);

        impl<const LEAST: usize, const MOST: usize> $name<LEAST, MOST> {
            #[must_use]
            pub fn get(self) -> usize {
                self.0
            }
        }

        impl<const LEAST: usize, const MOST: usize> From<usize> for $name<LEAST, MOST> {
            /// # Panics
            /// Outside its range: for defaults.
            fn from(value: usize) -> Self {
                assert!((LEAST..=MOST).contains(&value), "a default is allowed");
                Self(value)
            }
        }

        impl<const LEAST: usize, const MOST: usize> List<$name<LEAST, MOST>> {
            pub fn values(&self) -> impl Iterator<Item = usize> + Clone {
                self.iter().map(|one| one.0)
            }
        }
    };
}

ranged! {
    /// A whole number of something, `LEAST` to `MOST`.
    Count
}

ranged! {
    /// A number of bytes, `LEAST` to `MOST`: `4096`, `"4k"` or `"4KiB"`.
    Bytes
}

fn whole(value: &Toml, least: usize, most: usize) -> Result<usize, String> {
    let number = value
        .as_integer()
        .ok_or_else(|| format!("{value} is not a whole number; {least} to {most} is allowed"))?;
    usize::try_from(number)
        .ok()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("{number} is outside {least} to {most}"))
}

/// A flag's text where a whole number is wanted.
#[must_use]
pub fn read_whole(text: &str) -> Toml {
    text.parse()
        .map_or_else(|_| Toml::from(text), Toml::Integer)
}

/// A flag's text where a number is wanted.
#[must_use]
pub fn read_real(text: &str) -> Toml {
    text.parse().map_or_else(|_| Toml::from(text), Toml::Float)
}

/// A flag's text where several are wanted, with commas between.
#[must_use]
pub fn read_each<T: Value>(text: &str) -> Toml {
    let items = parts(text);
    Toml::Array(items.iter().map(|item| T::read(item)).collect())
}

fn integer(value: usize) -> Toml {
    Toml::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

impl<const LEAST: usize, const MOST: usize> Value for Count<LEAST, MOST> {
    fn parse(value: &Toml) -> Result<Self, String> {
        whole(value, LEAST, MOST).map(Self)
    }

    fn read(text: &str) -> Toml {
        read_whole(text)
    }

    fn written(&self) -> Toml {
        integer(self.0)
    }

    fn allowed() -> String {
        format!("{LEAST} to {MOST}")
    }
}

impl<const LEAST: usize, const MOST: usize> Value for Bytes<LEAST, MOST> {
    fn parse(value: &Toml) -> Result<Self, String> {
        let number = value.as_str().and_then(bytes).map(integer);
        whole(number.as_ref().unwrap_or(value), LEAST, MOST).map(Self)
    }

    fn read(text: &str) -> Toml {
        read_whole(text)
    }

    fn written(&self) -> Toml {
        integer(self.0)
    }

    fn allowed() -> String {
        format!("{LEAST} to {MOST} bytes, also 4k, 1MiB")
    }
}

/// `16k`, `16KiB`, `1m`, `1MiB`.
fn bytes(text: &str) -> Option<usize> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match &lower[digits.len()..] {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        _ => return None,
    };
    digits.trim().parse::<usize>().ok()?.checked_mul(1 << shift)
}

/// A number, `LEAST` to `MOST` thousandths.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Real<const LEAST: i64, const MOST: i64>(f64);

impl<const LEAST: i64, const MOST: i64> Real<LEAST, MOST> {
    const RANGE: (f64, f64) = (LEAST as f64 / 1e3, MOST as f64 / 1e3);

    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl<const LEAST: i64, const MOST: i64> From<f64> for Real<LEAST, MOST> {
    /// # Panics
    /// Outside its range: for defaults.
    fn from(value: f64) -> Self {
        let (least, most) = Self::RANGE;
        assert!((least..=most).contains(&value), "a default is allowed");
        Self(value)
    }
}

impl<const LEAST: i64, const MOST: i64> Value for Real<LEAST, MOST> {
    fn parse(value: &Toml) -> Result<Self, String> {
        let (least, most) = Self::RANGE;
        let number = match value {
            Toml::Float(number) => *number,
            Toml::Integer(number) => *number as f64,
            _ => return Err(format!("{value} is not a number; {}", Self::allowed())),
        };
        if (least..=most).contains(&number) {
            Ok(Self(number))
        } else {
            Err(format!("{number} is outside {least} to {most}"))
        }
    }

    fn read(text: &str) -> Toml {
        read_real(text)
    }

    fn written(&self) -> Toml {
        Toml::Float(self.0)
    }

    fn allowed() -> String {
        let (least, most) = Self::RANGE;
        format!("{least} to {most}")
    }
}

/// What is chosen by its name.
pub trait Choice: Clone + PartialEq + std::fmt::Debug + Display + FromStr<Err: Display> {
    /// The names there are, or how they are written: for help, and to say what
    /// a wrong one may have meant.
    fn known() -> Vec<String>;

    /// The same for help, each with what its name alone does not say.
    fn described() -> Vec<String> {
        Self::known()
    }
}

/// Makes a type whose values are `Self::ALL`, each with a `name()`, one that options choose
/// by this name. The last argument says what a name alone does not.
#[macro_export]
macro_rules! named {
    ($type:ty, $what:literal $(, $described:expr)?) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, String> {
                let own = Self::ALL.into_iter().find(|own| own.name() == name);
                own.ok_or_else(|| {
                    let known = Self::ALL.map(|own| own.name()).join(", ");
                    format!("no {} '{name}'; there are: {known}", $what)
                })
            }
        }

        impl $crate::config::value::Choice for $type {
            fn known() -> Vec<String> {
                Self::ALL.map(|own| own.name().to_owned()).to_vec()
            }
            $(
                fn described() -> Vec<String> {
                    Self::ALL.map($described).to_vec()
                }
            )?
        }
    };
}

/// One of the names that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name<T>(pub T);

impl<T: Choice> From<&str> for Name<T> {
    /// # Panics
    /// Where there is none such: for defaults.
    fn from(name: &str) -> Self {
        Self(name.parse().unwrap_or_else(|error| panic!("{error}")))
    }
}

impl<T> Deref for Name<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Choice> Value for Name<T> {
    fn parse(value: &Toml) -> Result<Self, String> {
        let name = value
            .as_str()
            .ok_or_else(|| format!("{value} is not a name; {}", Self::allowed()))?;
        name.parse()
            .map(Self)
            .map_err(|error: T::Err| meant(&error, name, T::known().iter().map(String::as_str)))
    }

    fn read(text: &str) -> Toml {
        Toml::from(text)
    }

    fn written(&self) -> Toml {
        Toml::String(self.0.to_string())
    }

    fn allowed() -> String {
        T::described().join(", ")
    }
}

/// The name that a misspelt one may have meant.
#[must_use]
pub fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Less alike is another word (Jaro-Winkler, 1 being equal).
    const ALIKE_MIN: f64 = 0.8;
    known
        .filter(|own| *own != name)
        .map(|own| (strsim::jaro_winkler(name, own), own))
        .filter(|(alike, _)| *alike >= ALIKE_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, own)| own)
}

/// The error, with the name that may have been meant.
pub(super) fn meant<'a>(
    error: &dyn Display,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> String {
    match near(name, known) {
        Some(near) => format!("{error}; did you mean '{near}'?"),
        None => error.to_string(),
    }
}

/// Those of a list; one alone is a list of it.
pub fn items(value: &Toml) -> &[Toml] {
    value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// One or more, none twice, in the order in which they were named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T>(Vec<T>);

impl<T: Value> List<T> {
    /// # Panics
    /// Without any.
    pub fn of(items: impl IntoIterator<Item = impl Into<T>>) -> Self {
        let mut kept: Vec<T> = Vec::new();
        for item in items {
            let item = item.into();
            if !kept.contains(&item) {
                kept.push(item);
            }
        }
        assert!(!kept.is_empty(), "a list names one at least");
        Self(kept)
    }
}

impl<T: Copy> List<Name<T>> {
    pub fn values(&self) -> impl Iterator<Item = T> + Clone {
        self.iter().map(|name| name.0)
    }
}

impl<T: Ord> List<T> {
    pub fn sort(&mut self) {
        self.0.sort();
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Value, U: Into<T>, const N: usize> From<[U; N]> for List<T> {
    fn from(items: [U; N]) -> Self {
        Self::of(items)
    }
}

impl<T: Value> Value for List<T> {
    fn parse(value: &Toml) -> Result<Self, String> {
        let items = items(value);
        if items.is_empty() {
            return Err("an empty list measures nothing; name at least one".to_owned());
        }
        let items: Vec<T> = items.iter().map(T::parse).collect::<Result<_, _>>()?;
        Ok(Self::of(items))
    }

    fn read(text: &str) -> Toml {
        read_each::<T>(text)
    }

    fn written(&self) -> Toml {
        Toml::Array(self.0.iter().map(T::written).collect())
    }

    fn allowed() -> String {
        format!("{}; several by commas", T::allowed())
    }
}

/// None or more, in the order in which they were named, also several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Several<T>(Vec<T>);

/// How [`Several`] without any is written.
pub(super) const NONE: &str = "none";

impl<T> Deref for Several<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Value, U: Into<T>, const N: usize> From<[U; N]> for Several<T> {
    fn from(items: [U; N]) -> Self {
        Self(items.map(Into::into).into())
    }
}

impl<T> FromIterator<T> for Several<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T: Value> Value for Several<T> {
    fn parse(value: &Toml) -> Result<Self, String> {
        if *value == Toml::from(NONE) {
            return Ok(Self(Vec::new()));
        }
        let items = items(value);
        let own = items.iter().map(T::parse).collect();
        match own {
            Ok(own) => Ok(Self(own)),
            // In a list it may be the name of one.
            Err(_) if items == [Toml::from(NONE)] => Ok(Self(Vec::new())),
            Err(error) => Err(error),
        }
    }

    fn read(text: &str) -> Toml {
        match text {
            NONE => Toml::from(NONE),
            some => read_each::<T>(some),
        }
    }

    fn written(&self) -> Toml {
        match self.0.is_empty() {
            true => Toml::from(NONE),
            false => Toml::Array(self.0.iter().map(T::written).collect()),
        }
    }

    fn allowed() -> String {
        format!("{}; several by commas, or {NONE}", T::allowed())
    }
}

/// Chosen for this host and budget, unless it is named. Scenarios before there
/// was `"auto"` have 0 or an empty list for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Auto<T>(pub Option<T>);

/// How [`Auto`] is written.
const AUTO: &str = "auto";

impl<T: Value> Value for Auto<T> {
    fn parse(value: &Toml) -> Result<Self, String> {
        let is_auto = match value {
            Toml::String(text) => text == AUTO,
            Toml::Array(items) => items.is_empty() || items == &[Toml::from(AUTO)],
            _ => false,
        };
        if is_auto {
            return Ok(Self(None));
        }
        let is_zero = value.as_integer() == Some(0) || value.as_float() == Some(0.0);
        match T::parse(value) {
            Ok(value) => Ok(Self(Some(value))),
            Err(_) if is_zero => Ok(Self(None)),
            Err(error) => Err(format!("{error}; or \"{AUTO}\"")),
        }
    }

    fn read(text: &str) -> Toml {
        match text {
            AUTO => Toml::from(AUTO),
            other => T::read(other),
        }
    }

    fn written(&self) -> Toml {
        match &self.0 {
            Some(value) => value.written(),
            None => Toml::from(AUTO),
        }
    }

    fn allowed() -> String {
        format!("{AUTO}, {}", T::allowed())
    }
}

impl<T: Value> From<Option<T>> for Auto<T> {
    fn from(value: Option<T>) -> Self {
        Self(value)
    }
}

/// What may be left out.
impl<T: Value> Value for Option<T> {
    fn parse(value: &Toml) -> Result<Self, String> {
        T::parse(value).map(Some)
    }

    fn read(text: &str) -> Toml {
        T::read(text)
    }

    fn written(&self) -> Toml {
        self.as_ref().map_or_else(|| Toml::from(NONE), T::written)
    }

    fn allowed() -> String {
        T::allowed()
    }
}

impl Value for u64 {
    fn parse(value: &Toml) -> Result<Self, String> {
        let number = value.as_integer().and_then(|number| number.try_into().ok());
        number.ok_or_else(|| format!("{value} is not a whole number of 0 or more"))
    }

    fn read(text: &str) -> Toml {
        read_whole(text)
    }

    fn written(&self) -> Toml {
        Toml::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
    }

    fn allowed() -> String {
        "a whole number of 0 or more".to_owned()
    }
}

impl Value for String {
    fn parse(value: &Toml) -> Result<Self, String> {
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| format!("{value} is not a text"))
    }

    fn read(text: &str) -> Toml {
        Toml::from(text)
    }

    fn written(&self) -> Toml {
        Toml::from(self.as_str())
    }

    fn allowed() -> String {
        "a text".to_owned()
    }
}

impl Value for bool {
    fn parse(value: &Toml) -> Result<Self, String> {
        value
            .as_bool()
            .ok_or_else(|| format!("{value} is neither true nor false"))
    }

    fn read(text: &str) -> Toml {
        text.parse()
            .map_or_else(|_| Toml::from(text), Toml::Boolean)
    }

    fn written(&self) -> Toml {
        Toml::Boolean(*self)
    }

    fn allowed() -> String {
        "true or false".to_owned()
    }
}
