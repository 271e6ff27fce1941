//! ECDSA on P-256 with SHA-256 (ECDSA2VS, 186-3): what was made verifies, and
//! what was changed does not.

use lockgate_crypto::Algorithm;

use super::record::{Record, records};
use crate::published::{Case, Suite, unhex};
use crate::vectors;

/// Before the two coordinates: the algorithm (RFC 5480 §2.1.1), and that the
/// point is not compressed.
const PUBLIC_KEY_HEADER: &str = "3059301306072a8648ce3d020106082a8648ce3d030107034200\
                                 04";

#[test]
fn cavp_ecdsa_p256_verify() {
    let mut suite = Suite::new("ECDSA P-256 verify");
    for record in records(vectors!("SigGen.rsp"), "Msg") {
        suite.add([case(&record, true)]);
    }
    for record in records(vectors!("SigVer.rsp"), "Msg") {
        suite.add([case(&record, record.passes())]);
    }
    suite.finish(30, 0);
}

fn case(record: &Record, is_right: bool) -> Case {
    let [x, y, r, s] = ["Qx", "Qy", "R", "S"].map(|name| record.integer(name, 32));
    let key = [unhex(PUBLIC_KEY_HEADER), x, y].concat();
    let (label, message) = (record.text("Msg"), record.bytes("Msg"));
    let signature = [r, s].concat();
    let algorithm = Algorithm::EcdsaP256;
    Case::verify(label, algorithm, &key, &message, &signature, is_right)
}
