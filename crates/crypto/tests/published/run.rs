//! Every case on every back-end: apart, in place, and all as one batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_crypto::{
    Backend, Data, Key, KeyError, KeyMaterial, Kind, Slices, Status, backends, process_slices,
};

use super::{Case, Outcome};
use crate::support::{self, Prepared, Shape, noise};

/// Back-ends that compute for themselves and must have every kind.
const OPINIONS: usize = 2;

/// Runs all on each back-end that supports their kinds.
///
/// # Panics
/// When a job ends otherwise than it must, or fewer than two back-ends have a
/// kind; `auto` is none, since it hands on to others.
pub fn run(cases: &[Case]) {
    let mut by_kind: BTreeMap<Kind, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        by_kind.entry(case.kind).or_default().push(case);
    }
    let mut thin = Vec::new();
    for (kind, cases) in by_kind {
        let names: Vec<&str> = backends()
            .iter()
            .filter(|backend| run_on(&***backend, kind, &cases))
            .map(|backend| backend.name())
            .collect();
        let Kind {
            algorithm,
            operation,
        } = kind;
        println!("  {algorithm} {operation}: {} by {names:?}", cases.len());
        if !are_enough(&names) {
            thin.push(format!("{algorithm} {operation} by {names:?}"));
        }
    }
    assert!(thin.is_empty(), "too few back-ends: {thin:?}");
}

/// Whether enough back-ends compute for themselves, as `auto` does not.
pub fn are_enough(names: &[&str]) -> bool {
    names.iter().filter(|name| **name != "auto").count() >= OPINIONS
}

fn run_on(backend: &dyn Backend, kind: Kind, cases: &[&Case]) -> bool {
    if !backend.supports(kind) {
        return false;
    }
    let Some(keys) = Keys::of(backend, cases) else {
        return false;
    };
    let mut wrong = Vec::new();
    for case in cases {
        let key = keys.of_case(case);
        check(case, &apart(backend, key, case), "apart", &mut wrong);
        if can_be_in_place(case) {
            check(case, &in_place(backend, key, case), "in place", &mut wrong);
        }
    }
    for (case, outcome) in cases.iter().zip(batch(backend, &keys, cases)) {
        check(case, &outcome, "in a batch", &mut wrong);
    }
    assert!(
        wrong.is_empty(),
        "{} is wrong {} times, first:\n{}",
        backend.name(),
        wrong.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
    true
}

struct Keys(BTreeMap<Arc<[u8]>, Box<dyn Key>>);

impl Keys {
    fn of(backend: &dyn Backend, cases: &[&Case]) -> Option<Self> {
        let mut keys = BTreeMap::new();
        for case in cases {
            if keys.contains_key(&case.material) {
                continue;
            }
            let material = KeyMaterial::take(&mut case.material.to_vec());
            match backend.key(case.kind.algorithm, &material) {
                Ok(key) => keys.insert(case.material.clone(), key),
                Err(KeyError::Unsupported { .. }) => return None,
                Err(error) => panic!("{}: {}: {error}", backend.name(), case.label),
            };
        }
        Some(Self(keys))
    }

    fn of_case(&self, case: &Case) -> &dyn Key {
        &*self.0[&case.material]
    }
}

fn check(case: &Case, outcome: &Outcome, how: &str, wrong: &mut Vec<String>) {
    if !case.expected.allows(outcome, &case.tag) {
        let Case {
            label, expected, ..
        } = case;
        wrong.push(format!(
            "{label}, {how}: {outcome:?}; should be {expected:02x?}"
        ));
    }
}

fn can_be_in_place(case: &Case) -> bool {
    case.source.len() == case.destination_bytes && !case.source.is_empty()
}

fn apart(backend: &dyn Backend, key: &dyn Key, case: &Case) -> Outcome {
    let mut destination = vec![0xa5; case.destination_bytes];
    let data = Data::apart(&case.source, &mut destination);
    let (status, tag) = one(backend, key, case, data);
    Outcome {
        status,
        destination,
        tag,
    }
}

fn in_place(backend: &dyn Backend, key: &dyn Key, case: &Case) -> Outcome {
    let mut both = case.source.clone();
    let (status, tag) = one(backend, key, case, Data::InPlace(&mut both));
    Outcome {
        status,
        destination: both,
        tag,
    }
}

fn one(backend: &dyn Backend, key: &dyn Key, case: &Case, data: Data<'_>) -> (Status, Vec<u8>) {
    let mut tag = case.tag.clone();
    let slices = Slices {
        iv: case.iv,
        aad: &case.aad,
        data,
        tag: &mut tag,
    };
    (process_slices(backend, key, case.kind, slices), tag)
}

/// All at once, every second in place where it can be, each at its own
/// alignment.
fn batch(backend: &dyn Backend, keys: &Keys, cases: &[&Case]) -> Vec<Outcome> {
    let key_of = |case: &&Case| keys.of_case(case);
    let keys: Vec<&dyn Key> = cases.iter().map(key_of).collect();
    let mut batch: Vec<Prepared> = cases
        .iter()
        .enumerate()
        .map(|(index, case)| prepare(case, index))
        .collect();
    let kind = cases[0].kind;
    let before: Vec<Vec<u8>> = batch
        .iter()
        .map(|prepared| prepared.arena.clone())
        .collect();
    let statuses = crate::support::process(backend, kind, &keys, &mut batch);
    for ((case, prepared), before) in cases.iter().zip(&batch).zip(before) {
        let is_alone = is_all_it_wrote(prepared, &before);
        assert!(
            is_alone,
            "{}: {} wrote elsewhere",
            case.label,
            backend.name()
        );
    }
    let ended = statuses.into_iter().zip(&batch);
    ended
        .map(|(status, prepared)| Outcome {
            status,
            destination: prepared.destination_bytes(),
            tag: prepared.tag_bytes(),
        })
        .collect()
}

fn is_all_it_wrote(prepared: &Prepared, before: &[u8]) -> bool {
    let mut restored = prepared.arena.clone();
    for &(at, len) in prepared.destination.iter().chain([&prepared.tag]) {
        restored[at..at + len].copy_from_slice(&before[at..at + len]);
    }
    restored == before
}

fn prepare(case: &Case, index: usize) -> Prepared {
    let shape = Shape {
        source: case.source.len(),
        destination: case.destination_bytes,
        aad: case.aad.len(),
        tag: case.tag.len(),
    };
    let mut prepared = crate::support::plain(shape, index as u64, index.is_multiple_of(2));
    shift(&mut prepared, index % 16);
    prepared.write_source(&case.source);
    let write = |arena: &mut [u8], at: usize, bytes: &[u8]| {
        arena[at..at + bytes.len()].copy_from_slice(bytes);
    };
    write(&mut prepared.arena, prepared.aad.0, &case.aad);
    write(&mut prepared.arena, prepared.tag.0, &case.tag);
    prepared.iv = case.iv;
    prepared
}

fn shift(prepared: &mut Prepared, by: usize) {
    let longer = prepared.arena.len() + by;
    prepared.arena = noise(by as u64, longer);
    let texts = prepared.source.iter_mut().chain(&mut prepared.destination);
    for piece in texts.chain([&mut prepared.aad, &mut prepared.tag]) {
        piece.0 += by;
    }
}
