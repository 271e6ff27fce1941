//! Finite-field Diffie-Hellman against OpenSSL, and RFC 7919 §5.1.

use lockgate_crypto::{Algorithm, FfdhGroup, Operation, Status};

use super::{apart, key, with};

struct Vector {
    group: FfdhGroup,
    prime: &'static [u8],
    exponent: &'static [u8],
    peer: &'static [u8],
    secret: &'static [u8],
}

macro_rules! vector {
    ($group:ident, $bits:literal) => {
        Vector {
            group: FfdhGroup::$group,
            prime: include_bytes!(concat!("../vectors/ffdh-", $bits, ".prime")),
            exponent: include_bytes!(concat!("../vectors/ffdh-", $bits, ".exponent")),
            peer: include_bytes!(concat!("../vectors/ffdh-", $bits, ".peer")),
            secret: include_bytes!(concat!("../vectors/ffdh-", $bits, ".secret")),
        }
    };
}

const VECTORS: [Vector; 3] = [
    vector!(Ffdhe2048, "2048"),
    vector!(Ffdhe3072, "3072"),
    vector!(Ffdhe4096, "4096"),
];

fn derived(vector: &Vector, exponent: &[u8], peer: &[u8]) -> Vec<(String, (Status, Vec<u8>))> {
    let kind = (Algorithm::Ffdh(vector.group), Operation::Derive);
    with(kind.0, kind.1)
        .into_iter()
        .map(|backend| {
            let key = key(&*backend, kind.0, exponent);
            let out = apart(&*backend, kind, &*key, peer, vector.prime.len());
            (format!("{} {}", backend.name(), kind.0), out)
        })
        .collect()
}

#[test]
fn the_secret_is_that_of_openssl() {
    for vector in VECTORS {
        for (name, out) in derived(&vector, vector.exponent, vector.peer) {
            assert_eq!(out, (Status::Ok, vector.secret.to_vec()), "{name}");
        }
    }
}

fn number(vector: &Vector, value: u8) -> Vec<u8> {
    let mut bytes = vec![0; vector.prime.len()];
    *bytes.last_mut().expect("a modulus") = value;
    bytes
}

/// `prime` − n; the last byte of each prime is 255.
fn below_prime(vector: &Vector, n: u8) -> Vec<u8> {
    let mut bytes = vector.prime.to_vec();
    *bytes.last_mut().expect("a modulus") -= n;
    bytes
}

#[test]
fn values_outside_2_to_p_minus_2_are_refused() {
    for vector in VECTORS {
        let refused = (Status::InvalidInput, number(&vector, 0));
        let all_ones = vec![0xff; vector.prime.len()];
        for peer in [
            number(&vector, 0),
            number(&vector, 1),
            below_prime(&vector, 1),
            below_prime(&vector, 0),
            all_ones,
        ] {
            for (name, out) in derived(&vector, vector.exponent, &peer) {
                assert_eq!(out, refused, "{name}");
            }
        }
    }
}

/// A secret of 1 is everybody's (SP 800-56A §5.7.1.1); an exponent of 0 gives it.
#[test]
fn a_secret_of_1_is_refused() {
    for vector in VECTORS {
        let zero = vec![0; vector.exponent.len()];
        for (name, out) in derived(&vector, &zero, vector.peer) {
            assert_eq!(out, (Status::InvalidInput, number(&vector, 0)), "{name}");
        }
    }
}

/// With the exponent 3, 2 gives 8 and p − 2 gives p − 8: short secrets keep
/// their leading zeros, and both ends of the range are in.
#[test]
fn leading_zeros_are_kept() {
    for vector in VECTORS {
        let mut three = vec![0; vector.exponent.len()];
        *three.last_mut().expect("an exponent") = 3;
        for (peer, secret) in [
            (number(&vector, 2), number(&vector, 8)),
            (below_prime(&vector, 2), below_prime(&vector, 8)),
        ] {
            for (name, out) in derived(&vector, &three, &peer) {
                assert_eq!(out, (Status::Ok, secret.clone()), "{name}");
            }
        }
    }
}
