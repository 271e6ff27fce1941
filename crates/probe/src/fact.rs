//! Building facts.

use serde_json::Value;
use trial::{Fact, State};

/// Text read from a host is cut to this many characters.
const TEXT_MAX: usize = 600;

/// How a remedy begins when no act of the user changes the fact.
pub const NOTHING_TO_DO: &str = "nothing to do";

/// A fact that is `ok`. `text` may come from the host: control characters
/// become `?` and a long one is cut, so that no file can write to a terminal.
pub fn fact(
    key: impl Into<String>,
    label: impl Into<String>,
    value: impl Into<Value>,
    text: impl AsRef<str>,
) -> Fact {
    Fact {
        key: clean(&key.into()),
        label: some(clean(&label.into())),
        state: State::Ok,
        value: clean_value(value.into()),
        text: some(clean(text.as_ref())),
        remedy: String::new(),
    }
}

/// A fact that could not be read at all.
pub(super) fn unread(key: &str, label: &str, file: &str) -> Fact {
    fact(key, label, Value::Null, format!("not readable ({file})")).absent(format!(
        "mount or allow reading of {file} where Lockgate runs"
    ))
}

/// Judging a fact.
pub trait Judge {
    /// There, but not as it should be.
    fn degraded(self, remedy: impl AsRef<str>) -> Fact;

    /// Not there.
    fn absent(self, remedy: impl AsRef<str>) -> Fact;
}

/// The reason and the remedy of an error that says both, apart by `; `.
pub fn parts(error: &str) -> (&str, &str) {
    error
        .rsplit_once("; ")
        .unwrap_or((error, "install it anew"))
}

/// There, and not used: somebody else may have put it there.
pub fn refused(key: impl Into<String>, label: impl Into<String>, error: &str) -> Fact {
    let (reason, remedy) = parts(error);
    fact(key, label, Value::Null, reason).degraded(remedy)
}

impl Judge for Fact {
    fn degraded(self, remedy: impl AsRef<str>) -> Fact {
        judged(self, State::Degraded, remedy.as_ref())
    }

    fn absent(self, remedy: impl AsRef<str>) -> Fact {
        judged(self, State::Absent, remedy.as_ref())
    }
}

fn judged(fact: Fact, state: State, remedy: &str) -> Fact {
    Fact {
        state,
        remedy: clean(remedy),
        ..fact
    }
}

/// A file can hold nothing where a word should be; a reader wants to know.
fn some(text: String) -> String {
    if text.is_empty() {
        "(empty)".to_owned()
    } else {
        text
    }
}

fn clean(text: &str) -> String {
    let safe = |c: char| if is_hidden(c) { '?' } else { c };
    let mut cleaned: String = text.trim().chars().take(TEXT_MAX).map(safe).collect();
    if text.trim().chars().nth(TEXT_MAX).is_some() {
        cleaned.push('…');
    }
    cleaned
}

/// Control characters, and those that reorder or hide text on a page.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffd}')
}

fn clean_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(clean_value).collect()),
        other => other,
    }
}

pub(super) fn joined<T: AsRef<str>>(names: &[T]) -> String {
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.iter().map(T::as_ref).collect::<Vec<_>>().join(", "),
    }
}

/// Bytes for people: `24 GiB`, `1.5 MiB`.
pub(super) fn bytes_text(bytes: u64) -> String {
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
        let fact = fact("k\n", "l", vec![long.clone()], &long);
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
