//! Settings that are not ours, of devices that were lent and of the host's
//! control groups: how they were, what we made of them, and which of them may be
//! put back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use sys::plain::is_shown;

/// The maximum length of a name or value in a journal, bytes.
const TEXT_BYTES_MAX: usize = 128;
/// The maximum number of settings of one thing in a journal: a device has about 60
/// offloads and 200 sysctls.
const SETTINGS_MAX: usize = 1024;

/// The value of a switch that is on; one that is off has no entry.
pub(crate) const ON: &str = "on";
pub(crate) const OFF: &str = "off";

pub type Values = BTreeMap<String, String>;

/// The original settings of a thing, and the values that Lockgate set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Changes {
    pub before: Values,
    /// All values set: a crash leaves one of these, or none.
    pub set: BTreeMap<String, BTreeSet<String>>,
}

/// A setting that was not restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub setting: String,
    pub now: String,
    pub before: String,
    /// Why the kernel refused; `None`: another program has set it meanwhile.
    pub refused: Option<String>,
}

impl fmt::Display for Kept {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            setting,
            now,
            before,
            refused,
        } = self;
        write!(text, "{setting} stays '{now}' and was '{before}': ")?;
        match refused {
            Some(reason) => write!(text, "the kernel refused it ({reason}); set it by hand"),
            None => text.write_str("another program has set it meanwhile"),
        }
    }
}

impl Changes {
    /// Notes the value that a setting is about to get; returns whether that is new.
    pub(crate) fn note(&mut self, setting: &str, value: &str) -> bool {
        let values = self.set.entry(setting.to_owned()).or_default();
        values.insert(value.to_owned())
    }

    /// Settings to be written, with their values, and those that stay as another
    /// program set them. A setting that changed without being set follows from one
    /// that was set: a kernel that forwards has no LRO.
    pub(crate) fn due(&self, now: &Values) -> (Vec<(String, String)>, Vec<Kept>) {
        let (mut due, mut kept) = (vec![], vec![]);
        let known: BTreeSet<&String> = self.before.keys().chain(now.keys()).collect();
        for setting in known {
            let [before, now] =
                [&self.before, now].map(|of| of.get(setting).map_or(OFF, String::as_str));
            let set = self.set.get(setting);
            if now == before {
                continue;
            }
            if set.is_none_or(|values| values.contains(now)) {
                due.push((setting.clone(), before.to_owned()));
            } else {
                kept.push(Kept::of(setting, now, before));
            }
        }
        (due, kept)
    }

    /// Whether it is plausible as read from a journal.
    pub(crate) fn are_plain(&self) -> bool {
        let set = self.set.iter().flat_map(|(setting, values)| {
            let each = move |value| (setting, value);
            values.iter().map(each)
        });
        are_plain(self.before.iter().chain(set))
    }
}

impl Kept {
    pub(crate) fn of(setting: &str, now: &str, before: &str) -> Self {
        Self {
            setting: setting.to_owned(),
            now: now.to_owned(),
            before: before.to_owned(),
            refused: None,
        }
    }

    pub(crate) fn refused(self, why: &dyn fmt::Display) -> Self {
        Self {
            refused: Some(why.to_string()),
            ..self
        }
    }
}

/// Few and short, on one line each; a name is a path that does not lead upwards.
pub(crate) fn are_plain<'a>(mut settings: impl Iterator<Item = (&'a String, &'a String)>) -> bool {
    let is_short = |text: &str| text.len() <= TEXT_BYTES_MAX && text.chars().all(is_shown);
    let mut count = 0;
    settings.all(|(name, value)| {
        count += 1;
        let mut parts = name.split('/');
        count <= SETTINGS_MAX
            && is_short(name)
            && is_short(value)
            && parts.all(|part| !matches!(part, "" | "." | ".."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(of: &[(&str, &str)]) -> Values {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        of.iter().map(owned).collect()
    }

    #[test]
    fn only_what_is_as_we_set_it_is_put_back() {
        let mut changes = Changes {
            before: values(&[("a", "1"), ("b", "1"), ("c", "1"), ("d", "1"), ("lro", ON)]),
            ..Changes::default()
        };
        for (setting, value) in [("a", "2"), ("a", "3"), ("b", "2"), ("c", "2"), ("gro", ON)] {
            assert!(changes.note(setting, value));
        }
        assert!(!changes.note("a", "2"));
        // Of `a` the last was never written, of `b` nothing was.
        let now = values(&[("a", "2"), ("b", "1"), ("c", "9"), ("d", "4"), ("gro", ON)]);
        let (due, kept) = changes.due(&now);
        let wanted = [("a", "1"), ("d", "1"), ("gro", OFF), ("lro", ON)];
        let wanted = wanted.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(due, wanted);
        assert_eq!(kept, [Kept::of("c", "9", "1")]);
        assert!(
            kept[0].to_string().contains("another program"),
            "{}",
            kept[0]
        );
    }

    #[test]
    fn what_a_journal_cannot_mean_is_not_plain() {
        let plain = |name: &str, value: &str| {
            let before = values(&[(name, value)]);
            Changes {
                before,
                ..Changes::default()
            }
            .are_plain()
        };
        assert!(plain("queues/rx-0/rps_cpus", "00000003"));
        for name in [
            "",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a\nb",
            &"x".repeat(129),
        ] {
            assert!(!plain(name, "1"), "{name}");
        }
        assert!(!plain("mtu", "1\n2"));
        let many = (0..=SETTINGS_MAX).map(|number| (number.to_string(), "1".to_owned()));
        let many: Values = many.collect();
        assert!(!are_plain(many.iter()));
    }
}
