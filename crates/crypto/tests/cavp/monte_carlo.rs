//! SHAVS §6.4, the Monte Carlo test: a hundred times a thousand hashes, each
//! of the three before it.

use std::sync::Arc;

use lockgate_crypto::{
    Algorithm, Backend, Data, Key, KeyError, KeyMaterial, Kind, Operation, Slices, Status,
    backends, process_slices,
};

use super::record::{Record, records};
use crate::published::are_enough;
use crate::vectors;

#[test]
fn cavp_sha1_monte_carlo() {
    by_each(Algorithm::Sha1, vectors!("SHA1Monte.rsp"));
}

#[test]
fn cavp_sha256_monte_carlo() {
    by_each(Algorithm::Sha256, vectors!("SHA256Monte.rsp"));
}

#[test]
fn cavp_sha384_monte_carlo() {
    by_each(Algorithm::Sha384, vectors!("SHA384Monte.rsp"));
}

#[test]
fn cavp_sha512_monte_carlo() {
    by_each(Algorithm::Sha512, vectors!("SHA512Monte.rsp"));
}

fn by_each(algorithm: Algorithm, text: &str) {
    let records = records(text, "MD");
    assert_eq!(records.len(), 100);
    let of = |backend: &Arc<dyn Backend>| Some((backend.clone(), key(&**backend, algorithm)?));
    let those: Vec<_> = backends().iter().filter_map(of).collect();
    let names: Vec<&str> = those.iter().map(|(backend, _)| backend.name()).collect();
    println!("{algorithm}: 100 × 1000 by {names:?}");
    assert!(are_enough(&names), "too few back-ends");
    for (backend, key) in those {
        let hash = |text: &[u8]| digest(&*backend, &*key, algorithm, text);
        walk(backend.name(), &records, hash);
    }
}

fn key(backend: &dyn Backend, algorithm: Algorithm) -> Option<Box<dyn Key>> {
    let kind = Kind::new(algorithm, Operation::Hash);
    if !backend.supports(kind) {
        return None;
    }
    match backend.key(algorithm, &KeyMaterial::take(&mut [])) {
        Err(KeyError::Unsupported { .. }) => None,
        key => Some(key.expect("no key is needed")),
    }
}

fn walk(name: &str, records: &[Record], hash: impl Fn(&[u8]) -> Vec<u8>) {
    let mut seed = records[0].bytes("Seed");
    for record in records {
        let bytes = seed.len();
        let mut last_three = seed.repeat(3);
        for _ in 0..1000 {
            let next = hash(&last_three);
            last_three.drain(..bytes);
            last_three.extend(next);
        }
        seed = last_three.split_off(2 * bytes);
        assert_eq!(seed, record.bytes("MD"), "{name}, {}", record.text("COUNT"));
    }
}

fn digest(backend: &dyn Backend, key: &dyn Key, algorithm: Algorithm, text: &[u8]) -> Vec<u8> {
    let mut digest = vec![0; algorithm.digest_bytes()];
    let slices = Slices::plain(Data::apart(text, &mut digest));
    let kind = Kind::new(algorithm, Operation::Hash);
    assert_eq!(process_slices(backend, key, kind, slices), Status::Ok);
    digest
}
