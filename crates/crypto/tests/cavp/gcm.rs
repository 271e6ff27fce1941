//! AES-GCM (GCMVS): 96-bit IVs and 128-bit tags, sealing, opening, and tags
//! that do not fit.

use lockgate_crypto::{Algorithm, Operation, Status};

use super::record::{Record, records};
use crate::published::{Case, Expected, Suite};
use crate::vectors;

#[test]
fn cavp_aes_gcm() {
    let files = [
        (Algorithm::Aes128Gcm, vectors!("gcmEncryptExtIV128.rsp")),
        (Algorithm::Aes192Gcm, vectors!("gcmEncryptExtIV192.rsp")),
        (Algorithm::Aes256Gcm, vectors!("gcmEncryptExtIV256.rsp")),
        (Algorithm::Aes128Gcm, vectors!("gcmDecrypt128.rsp")),
        (Algorithm::Aes192Gcm, vectors!("gcmDecrypt192.rsp")),
        (Algorithm::Aes256Gcm, vectors!("gcmDecrypt256.rsp")),
    ];
    let mut suite = Suite::new("AES-GCM");
    for (index, (algorithm, text)) in files.into_iter().enumerate() {
        for record in records(text, "Count") {
            suite.add([if index < 3 {
                seal(algorithm, &record)
            } else {
                open(algorithm, &record)
            }]);
        }
    }
    let failures = suite.cases().iter().filter(|case| is_refused(case)).count();
    assert_eq!(failures, 193, "tags that do not fit");
    suite.finish(750, 0);
}

fn is_refused(case: &Case) -> bool {
    matches!(case.expected, Expected::Refused(_))
}

fn seal(algorithm: Algorithm, record: &Record) -> Case {
    let expected = Expected::Done {
        destination: record.bytes("CT"),
        tag: record.bytes("Tag"),
    };
    let of = (algorithm, Operation::Encrypt);
    case(of, record, &record.bytes("PT"), &[0x5a; 16], expected)
}

fn open(algorithm: Algorithm, record: &Record) -> Case {
    let tag = record.bytes("Tag");
    let expected = if record.has("FAIL") {
        Expected::Refused(Status::AuthenticationFailed)
    } else {
        Expected::Done {
            destination: record.bytes("PT"),
            tag: tag.clone(),
        }
    };
    let of = (algorithm, Operation::Decrypt);
    case(of, record, &record.bytes("CT"), &tag, expected)
}

fn case(
    of: (Algorithm, Operation),
    record: &Record,
    text: &[u8],
    tag: &[u8],
    expected: Expected,
) -> Case {
    let label = format!("{} {} {:?}", of.0, record.text("Count"), record.headings);
    Case {
        aad: record.bytes("AAD"),
        tag: tag.to_vec(),
        ..Case::plain(&label, of, &record.bytes("Key"), text, expected).with_iv(&record.bytes("IV"))
    }
}
