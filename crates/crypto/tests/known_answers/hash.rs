//! FIPS 180-4 (NIST's examples) and RFC 4231.

use lockgate_crypto::{Algorithm, Backend, Operation, Status};

use super::{apart, hex, key, with};

const BITS_448: &[u8] = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
const BITS_896: &[u8] = b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn\
    hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
const MILLION: &[u8] = &[b'a'; 1_000_000];

fn digest(backend: &dyn Backend, algorithm: Algorithm, with_key: &[u8], message: &[u8]) -> Vec<u8> {
    let key = key(backend, algorithm, with_key);
    let kind = (algorithm, Operation::Hash);
    let (status, digest) = apart(backend, kind, &*key, message, algorithm.digest_bytes());
    assert_eq!(status, Status::Ok, "{} {algorithm}", backend.name());
    digest
}

fn check(algorithm: Algorithm, key: &[u8], message: &[u8], expected: &str) {
    for backend in with(algorithm, Operation::Hash) {
        let digest = digest(&*backend, algorithm, key, message);
        let bytes = message.len();
        let name = format!("{} {algorithm}, {bytes} bytes", backend.name());
        assert_eq!(digest, hex(expected), "{name}");
    }
}

#[test]
fn sha1_fips_180() {
    let check = |message: &[u8], digest| check(Algorithm::Sha1, &[], message, digest);
    check(b"", "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    check(b"abc", "a9993e364706816aba3e25717850c26c9cd0d89d");
    check(BITS_448, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    check(MILLION, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

#[test]
fn sha256_fips_180() {
    for (message, digest) in [
        (
            &b""[..],
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ),
        (
            b"abc",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (
            BITS_448,
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        (
            MILLION,
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
        ),
    ] {
        check(Algorithm::Sha256, &[], message, digest);
    }
}

#[test]
fn sha384_fips_180() {
    let check = |message: &[u8], digest| check(Algorithm::Sha384, &[], message, digest);
    let nothing = "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da
        274edebfe76f65fbd51ad2f14898b95b";
    check(b"", nothing);
    let abc = "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed
        8086072ba1e7cc2358baeca134c825a7";
    check(b"abc", abc);
    let bits_896 = "09330c33f71147e83d192fc782cd1b4753111b173b3b05d22fa08086e3b0f712
        fcc7c71a557e2db966c3e9fa91746039";
    check(BITS_896, bits_896);
    let million = "9d0e1809716474cb086e834e310a4a1ced149e9c00f248527972cec5704c2a5b
        07b8b3dc38ecc4ebae97ddd87f3d8985";
    check(MILLION, million);
}

#[test]
fn sha512_fips_180() {
    let check = |message: &[u8], digest| check(Algorithm::Sha512, &[], message, digest);
    let nothing = "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce
        47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e";
    check(b"", nothing);
    let abc = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a
        2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
    check(b"abc", abc);
    let bits_896 = "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018
        501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909";
    check(BITS_896, bits_896);
    let million = "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb
        de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b";
    check(MILLION, million);
}

/// Cases 1 to 4, 6 and 7 (5 is a truncation), and an empty key.
#[test]
fn hmac_sha256_rfc_4231() {
    let check = |key: &[u8], message: &[u8], code| {
        check(Algorithm::HmacSha256, key, message, code);
    };
    let code = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
    check(&[0x0b; 20], b"Hi There", code);
    let code = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    check(b"Jefe", b"what do ya want for nothing?", code);
    let code = "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe";
    check(&[0xaa; 20], &[0xdd; 50], code);
    let counting: Vec<u8> = (1..=25).collect();
    let code = "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b";
    check(&counting, &[0xcd; 50], code);
    let message = b"Test Using Larger Than Block-Size Key - Hash Key First";
    let code = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
    check(&[0xaa; 131], message, code);
    let message = b"This is a test using a larger than block-size key and a larger \
        than block-size data. The key needs to be hashed before being used \
        by the HMAC algorithm.";
    let code = "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2";
    check(&[0xaa; 131], message, code);
    let code = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad";
    check(b"", b"", code);
}
