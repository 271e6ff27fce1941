//! A section's table, turned into its configuration.

pub mod checks;
pub mod choices;
mod field_names;
pub mod keys;
pub mod value;

use serde::de::DeserializeOwned;

use crate::config::field_names::field_names;

/// Why a section's table is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A key that the section does not have.
    #[error("unknown key '{key}'{}; allowed: {}", near.map_or_else(String::new, |near| format!(" (did you mean '{near}'?)")), if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") })]
    UnknownKey {
        /// What was given.
        key: String,
        /// What may have been meant.
        near: Option<&'static str>,
        /// What the section has.
        allowed: Vec<&'static str>,
    },
    /// A value that cannot be.
    #[error("{key}: {reason}")]
    Value {
        /// The key whose value it is.
        key: String,
        /// The value, what is allowed, and the remedy.
        reason: String,
    },
}

impl ConfigError {
    /// A value that cannot be; `reason` names the value and what is allowed.
    #[must_use]
    pub fn value(key: &str, reason: impl std::fmt::Display) -> Self {
        Self::Value {
            key: key.to_owned(),
            reason: reason.to_string(),
        }
    }

    /// The key at fault.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::UnknownKey { key, .. } | Self::Value { key, .. } => key,
        }
    }
}

/// Turns a table into a configuration struct. The struct needs
/// `#[serde(default)]` (every key may be left out) and no `flatten`; its field
/// names are the allowed keys.
///
/// # Errors
/// [`ConfigError`] naming the first key that is unknown or has a wrong type.
pub fn from_table<T: DeserializeOwned>(table: toml::Table) -> Result<T, ConfigError> {
    let allowed = field_names::<T>();
    if let Some(key) = table.keys().find(|key| !allowed.contains(&key.as_str())) {
        return Err(keys::unknown(key, allowed.to_vec()));
    }
    T::deserialize(table.clone()).map_err(|whole| blame::<T>(&table, &whole))
}

/// The TOML library does not say which key it stumbled over once the text is
/// gone, so each is tried alone.
fn blame<T: DeserializeOwned>(table: &toml::Table, whole: &toml::de::Error) -> ConfigError {
    table
        .iter()
        .find_map(|(key, value)| {
            let alone = toml::Table::from_iter([(key.clone(), value.clone())]);
            T::deserialize(alone)
                .err()
                .map(|error| ConfigError::value(key, reason(value, error.message())))
        })
        .unwrap_or_else(|| ConfigError::value("", whole.message()))
}

/// What the library says in the terms of whoever wrote the value, which it does
/// not always name.
fn reason(value: &toml::Value, said: &str) -> String {
    const RANGES: [(&str, &str); 5] = [
        ("u8", "a whole number from 0 to 255"),
        ("u16", "a whole number from 0 to 65535"),
        ("u32", "a whole number from 0 to 4294967295"),
        ("u64", "a whole number, 0 or more"),
        ("usize", "a whole number, 0 or more"),
    ];
    let range = RANGES.iter().find_map(|(name, range)| {
        let said = said.strip_suffix(name)?.strip_suffix("expected ")?;
        Some(format!("{said}expected {range}"))
    });
    match range {
        Some(range) => range,
        None if said.starts_with("invalid") => said.to_owned(),
        None => format!("{value} is refused: {said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Lock {
        gates: Vec<u32>,
        width_m: f64,
    }

    fn parse(text: &str) -> Result<Lock, ConfigError> {
        from_table(text.parse().unwrap())
    }

    #[test]
    fn an_empty_table_is_the_default() {
        assert_eq!(parse(""), Ok(Lock::default()));
        assert_eq!(
            parse("gates = [1, 2]\nwidth_m = 4.5"),
            Ok(Lock {
                gates: vec![1, 2],
                width_m: 4.5
            })
        );
    }

    #[test]
    fn an_unknown_key_names_the_allowed_ones() {
        let error = parse("gatez = [1]").unwrap_err();
        assert_eq!(error.key(), "gatez");
        assert_eq!(
            error.to_string(),
            "unknown key 'gatez' (did you mean 'gates'?); allowed: gates, width_m"
        );
    }

    #[test]
    fn a_wrong_type_names_its_key() {
        let error = parse("gates = [1]\nwidth_m = 'wide'").unwrap_err();
        assert_eq!(error.key(), "width_m");
        assert!(error.to_string().contains("wide"), "{error}");
        assert_eq!(parse("gates = 7").unwrap_err().key(), "gates");
    }

    #[test]
    fn a_number_out_of_range_is_told_the_range() {
        let error = parse("gates = [-7]").unwrap_err().to_string();
        assert!(error.contains("-7"), "{error}");
        assert!(
            error.ends_with("a whole number from 0 to 4294967295"),
            "{error}"
        );
        let said = |said: &str| reason(&toml::Value::Integer(-7), said);
        assert_eq!(said("write a kind"), "-7 is refused: write a kind");
        assert!(said("invalid value: -7, expected usize").ends_with("0 or more"));
    }
}
