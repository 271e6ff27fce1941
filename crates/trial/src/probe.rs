//! What a host can do, as data: groups of facts, each with its remedy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How well a capability is there.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Ok,
    /// There, but not as it should be: the remedy says what to do.
    Degraded,
    Absent,
}

/// One fact about the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// Dotted name, stable over versions: `cpu.cache.l2_bytes`.
    pub key: String,
    /// Name for people: `L2 cache`.
    pub label: String,
    /// How well it is there.
    pub state: State,
    /// The value for machines: number, string, boolean, list or null.
    pub value: serde_json::Value,
    /// The value for people: `1 MiB a core`.
    pub text: String,
    /// What would make it `ok`, or what its state means for measurements;
    /// never empty when degraded or absent and something can be done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

/// Facts that belong together: `CPU`, `Crypto drivers`, `Virtualisation`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Heading.
    pub title: String,
    /// Its facts, in the order shown.
    pub facts: Vec<Fact>,
}

/// Everything known about a host; embedded in every result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// The groups, in the order shown.
    pub groups: Vec<Group>,
}

impl Probe {
    pub fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.groups.iter().flat_map(|group| &group.facts)
    }

    pub fn fact(&self, key: &str) -> Option<&Fact> {
        self.facts().find(|fact| fact.key == key)
    }

    pub fn number(&self, key: &str) -> Option<u64> {
        self.fact(key)?.value.as_u64()
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.fact(key)?.value.as_str()
    }

    pub fn is_ok(&self, key: &str) -> bool {
        self.fact(key).is_some_and(|fact| fact.state == State::Ok)
    }
}
