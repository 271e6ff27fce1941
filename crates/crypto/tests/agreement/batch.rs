//! Batches with an input that their kind takes, and what becomes of them.

use lockgate_crypto::{Algorithm, Backend, Key, Kind, Operation, RsaScheme, Status};

use super::keys::key;
use crate::published::rsa_key;
use crate::support::layout::Spec;
use crate::support::{Prepared, Shape, material, noise, plain, process};

/// Keys that take turns, so that batches mix them and use some twice.
const KEYS: u64 = 5;

pub fn key_of(backend: &dyn Backend, kind: Kind, spec: &Spec) -> &'static dyn Key {
    key(backend, kind.algorithm, spec.seed % KEYS)
}

pub struct Outcome {
    pub batch: Vec<Prepared>,
    pub statuses: Vec<Status>,
}

pub fn outcome(backend: &dyn Backend, kind: Kind, specs: &[Spec], batch: &[Prepared]) -> Outcome {
    let mut batch = batch.to_vec();
    let keys: Vec<_> = specs
        .iter()
        .map(|spec| key_of(backend, kind, spec))
        .collect();
    let statuses = process(backend, kind, &keys, &mut batch);
    Outcome { batch, statuses }
}

/// What is done before, so that `kind` has something to open, decrypt or verify.
fn before(kind: Kind) -> Option<Operation> {
    let Kind {
        algorithm,
        operation,
    } = kind;
    let is_bound = algorithm.is_aead() || algorithm.is_public_key();
    match operation {
        Operation::Decrypt if is_bound => Some(Operation::Encrypt),
        Operation::Verify => Some(Operation::Sign),
        _ => None,
    }
}

pub fn prepared(maker: &dyn Backend, kind: Kind, specs: &[Spec]) -> (Vec<Prepared>, Vec<Status>) {
    specs.iter().map(|spec| fill(maker, kind, spec)).unzip()
}

fn fill(maker: &dyn Backend, kind: Kind, spec: &Spec) -> (Prepared, Status) {
    let mut job = spec.prepare(kind);
    let Some(operation) = before(kind) else {
        return (job, Status::Ok);
    };
    let forward = Kind { operation, ..kind };
    let mut original = original(&job, forward, spec);
    let keys = [key_of(maker, kind, spec)];
    let batch = std::slice::from_mut(&mut original);
    assert_eq!(process(maker, forward, &keys, batch), [Status::Ok]);
    job.write_source(&match operation {
        Operation::Sign => original.source_bytes(),
        _ => original.destination_bytes(),
    });
    let (at, len) = job.tag;
    job.arena[at..at + len].copy_from_slice(&original.tag_bytes());
    match spec.flip {
        Some(bit) => {
            flip(&mut job, bit);
            let end = end_of_tampered(kind, spec, &job);
            (job, end)
        }
        None => (job, Status::Ok),
    }
}

/// The job whose result is the input of `job`: one segment each.
fn original(job: &Prepared, forward: Kind, spec: &Spec) -> Prepared {
    let text_bytes = match forward.operation {
        Operation::Encrypt if forward.algorithm.is_public_key() => job.destination_bytes().len(),
        _ => job.source_bytes().len(),
    };
    let shape = Shape::near(forward, text_bytes, job.aad.1);
    let mut original = plain(shape, spec.seed, false);
    original.iv = job.iv;
    original.write_source(&noise(spec.seed ^ 0x77, text_bytes));
    let (at, len) = original.aad;
    let (from, _) = job.aad;
    original.arena[at..at + len].copy_from_slice(&job.arena[from..from + len]);
    original
}

fn end_of_tampered(kind: Kind, spec: &Spec, job: &Prepared) -> Status {
    let Algorithm::Rsa(_, scheme) = kind.algorithm else {
        return Status::AuthenticationFailed;
    };
    if kind.operation != Operation::Decrypt {
        return Status::AuthenticationFailed;
    }
    let material = material(kind.algorithm, spec.seed % KEYS);
    match scheme {
        RsaScheme::Pkcs1 if rsa_key::decrypts(material.expose(), &job.source_bytes()) => Status::Ok,
        _ => Status::InvalidInput,
    }
}

fn flip(job: &mut Prepared, bit: u32) {
    let read = job.source.iter().chain([&job.aad, &job.tag]);
    let places: Vec<usize> = read.flat_map(|&(at, len)| at..at + len).collect();
    let place = places[bit as usize / 8 % places.len()];
    job.arena[place] ^= 1 << (bit % 8);
}
