//! Whether two back-ends agree on a batch.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestCaseResult};

use lockgate_crypto::{Algorithm, Backend, Kind, Operation, RsaScheme, Status, by_name};

use super::batch::{Outcome, outcome, prepared};
use crate::support::layout::Spec;
use crate::support::{Prepared, process, writes_tag};

fn reference() -> Arc<dyn Backend> {
    by_name("portable").expect("it exists")
}

/// Both end every job alike and leave the same bytes, touch nothing beside
/// destination and tag, and leave zeros where they refuse.
pub fn agrees(backend: &dyn Backend, kind: Kind, specs: &[Spec]) -> TestCaseResult {
    let reference = reference();
    let (before, expected) = prepared(&*reference, kind, specs);
    let one = outcome(backend, kind, specs, &before);
    prop_assert_eq!(&one.statuses, &expected);
    let other = (!is_randomised(kind)).then(|| outcome(&*reference, kind, specs, &before));
    for (index, before) in before.iter().enumerate() {
        let after = &one.batch[index];
        untouched_elsewhere(kind, before, after)?;
        if expected[index] != Status::Ok {
            let is_wiped = after.destination_bytes().iter().all(|&byte| byte == 0);
            prop_assert!(is_wiped, "job {index} left something of what it refused");
        }
        match &other {
            Some(other) => same(other, index, expected[index], after)?,
            None => undone(&*reference, kind, &specs[index], after)?,
        }
    }
    Ok(())
}

fn same(other: &Outcome, index: usize, expected: Status, after: &Prepared) -> TestCaseResult {
    prop_assert_eq!(other.statuses[index], expected);
    prop_assert!(
        other.batch[index].arena == after.arena,
        "job {index} differs"
    );
    Ok(())
}

/// Whether two runs of the same job may leave different bytes: padding and
/// salts are random, and so may be what an ECDSA signature is made with.
fn is_randomised(kind: Kind) -> bool {
    let Kind {
        algorithm,
        operation,
    } = kind;
    let has_salt = matches!(
        algorithm,
        Algorithm::Rsa(_, RsaScheme::Pss) | Algorithm::EcdsaP256
    );
    let pads = matches!(algorithm, Algorithm::Rsa(..)) && operation == Operation::Encrypt;
    pads || (has_salt && operation == Operation::Sign)
}

fn undone(reference: &dyn Backend, kind: Kind, spec: &Spec, after: &Prepared) -> TestCaseResult {
    let mut back = after.clone();
    let operation = match kind.operation {
        Operation::Sign => Operation::Verify,
        _ => {
            std::mem::swap(&mut back.source, &mut back.destination);
            // The message lies there already: let nothing be taken for it.
            let pieces = back.destination.clone();
            for (at, len) in pieces {
                back.arena[at..at + len].fill(0);
            }
            Operation::Decrypt
        }
    };
    let keys = [super::batch::key_of(reference, kind, spec)];
    let kind = Kind { operation, ..kind };
    let statuses = process(reference, kind, &keys, std::slice::from_mut(&mut back));
    prop_assert_eq!(statuses, [Status::Ok]);
    let message = (back.destination_bytes(), after.source_bytes());
    let is_back = operation == Operation::Verify || message.0 == message.1;
    prop_assert!(is_back, "the message does not come back");
    Ok(())
}

/// Bytes that are neither destination nor written tag are as they were.
fn untouched_elsewhere(
    kind: Kind,
    before: &Prepared,
    after: &Prepared,
) -> Result<(), TestCaseError> {
    let mut expected = before.arena.clone();
    let tag = writes_tag(kind).then_some(&before.tag);
    for &(at, len) in before.destination.iter().chain(tag) {
        expected[at..at + len].copy_from_slice(&after.arena[at..at + len]);
    }
    prop_assert!(expected == after.arena, "wrote outside its destination");
    Ok(())
}
