//! RFC 7748 (X25519) and RFC 6979 (ECDSA on P-256).

use lockgate_crypto::{Algorithm, Operation, Status};

use super::{apart, hex, key, signature, with};

#[test]
fn x25519_rfc_7748_6_1() {
    let alice = hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
    let alice_public = hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
    let bob = hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
    let bob_public = hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
    let secret = hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
    let kind = (Algorithm::X25519, Operation::Derive);
    for backend in with(kind.0, kind.1) {
        for (private, public) in [(&alice, &bob_public), (&bob, &alice_public)] {
            let key = key(&*backend, kind.0, private);
            let derived = apart(&*backend, kind, &*key, public, 32);
            assert_eq!(derived, (Status::Ok, secret.clone()), "{}", backend.name());
        }
    }
}

/// RFC 7748 §6.1: the points whose order divides 8 give zeros with any key.
#[test]
fn x25519_refuses_points_of_small_order() {
    let kind = (Algorithm::X25519, Operation::Derive);
    let mut one = vec![0; 32];
    one[0] = 1;
    let of_order_8 = hex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800");
    for backend in with(kind.0, kind.1) {
        let key = key(&*backend, kind.0, &[0x44; 32]);
        for point in [vec![0; 32], one.clone(), of_order_8.clone()] {
            let derived = apart(&*backend, kind, &*key, &point, 32);
            let refused = (Status::InvalidInput, vec![0; 32]);
            assert_eq!(derived, refused, "{} {point:02x?}", backend.name());
        }
    }
}

/// A.2.5, SHA-256, the message `sample`: its digest, r and s.
#[test]
fn ecdsa_rfc_6979_a_2_5() {
    let pkcs8 = include_bytes!("../vectors/p-256.rfc6979.pkcs8.der");
    let digest = hex("af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf");
    let good = hex(
        "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716
        f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
    );
    let algorithm = Algorithm::EcdsaP256;
    for backend in with(algorithm, Operation::Verify) {
        let key = key(&*backend, algorithm, pkcs8);
        let run = |operation, tag: &mut [u8]| {
            signature(&*backend, (algorithm, operation), &*key, &digest, tag)
        };
        let name = backend.name();
        let (verify, sign) = (Operation::Verify, Operation::Sign);
        assert_eq!(run(verify, &mut good.clone()), Status::Ok, "{name}");
        let mut made = vec![0; 64];
        assert_eq!(run(sign, &mut made), Status::Ok, "{name}");
        assert_eq!(run(verify, &mut made), Status::Ok, "{name}");
        for byte in [0, 31, 32, 63] {
            let mut forged = good.clone();
            forged[byte] ^= 1;
            let verdict = run(verify, &mut forged);
            assert_eq!(verdict, Status::AuthenticationFailed, "{name} {byte}");
        }
        for mut nonsense in [vec![0; 64], vec![0xff; 64]] {
            let verdict = run(verify, &mut nonsense);
            assert_eq!(verdict, Status::AuthenticationFailed, "{name}");
        }
    }
}
