//! Where in its grid a thing was measured: its identity, its words, and the
//! dimensions of its point, from one list.

use std::collections::BTreeMap;
use std::fmt::Display;

use crypto::Kind;
use trial::Dimension;

use crate::place::Placement;
use crate::places::on;
use crate::words::{size, what};

/// One coordinate.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The dimension: `block_bytes`.
    pub name: &'static str,
    pub value: Dimension,
    /// For people; empty where it goes without saying.
    pub words: String,
    /// Whether it follows from the others: nothing is told apart by it.
    pub follows: bool,
}

/// All coordinates of a thing, in the order in which people name them. Two
/// things are the same where their values are: neither words decide, nor what
/// follows from other values.
#[derive(Clone, Debug, Default)]
pub struct Spot(Vec<Part>);

impl PartialEq for Spot {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Spot {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more coordinate, and how people say it.
    #[must_use]
    pub fn with(
        mut self,
        name: &'static str,
        value: impl Into<Dimension>,
        words: impl Into<String>,
    ) -> Self {
        self.0.push(Part {
            name,
            value: value.into(),
            words: words.into(),
            follows: false,
        });
        self
    }

    /// With one more that follows from the others, as a depth that the block
    /// size bounds.
    #[must_use]
    pub fn following(
        self,
        name: &'static str,
        value: impl Into<Dimension>,
        words: impl Into<String>,
    ) -> Self {
        let mut own = self.with(name, value, words);
        own.0.iter_mut().last().expect("it was pushed").follows = true;
        own
    }

    fn identity(&self) -> BTreeMap<&str, &Dimension> {
        let own = self.0.iter().filter(|part| !part.follows);
        own.map(|part| (part.name, &part.value)).collect()
    }

    /// With one more that goes without saying.
    #[must_use]
    pub fn also(self, name: &'static str, value: impl Into<Dimension>) -> Self {
        self.with(name, value, "")
    }

    /// With one more whose value is what people say.
    #[must_use]
    pub fn named(self, name: &'static str, value: impl Display) -> Self {
        let words = value.to_string();
        self.with(name, Dimension::Text(words.clone()), words)
    }

    /// With an algorithm and its operation.
    #[must_use]
    pub fn kind(self, kind: Kind) -> Self {
        self.with("algorithm", kind.algorithm.name(), what(kind))
            .also("operation", kind.operation.name())
    }

    /// With the bytes of a request.
    #[must_use]
    pub fn block(self, bytes: usize) -> Self {
        self.with("block_bytes", bytes as u64, size(bytes))
    }

    #[must_use]
    pub fn placement(self, placement: Placement) -> Self {
        self.with("placement", placement.name(), on(placement))
    }

    /// With all coordinates of another after its own.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.0.iter()
    }

    #[must_use]
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.0.iter().find(|part| part.name == name)
    }

    #[must_use]
    pub fn value(&self, name: &str) -> Option<&Dimension> {
        self.part(name).map(|part| &part.value)
    }

    /// The coordinate as a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.value(name)? {
            Dimension::Number(number) => Some(*number as f64),
            Dimension::Text(_) => None,
        }
    }

    /// Only those coordinates.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&str) -> bool) -> Self {
        let parts = self.0.iter().filter(|part| wanted(part.name));
        Self(parts.cloned().collect())
    }

    /// In words: `aes-128-cbc, 4 KiB, one shared core`.
    #[must_use]
    pub fn words(&self) -> String {
        join(self.0.iter())
    }

    /// As a point has it.
    #[must_use]
    pub fn dimensions(&self) -> BTreeMap<String, Dimension> {
        let pair = |part: &Part| (part.name.to_owned(), part.value.clone());
        self.0.iter().map(pair).collect()
    }

    /// What both have in common, and what each has of its own, in words: also
    /// where that else goes without saying.
    #[must_use]
    pub fn apart(&self, other: &Self) -> (String, String, String) {
        let is_common = |part: &&Part| other.value(part.name) == Some(&part.value);
        let common = join(self.0.iter().filter(is_common));
        (common, self.own(other), other.own(self))
    }

    fn own(&self, other: &Self) -> String {
        let differs = |part: &&Part| other.value(part.name) != Some(&part.value);
        let own = join(self.0.iter().filter(differs));
        if !own.is_empty() {
            return own;
        }
        let name = |part: &Part| part.name.replace('_', " ");
        let plain = self.0.iter().filter(differs);
        let plain = plain.map(|part| format!("{} {}", name(part), part.value));
        let lacks = (other.0.iter()).filter(|part| self.part(part.name).is_none());
        let lacks = lacks.map(|part| format!("no {}", name(part)));
        plain.chain(lacks).collect::<Vec<_>>().join(", ")
    }
}

fn join<'a>(parts: impl Iterator<Item = &'a Part>) -> String {
    let words = parts.map(|part| part.words.as_str());
    let said: Vec<_> = words.filter(|words| !words.is_empty()).collect();
    said.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(tasks: u64, policy: &str) -> Spot {
        Spot::new()
            .with("algorithm", "sha256", "SHA-256")
            .with("tasks", tasks, format!("{tasks} tasks"))
            .also("backend", "auto")
            .with("policy", policy, policy)
    }

    #[test]
    fn two_spots_say_what_they_share_and_what_not() {
        let (one, other) = (spot(8, "each"), spot(1, "each"));
        let (common, own, others) = one.apart(&other);
        assert_eq!(common, "SHA-256, each");
        assert_eq!((own.as_str(), others.as_str()), ("8 tasks", "1 tasks"));
        assert_ne!(one, other);
    }

    #[test]
    fn what_goes_without_saying_is_said_where_it_is_all_that_differs() {
        let usual = Spot::new()
            .also("queue_count", 1_u64)
            .with("path", "a", "A");
        let other = Spot::new().with("queue_count", 2_u64, "2 queues");
        let other = other.with("path", "a", "A");
        let with_table = usual.clone().with("routes", 1000_u64, "1000 routes");
        let words = |(common, own, others): (String, String, String)| [common, own, others];
        assert_eq!(
            words(other.apart(&usual)),
            ["A", "2 queues", "queue count 1"]
        );
        assert_eq!(
            words(usual.apart(&with_table)),
            ["A", "no routes", "1000 routes"]
        );
    }

    #[test]
    fn words_are_no_identity() {
        let renamed = spot(8, "each")
            .only(|name| name != "policy")
            .with("policy", "each", "all");
        assert_eq!(renamed, spot(8, "each"));
        assert_eq!(renamed.words(), "SHA-256, 8 tasks, all");
        assert_eq!(renamed.number("tasks"), Some(8.0));
        assert_eq!(renamed.number("policy"), None);
    }

    #[test]
    fn what_follows_is_told_and_tells_nothing_apart() {
        let bounded = |depth: u64| spot(8, "each").following("depth", depth, "few in flight");
        assert_eq!(bounded(4), bounded(32));
        assert_ne!(bounded(4).dimensions(), bounded(32).dimensions());
        assert!(bounded(4).words().ends_with("each, few in flight"));
    }
}
