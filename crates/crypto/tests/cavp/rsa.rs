//! RSA signatures with SHA-256 (RSAVS 186-3). PKCS#1 v1.5 is made and
//! verified. The PSS files have salts of 10 bytes where ours have 32: here
//! they show that another salt is refused, be the signature right or not.

use lockgate_crypto::{Operation, RsaScheme};

use super::record::{Record, records};
use crate::published::{Case, Expected, Suite, rsa_key};
use crate::vectors;

#[test]
fn cavp_rsa_pkcs1_verify() {
    let mut suite = Suite::new("RSA PKCS#1 v1.5 verify");
    for record in records(vectors!("SigGen15_186-3.rsp"), "S") {
        suite.add([verify(RsaScheme::Pkcs1, &record, true)]);
    }
    for record in records(vectors!("SigVer15_186-3.rsp"), "S") {
        suite.add([verify(RsaScheme::Pkcs1, &record, record.passes())]);
    }
    suite.finish(40 + 72, 0);
}

#[test]
fn cavp_rsa_pss_with_another_salt_is_refused() {
    let mut suite = Suite::new("RSA PSS verify, salt of 10 bytes");
    for record in records(vectors!("SigVerPSS_186-3.rsp"), "S") {
        suite.add([verify(RsaScheme::Pss, &record, false)]);
    }
    suite.finish(24, 0);
}

/// The signatures that pass are what signing gives, since PKCS#1 v1.5 has no
/// chance in it.
#[test]
fn cavp_rsa_pkcs1_sign() {
    let mut suite = Suite::new("RSA PKCS#1 v1.5 sign");
    for record in records(vectors!("SigVer15_186-3.rsp"), "S") {
        if !record.passes() {
            suite.leaves_out("signature that is to fail");
            continue;
        }
        let sign = sign(&record).expect("numbers of a vector that passes");
        suite.add([sign]);
    }
    suite.finish(12, 60);
}

fn bits(record: &Record) -> usize {
    record.headings["mod"].parse().expect("bits")
}

fn verify(scheme: RsaScheme, record: &Record, is_right: bool) -> Case {
    let algorithm = rsa_key::algorithm(bits(record), scheme).expect("ours");
    let bytes = algorithm.modulus_bytes();
    let [n, e, signature] = ["n", "e", "S"].map(|name| record.integer(name, bytes));
    let key = rsa_key::public(&n, &e);
    let message = record.bytes("Msg");
    let label = format!("{algorithm} {}…", &record.text("Msg")[..16]);
    Case::verify(&label, algorithm, &key, &message, &signature, is_right)
}

fn sign(record: &Record) -> Option<Case> {
    let verify = verify(RsaScheme::Pkcs1, record, true);
    let bytes = verify.kind.algorithm.modulus_bytes();
    let numbers = ["n", "e", "d", "p", "q"].map(|name| record.integer(name, bytes));
    let key = rsa_key::private(numbers.each_ref().map(Vec::as_slice))?;
    let mut sign = verify;
    sign.kind.operation = Operation::Sign;
    sign.material = key.into();
    sign.expected = Expected::Done {
        destination: Vec::new(),
        tag: sign.tag.clone(),
    };
    sign.tag.fill(0x5a);
    Some(sign)
}
