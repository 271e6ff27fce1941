//! AES in ECB, CBC and CTR: known answers and multi-block messages (AESAVS),
//! RFC 3686 and SP 800-38A for CTR, of which CAVP has no files.

use lockgate_crypto::{Algorithm, Operation};

use super::record::{Record, records};
use crate::published::{Case, Expected, Suite, aes};
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
    all("ecb", &files, 698);
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
    all("cbc", &files, 698);
}

#[test]
fn aes_ctr_of_rfc_3686_and_sp_800_38a() {
    let files = files!(
        "aes-128-ctr.txt" "aes-192-ctr.txt" "aes-256-ctr.txt" "sp-800-38a-ctr.rsp"
    );
    all("ctr", &files, 12);
}

fn all(mode: &str, files: &[(&str, &str)], count: usize) {
    let mut suite = Suite::new(&format!("AES-{mode}"));
    for (name, text) in files {
        for record in records(text, "COUNT") {
            let algorithm = aes(mode, record.bytes("KEY").len()).expect("a key of AES");
            let first = case(name, algorithm, &record);
            // Counter mode is published in one direction, but goes both ways.
            let second = (mode == "ctr").then(|| back(name, algorithm, &record));
            suite.add([first].into_iter().chain(second));
        }
    }
    suite.finish(count, 0);
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
