//! AES-XTS (XTSVS): data units of whole bytes, with the tweak as bytes and as
//! the number of a data unit.

use lockgate_crypto::{Algorithm, Operation};

use super::record::{Record, records};
use crate::published::{Case, Expected, Suite};
use crate::vectors;

#[test]
fn cavp_aes_xts() {
    let [small, large] = [Algorithm::Aes128Xts, Algorithm::Aes256Xts];
    let files = [
        (small, vectors!("tweak-128hexstr-XTSGenAES128.rsp")),
        (large, vectors!("tweak-128hexstr-XTSGenAES256.rsp")),
        (small, vectors!("tweak-dataunitseqno-XTSGenAES128.rsp")),
        (large, vectors!("tweak-dataunitseqno-XTSGenAES256.rsp")),
    ];
    let mut suite = Suite::new("AES-XTS");
    for (algorithm, text) in files {
        for record in records(text, "COUNT") {
            suite.add([case(algorithm, &record)]);
        }
    }
    suite.finish(560, 0);
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
