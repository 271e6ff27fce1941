//! The GCM specification and RFC 8439.

use lockgate_crypto::Algorithm;

use super::Vector;

const IV: &str = "cafebabefacedbaddecaf888";
const AAD: &str = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
const TEXT: &str = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
    1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
const KEY: &str = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";

fn gcm_case_4() -> Vector {
    let cipher = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
        21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091";
    Vector::mode(Algorithm::Aes128Gcm, &KEY[..32], IV, TEXT, cipher)
        .with(AAD, "5bc94fbc3221a5db94fae95ae7121a47")
}

fn gcm_case_10() -> Vector {
    let cipher = "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c
        7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710";
    Vector::mode(Algorithm::Aes192Gcm, &KEY[..48], IV, TEXT, cipher)
        .with(AAD, "2519498e80f1478f37ba55bd6d27618c")
}

fn gcm_case_16() -> Vector {
    let cipher = "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
        8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662";
    Vector::mode(Algorithm::Aes256Gcm, KEY, IV, TEXT, cipher)
        .with(AAD, "76fc6ece0f4e1768cddf8853bb2d551b")
}

fn rfc_8439_2_8_2() -> Vector {
    let key: String = (0x80..0xa0).map(|byte| format!("{byte:02x}")).collect();
    let text = "Ladies and Gentlemen of the class of '99: If I could offer you \
        only one tip for the future, sunscreen would be it.";
    let plain: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let cipher = "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6
        3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36
        92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc
        3ff4def08e4b7a9de576d26586cec64b6116";
    let iv = "070000004041424344454647";
    Vector::mode(Algorithm::ChaCha20Poly1305, &key, iv, &plain, cipher).with(
        "50515253c0c1c2c3c4c5c6c7",
        "1ae10b594f09e26a7e902ecbd0600691",
    )
}

#[test]
fn gcm_specification_cases_1_4_10_and_16() {
    let (zero, zero_iv) = ("00".repeat(16), "00".repeat(12));
    Vector::mode(Algorithm::Aes128Gcm, &zero, &zero_iv, "", "")
        .with("", "58e2fccefa7e3061367f1d57a4e7455a")
        .check();
    gcm_case_4().check();
    gcm_case_10().check();
    gcm_case_16().check();
}

#[test]
fn chacha20_poly1305_rfc_8439() {
    rfc_8439_2_8_2().check();
}

#[test]
fn a_forgery_leaves_no_plaintext() {
    gcm_case_4().check_forgery();
    gcm_case_10().check_forgery();
    gcm_case_16().check_forgery();
    rfc_8439_2_8_2().check_forgery();
}
