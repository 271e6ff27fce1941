//! A message done piece by piece, whatever its pieces, is that done in one go.

use lockgate_crypto::{Backend, Between, Chaining, Kind, Status, backends, by_name};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::batch::{key_of, outcome, prepared};
use super::keys::key;
use crate::support::layout::{Spec, specs};
use crate::support::{Piece, Prepared, Shape, offered, plain, process_piece};

fn part(list: &[Piece], from: usize, bytes: usize) -> Vec<Piece> {
    let (mut skip, mut left) = (from, bytes);
    let mut out = Vec::new();
    for &(at, len) in list {
        let skipped = skip.min(len);
        let taken = left.min(len - skipped);
        out.push((at + skipped, taken));
        (skip, left) = (skip - skipped, left - taken);
    }
    assert_eq!(left, 0);
    out
}

/// Runs the job in pieces; `sizes`, in blocks, take turns.
fn in_pieces(
    backend: &dyn Backend,
    kind: Kind,
    spec: &Spec,
    job: &mut Prepared,
    sizes: &[usize],
) -> Status {
    let key = key_of(backend, kind, spec);
    let is_hash = kind.algorithm.digest_bytes() > 0;
    let (source, destination) = (job.source.clone(), job.destination.clone());
    let all = job.source_bytes().len();
    let mut between = Between::default();
    let (mut done, mut turn) = (0, 0);
    loop {
        let bytes = 16 * sizes[turn % sizes.len()];
        let left = all - done;
        // Of a data unit the last piece has a block at least.
        let is_last = left <= bytes || (!is_hash && left - bytes < 16);
        let bytes = if is_last { left } else { bytes };
        job.source = part(&source, done, bytes);
        if !is_hash {
            job.destination = part(&destination, done, bytes);
        }
        let status = process_piece(backend, kind, key, job, &mut between, is_last);
        (done, turn) = (done + bytes, turn + 1);
        if is_last || status != Status::Ok {
            (job.source, job.destination) = (source, destination);
            return status;
        }
    }
}

#[test]
fn a_message_in_pieces_is_the_message() {
    let portable = by_name("portable").unwrap();
    let mut kinds_seen = 0;
    for backend in backends() {
        let kinds = offered(&*backend).into_iter();
        for kind in kinds.filter(|&kind| backend.continues(kind)) {
            assert_eq!(kind.chaining(), Some(Chaining::Kept), "{kind:?}");
            kinds_seen += 1;
            let config = Config {
                cases: if testing::is_thorough() { 2000 } else { 40 },
                failure_persistence: None,
                ..Config::default()
            };
            let sizes = prop::collection::vec(1..600_usize, 1..5);
            TestRunner::new(config)
                .run(&(specs(), sizes), |(spec, sizes)| {
                    let (batch, _) = prepared(&*portable, kind, std::slice::from_ref(&spec));
                    let whole = outcome(&*portable, kind, std::slice::from_ref(&spec), &batch);
                    let mut job = batch[0].clone();
                    let status = in_pieces(&*backend, kind, &spec, &mut job, &sizes);
                    prop_assert_eq!(status, whole.statuses[0]);
                    prop_assert!(job.arena == whole.batch[0].arena, "{:?}", sizes);
                    Ok(())
                })
                .unwrap_or_else(|failure| panic!("{} {kind:?}: {failure}", backend.name()));
        }
    }
    // XTS both ways, SHA and HMAC, by three back-ends at least.
    assert!(kinds_seen >= 2 + 5 + 4 + 9, "{kinds_seen}");
}

#[test]
fn a_key_of_another_and_a_kind_in_one_go_are_refused() {
    for backend in backends() {
        for kind in offered(&*backend) {
            let other = by_name(["portable", "aws-lc"][usize::from(backend.name() == "portable")]);
            let other = other.unwrap();
            let of = |from: &dyn Backend| key(from, kind.algorithm, 1);
            let foreign = other.supports(kind).then(|| of(&*other));
            let own = (!backend.continues(kind)).then(|| of(&*backend));
            for key in foreign.into_iter().chain(own) {
                let before = plain(Shape::near(kind, 64, 0), 7, false);
                let (mut job, mut between) = (before.clone(), Between::default());
                let status = process_piece(&*backend, kind, key, &mut job, &mut between, true);
                assert_eq!(status, Status::Unsupported, "{} {kind:?}", backend.name());
                assert!(job.arena == before.arena);
            }
        }
    }
}
