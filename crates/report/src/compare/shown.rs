//! Which parts of a place tell it from the others.

use std::collections::{BTreeMap, BTreeSet};

use trial::Dimension;

use super::Place;
use crate::words;

pub(super) struct Shown {
    common: BTreeMap<String, Dimension>,
    varied: BTreeSet<String>,
    several_sections: bool,
}

impl Shown {
    pub(super) fn of<'a>(places: impl Iterator<Item = &'a Place> + Clone) -> Self {
        let mut common = places
            .clone()
            .next()
            .map_or_else(BTreeMap::new, |place| place.dimensions.clone());
        common.retain(|name, value| {
            places
                .clone()
                .all(|place| place.dimensions.get(name) == Some(value))
        });
        let names: BTreeSet<&String> = places
            .clone()
            .flat_map(|place| place.dimensions.keys())
            .collect();
        // A place alone keeps its name: it has everything in common with itself.
        if names.len() == common.len() {
            common.clear();
        }
        let varied = names
            .into_iter()
            .filter(|name| !common.contains_key(*name))
            .cloned()
            .collect();
        let sections: BTreeSet<&str> = places.map(|place| place.section.as_str()).collect();
        Self {
            common,
            varied,
            several_sections: sections.len() > 1,
        }
    }

    /// What all places have in common, e.g. `algorithm AES-128-GCM`; may be empty.
    pub(super) fn common(&self) -> String {
        let coordinates = self
            .common
            .iter()
            .map(|(name, value)| words::coordinate(name, value));
        coordinates.collect::<Vec<_>>().join(", ")
    }

    /// What distinguishes a place from the others, in one text.
    pub(super) fn place(&self, place: &Place) -> String {
        let section =
            (self.several_sections || self.varied.is_empty()).then(|| place.section.clone());
        let varied = place
            .dimensions
            .iter()
            .filter(|(name, _)| self.varied.contains(*name));
        let coordinates = varied.map(|(name, value)| words::coordinate(name, value));
        section
            .into_iter()
            .chain(coordinates)
            .collect::<Vec<_>>()
            .join(", ")
    }

    pub(super) fn head(&self) -> Vec<String> {
        let section = self.several_sections.then(|| "section".to_owned());
        let names = self
            .varied
            .iter()
            .map(|name| words::dimension(name).to_owned());
        section.into_iter().chain(names).collect()
    }

    /// What distinguishes a place from the others, a cell each; empty where it lacks
    /// one.
    pub(super) fn cells(&self, place: &Place) -> Vec<String> {
        let section = self.several_sections.then(|| place.section.clone());
        let coordinate = |name: &String| {
            place
                .dimensions
                .get(name)
                .map_or_else(String::new, |value| words::coordinate_value(name, value))
        };
        section
            .into_iter()
            .chain(self.varied.iter().map(coordinate))
            .collect()
    }
}
