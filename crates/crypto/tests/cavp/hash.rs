//! SHA-1 and SHA-2 (SHAVS): short and long messages; HMAC by RFC 4231, since
//! the vendored collection has no CAVP files of it.

use lockgate_crypto::Algorithm;

use super::record::records;
use crate::published::{Case, Expected, Suite};
use crate::vectors;

#[test]
fn cavp_sha1_short_and_long() {
    let files = [vectors!("SHA1ShortMsg.rsp"), vectors!("SHA1LongMsg.rsp")];
    all(Algorithm::Sha1, files, 73);
}

#[test]
fn cavp_sha256_short_and_long() {
    let files = [
        vectors!("SHA256ShortMsg.rsp"),
        vectors!("SHA256LongMsg.rsp"),
    ];
    all(Algorithm::Sha256, files, 73);
}

#[test]
fn cavp_sha384_short_and_long() {
    let files = [
        vectors!("SHA384ShortMsg.rsp"),
        vectors!("SHA384LongMsg.rsp"),
    ];
    all(Algorithm::Sha384, files, 137);
}

#[test]
fn cavp_sha512_short_and_long() {
    let files = [
        vectors!("SHA512ShortMsg.rsp"),
        vectors!("SHA512LongMsg.rsp"),
    ];
    all(Algorithm::Sha512, files, 137);
}

fn all(algorithm: Algorithm, files: [&str; 2], count: usize) {
    let mut suite = Suite::new(algorithm.name());
    for record in files.iter().flat_map(|text| records(text, "MD")) {
        let mut text = record.bytes("Msg");
        // Of no bits the file still shows one byte.
        text.truncate(record.number("Len") / 8);
        assert_eq!(text.len() * 8, record.number("Len"));
        let label = format!("{algorithm} of {} bits", record.text("Len"));
        let expected = Expected::bytes(&record.bytes("MD"));
        suite.add([Case::hash(&label, algorithm, &[], &text, expected)]);
    }
    suite.finish(count, 0);
}

#[test]
fn hmac_sha256_of_rfc_4231() {
    let mut suite = Suite::new("HMAC-SHA-256");
    for record in records(vectors!("rfc-4231-sha256.txt"), "MD") {
        let label = format!("HMAC-SHA-256 of {} bits", record.text("Len"));
        let expected = Expected::bytes(&record.bytes("MD"));
        let (key, text) = (record.bytes("Key"), record.bytes("Msg"));
        suite.add([Case::hash(
            &label,
            Algorithm::HmacSha256,
            &key,
            &text,
            expected,
        )]);
    }
    suite.finish(6, 0);
}
