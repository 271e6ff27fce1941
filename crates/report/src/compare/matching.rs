//! Which point of A is which of B.

use std::collections::BTreeMap;

use trial::{Point, Run};

use super::{Missing, Place, Side};

pub(super) struct Pair<'a> {
    pub(super) key: Key,
    pub(super) place: Place,
    pub(super) a: &'a Point,
    pub(super) b: &'a Point,
}

pub(super) struct Matched<'a> {
    pub(super) pairs: Vec<Pair<'a>>,
    pub(super) missing: Vec<Missing>,
}

/// Section, coordinates as written, and the number among several at one place.
pub(super) type Key = (String, Vec<(String, String)>, usize);

/// Points at the same place, in the order of A; points of one run only, A's first.
/// Where a run has several points at one place, the first matches the first.
pub(super) fn matched<'a>(a: &'a Run, b: &'a Run) -> Matched<'a> {
    let (in_a, in_b) = (keyed(a), keyed(b));
    let find: BTreeMap<&Key, &Point> = in_b.iter().map(|(key, _, point)| (key, *point)).collect();
    let known: BTreeMap<&Key, &Point> = in_a.iter().map(|(key, _, point)| (key, *point)).collect();
    let mut matched = Matched {
        pairs: Vec::new(),
        missing: Vec::new(),
    };
    for (key, place, point) in &in_a {
        match find.get(key) {
            Some(other) => matched.pairs.push(Pair {
                key: key.clone(),
                place: place.clone(),
                a: point,
                b: other,
            }),
            None => matched.missing.push(missing(Side::A, place)),
        }
    }
    let only_b = in_b.iter().filter(|(key, ..)| !known.contains_key(key));
    matched
        .missing
        .extend(only_b.map(|(_, place, _)| missing(Side::B, place)));
    matched
}

fn missing(only_in: Side, place: &Place) -> Missing {
    Missing {
        only_in,
        place: place.clone(),
        metric: None,
    }
}

pub(super) fn keyed(run: &Run) -> Vec<(Key, Place, &Point)> {
    let mut seen: BTreeMap<(String, Vec<(String, String)>), usize> = BTreeMap::new();
    let points = run
        .sections
        .iter()
        .flat_map(|section| section.points.iter().map(move |point| (section, point)));
    points
        .map(|(section, point)| {
            let coordinates = point
                .dimensions
                .iter()
                .map(|(name, value)| (name.clone(), value.to_string()));
            let place = (section.name.clone(), coordinates.collect::<Vec<_>>());
            let nth = seen.entry(place.clone()).or_default();
            *nth += 1;
            let shown = Place {
                section: section.name.clone(),
                dimensions: point.dimensions.clone(),
            };
            ((place.0, place.1, *nth), shown, point)
        })
        .collect()
}
