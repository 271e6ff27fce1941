//! AES in ECB, CBC and CTR: known answers and multi-block messages (AESAVS),
//! RFC 3686 and SP 800-38A for CTR, of which CAVP has no files.

use lockgate_crypto::{Algorithm, Operation};

use super::record::{Record, records};
use crate::published::{Case, Expected, Tally, run};
use crate::vectors;

macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, vectors!($name))),*]
    };
}

#[test]
fn cavp_aes_ecb() {
    let files = files!(
        "ECBGFSbox128.rsp" "ECBGFSbox192.rsp" "ECBGFSbox256.rsp"
        "ECBKeySbox128.rsp" "ECBKeySbox192.rsp" "ECBKeySbox256.rsp"
        "ECBMMT128.rsp" "ECBMMT192.rsp" "ECBMMT256.rsp"
        "ECBVarKey128.rsp" "ECBVarKey192.rsp" "ECBVarKey256.rsp"
        "ECBVarTxt128.rsp" "ECBVarTxt192.rsp" "ECBVarTxt256.rsp"
    );
    let algorithm = |key_bytes| match key_bytes {
        16 => Algorithm::Aes128Ecb,
        24 => Algorithm::Aes192Ecb,
        _ => Algorithm::Aes256Ecb,
    };
    all("AES-ECB", &files, algorithm, 698);
}

#[test]
fn cavp_aes_cbc() {
    let files = files!(
        "CBCGFSbox128.rsp" "CBCGFSbox192.rsp" "CBCGFSbox256.rsp"
        "CBCKeySbox128.rsp" "CBCKeySbox192.rsp" "CBCKeySbox256.rsp"
        "CBCMMT128.rsp" "CBCMMT192.rsp" "CBCMMT256.rsp"
        "CBCVarKey128.rsp" "CBCVarKey192.rsp" "CBCVarKey256.rsp"
        "CBCVarTxt128.rsp" "CBCVarTxt192.rsp" "CBCVarTxt256.rsp"
    );
    let algorithm = |key_bytes| match key_bytes {
        16 => Algorithm::Aes128Cbc,
        24 => Algorithm::Aes192Cbc,
        _ => Algorithm::Aes256Cbc,
    };
    all("AES-CBC", &files, algorithm, 698);
}

#[test]
fn aes_ctr_of_rfc_3686_and_sp_800_38a() {
    let files = files!(
        "aes-128-ctr.txt" "aes-192-ctr.txt" "aes-256-ctr.txt" "sp-800-38a-ctr.rsp"
    );
    let algorithm = |key_bytes| match key_bytes {
        16 => Algorithm::Aes128Ctr,
        24 => Algorithm::Aes192Ctr,
        _ => Algorithm::Aes256Ctr,
    };
    all("AES-CTR", &files, algorithm, 12);
}

fn all(source: &str, files: &[(&str, &str)], algorithm: fn(usize) -> Algorithm, count: usize) {
    let mut tally = Tally::new(source);
    let mut cases = Vec::new();
    for (name, text) in files {
        for record in records(text, "COUNT") {
            let algorithm = algorithm(record.bytes("KEY").len());
            tally.runs();
            cases.push(case(name, algorithm, &record));
            // Counter mode is published in one direction, but goes both ways.
            if source == "AES-CTR" {
                cases.push(back(name, algorithm, &record));
            }
        }
    }
    tally.settle(count, 0);
    run(&cases);
}

fn case(name: &str, algorithm: Algorithm, record: &Record) -> Case {
    if record.headings.contains_key("DECRYPT") {
        return back(name, algorithm, record);
    }
    let to = ("PLAINTEXT", "CIPHERTEXT");
    one(name, (algorithm, Operation::Encrypt), record, to)
}

fn back(name: &str, algorithm: Algorithm, record: &Record) -> Case {
    let to = ("CIPHERTEXT", "PLAINTEXT");
    one(name, (algorithm, Operation::Decrypt), record, to)
}

fn one(name: &str, of: (Algorithm, Operation), record: &Record, (from, to): (&str, &str)) -> Case {
    let label = format!("{name} {}", record.text("COUNT"));
    let iv = if record.has("IV") {
        record.bytes("IV")
    } else {
        Vec::new()
    };
    let expected = Expected::bytes(&record.bytes(to));
    Case::plain(
        &label,
        of,
        &record.bytes("KEY"),
        &record.bytes(from),
        expected,
    )
    .with_iv(&iv)
}
