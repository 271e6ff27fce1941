//! Building facts.

use serde_json::Value;
use sys::plain::is_shown;
use trial::{Fact, State};

/// Text read from a host is cut to this many characters.
const TEXT_MAX: usize = 600;

/// How a remedy begins when no act of the user changes the fact.
pub const NOTHING_TO_DO: &str = "nothing to do";

/// What a reader found: a fact without its names.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) state: State,
    pub(crate) value: Value,
    pub(crate) text: String,
    pub(crate) remedy: String,
}

pub(crate) fn ok(value: impl Into<Value>, text: impl Into<String>) -> Found {
    Found {
        state: State::Ok,
        value: value.into(),
        text: text.into(),
        remedy: String::new(),
    }
}

/// Its value is its text.
pub(crate) fn shown(text: impl Into<String>) -> Found {
    let text = text.into();
    ok(text.clone(), text)
}

/// Without a value.
pub(crate) fn absent(text: impl Into<String>, remedy: impl Into<String>) -> Found {
    ok(Value::Null, text).absent(remedy)
}

pub(crate) fn unread(file: &str) -> Found {
    let remedy = format!("mount or allow reading of {file} where Lockgate runs");
    absent(format!("not readable ({file})"), remedy)
}

/// A capability that is there, or not.
pub(crate) fn whether(
    is_there: bool,
    yes: impl Into<String>,
    no: impl Into<String>,
    remedy: impl Into<String>,
) -> Found {
    match is_there {
        true => ok(true, yes),
        false => ok(false, no).absent(remedy),
    }
}

/// There, and not used, since another user may have put it there.
pub(crate) fn refused(error: &str) -> Found {
    let (reason, remedy) = parts(error);
    ok(Value::Null, reason).degraded(remedy)
}

/// The reason and the remedy of an error that says both, apart by `; `.
pub(crate) fn parts(error: &str) -> (&str, &str) {
    error
        .rsplit_once("; ")
        .unwrap_or((error, "install it anew"))
}

impl Found {
    /// There, but not as it should be.
    pub(crate) fn degraded(self, remedy: impl Into<String>) -> Self {
        self.judged(State::Degraded, remedy.into())
    }

    pub(crate) fn degraded_unless(self, is_good: bool, remedy: impl Into<String>) -> Self {
        match is_good {
            true => self,
            false => self.degraded(remedy),
        }
    }

    pub(crate) fn absent(self, remedy: impl Into<String>) -> Self {
        self.judged(State::Absent, remedy.into())
    }

    fn judged(self, state: State, remedy: String) -> Self {
        Self {
            state,
            remedy,
            ..self
        }
    }

    /// The fact. What is found may come from the host: control characters become
    /// `?` and long texts are cut, so that no file can write to a terminal.
    pub(crate) fn named(self, key: impl AsRef<str>, label: impl AsRef<str>) -> Fact {
        Fact {
            key: clean(key.as_ref()),
            label: some(clean(label.as_ref())),
            state: self.state,
            value: clean_value(self.value),
            text: some(clean(&self.text)),
            remedy: clean(&self.remedy),
        }
    }
}

/// A file may be empty where a word is expected.
fn some(text: String) -> String {
    if text.is_empty() {
        "(empty)".to_owned()
    } else {
        text
    }
}

fn clean(text: &str) -> String {
    let safe = |c: char| match is_shown(c) && c != char::REPLACEMENT_CHARACTER {
        true => c,
        false => '?',
    };
    let mut cleaned: String = text.trim().chars().take(TEXT_MAX).map(safe).collect();
    if text.trim().chars().nth(TEXT_MAX).is_some() {
        cleaned.push('…');
    }
    cleaned
}

fn clean_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(clean_value).collect()),
        other => other,
    }
}

pub(crate) fn joined<T: AsRef<str>>(names: &[T]) -> String {
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.iter().map(T::as_ref).collect::<Vec<_>>().join(", "),
    }
}

/// Bytes for people: `24 GiB`, `1.5 MiB`.
pub(crate) fn bytes_text(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let rounded = (value * 10.0).round() / 10.0;
    format!("{rounded} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_tamed() {
        let long = format!("\u{1b}[31m{}", "x".repeat(10_000));
        let fact = ok(vec![long.clone()], long).named("k\n", "l");
        assert_eq!(fact.key, "k");
        assert!(fact.text.starts_with("?[31mx") && fact.text.ends_with('…'));
        assert!(fact.value.to_string().len() < 2 * TEXT_MAX);
    }

    #[test]
    fn bytes_are_rounded_for_people() {
        assert_eq!(bytes_text(0), "0 bytes");
        assert_eq!(bytes_text(1 << 20), "1 MiB");
        assert_eq!(bytes_text(3 << 19), "1.5 MiB");
        assert_eq!(bytes_text(u64::MAX), "16384 PiB");
    }
}
