//! AES-XTS (XTSVS): data units of whole bytes, with the tweak as bytes and as
//! the number of a data unit.

use lockgate_crypto::{Algorithm, Operation};

use super::record::{Record, records};
use crate::published::{Case, Expected, Tally, run};
use crate::vectors;

#[test]
fn cavp_aes_xts() {
    let files = [
        (
            Algorithm::Aes128Xts,
            vectors!("tweak-128hexstr-XTSGenAES128.rsp"),
        ),
        (
            Algorithm::Aes256Xts,
            vectors!("tweak-128hexstr-XTSGenAES256.rsp"),
        ),
        (
            Algorithm::Aes128Xts,
            vectors!("tweak-dataunitseqno-XTSGenAES128.rsp"),
        ),
        (
            Algorithm::Aes256Xts,
            vectors!("tweak-dataunitseqno-XTSGenAES256.rsp"),
        ),
    ];
    let mut tally = Tally::new("AES-XTS");
    let mut cases = Vec::new();
    for (algorithm, text) in files {
        for record in records(text, "COUNT") {
            tally.runs();
            cases.push(case(algorithm, &record));
        }
    }
    tally.settle(560, 0);
    run(&cases);
}

fn case(algorithm: Algorithm, record: &Record) -> Case {
    let decrypts = record.headings.contains_key("DECRYPT");
    let (operation, from, to) = if decrypts {
        (Operation::Decrypt, "CT", "PT")
    } else {
        (Operation::Encrypt, "PT", "CT")
    };
    let (text, expected) = (record.bytes(from), Expected::bytes(&record.bytes(to)));
    assert_eq!(text.len() * 8, record.number("DataUnitLen"));
    let label = format!("{algorithm} {operation} {}", record.text("COUNT"));
    let of = (algorithm, operation);
    Case::plain(&label, of, &record.bytes("Key"), &text, expected).with_iv(&tweak(record))
}

/// IEEE 1619 §5.1: the number of a data unit is little-endian.
fn tweak(record: &Record) -> Vec<u8> {
    if record.has("i") {
        record.bytes("i")
    } else {
        let number = record.number("DataUnitSeqNumber") as u128;
        number.to_le_bytes().to_vec()
    }
}
