//! The peer: `openssl speed`, single stream, in the worker's place.

use std::time::Duration;

use crypto::{Algorithm, Kind, Operation, RsaScheme};

use probe::command;

pub const PROGRAM: &str = "openssl";
/// It measures whole seconds; starting takes a little more.
const SECONDS: f64 = 1.07;
/// RSA is always measured every way: sign and verify, since 3.2 also encrypt
/// and decrypt. Planned for the longer, so that no version overruns.
const RSA_SECONDS: f64 = 4.3;
/// ECDSA is signed, then verified.
const ECDSA_SECONDS: f64 = 2.15;

/// Whether `openssl speed` measures that kind the way we do.
pub fn knows(kind: Kind) -> bool {
    let is_measured = match kind.algorithm {
        // RSA is measured with PKCS#1 v1.5 only; its encryption since 3.2
        // alone, so that not every host would have a figure.
        Algorithm::Rsa(_, RsaScheme::Pkcs1) | Algorithm::EcdsaP256 => {
            matches!(kind.operation, Operation::Sign | Operation::Verify)
        }
        Algorithm::Rsa(..) => false,
        _ => true,
    };
    // It measures AEAD decryption by other rules (some versions time failing
    // tags), so that only sealing is compared.
    is_measured && kind.operation != Operation::Decrypt
}

/// How long one trial takes.
pub fn seconds(kind: Kind) -> f64 {
    match kind.algorithm {
        Algorithm::Rsa(..) => RSA_SECONDS,
        Algorithm::EcdsaP256 => ECDSA_SECONDS,
        _ => SECONDS,
    }
}

/// The command, as a user would type it.
pub fn arguments(kind: Kind, block_bytes: usize) -> Vec<String> {
    let what = match kind.algorithm {
        Algorithm::Rsa(bits, _) => format!("rsa{}", bits.bits()),
        Algorithm::EcdsaP256 => "ecdsap256".to_owned(),
        Algorithm::X25519 => "ecdhx25519".to_owned(),
        group @ Algorithm::Ffdh(_) => format!("ffdh{}", group.modulus_bytes() * 8),
        Algorithm::HmacSha256 => format!("-bytes {block_bytes} -hmac sha256"),
        algorithm => format!("-bytes {block_bytes} -evp {algorithm}"),
    };
    let words = format!("speed -seconds 1 {what}");
    words.split(' ').map(str::to_owned).collect()
}

/// One trial on that CPU, requests/s; `None` when it failed or its output was
/// not understood.
pub fn measure(kind: Kind, block_bytes: usize, cpu: usize) -> Option<f64> {
    let output = printed(&arguments(kind, block_bytes), cpu)?;
    requests_per_s(&output, kind, block_bytes)
}

/// What it prints on that CPU; `None` when it failed.
pub fn printed(arguments: &[String], cpu: usize) -> Option<String> {
    std::thread::scope(|scope| {
        // A child inherits the CPU of the thread that starts it.
        let started = scope.spawn(|| {
            sys::affinity::pin_to(cpu).ok()?;
            let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
            command::run_with(PROGRAM, &arguments, &[], Duration::from_secs(10)).printed()
        });
        started.join().ok().flatten()
    })
}

/// Requests/s that it printed of that kind, which may be one of several.
pub fn requests_per_s(output: &str, kind: Kind, block_bytes: usize) -> Option<f64> {
    match (kind.algorithm.is_public_key(), kind.operation) {
        (true, Operation::Sign) => operations_per_s(output, "sign/s"),
        (true, Operation::Verify) => operations_per_s(output, "verify/s"),
        (true, _) => operations_per_s(output, "op/s"),
        (false, _) => bytes_per_s(output).map(|bytes| bytes / block_bytes as f64),
    }
}

/// The last line is `NAME 1234.56k`: thousands of bytes a second.
fn bytes_per_s(output: &str) -> Option<f64> {
    let last = output.lines().last()?.split_ascii_whitespace().last()?;
    let thousands: f64 = last.strip_suffix('k')?.parse().ok()?;
    (thousands > 0.0).then_some(thousands * 1e3)
}

/// The header ends in columns such as `sign/s verify/s`, since 3.2 with
/// `encr./s decr./s` after them; the figures are the next line. Columns are
/// counted from the end: at the beginning of the figures stands a name of
/// several words that the header lacks.
fn operations_per_s(output: &str, column: &str) -> Option<f64> {
    let mut lines = output.lines().map(str::split_ascii_whitespace);
    let from_end = lines.find_map(|words| words.rev().position(|word| word == column))?;
    let rate: f64 = lines.next()?.nth_back(from_end)?.parse().ok()?;
    (rate > 0.0).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rate that `output` gives for an algorithm, by name.
    fn rate(output: &str, algorithm: &str, operation: Operation) -> Option<f64> {
        let kind = Kind::new(algorithm.parse().unwrap(), operation);
        requests_per_s(output, kind, 16_384)
    }

    #[test]
    fn reads_what_openssl_prints() {
        let cipher = "version: 3.0.19\nThe 'numbers' are in 1000s of bytes per second processed.\ntype          16384 bytes\nAES-128-GCM    5499628.86k\n";
        let hmac = "type          16384 bytes\nhmac(sha256)   2108760.24k\n";
        let rsa = "                  sign    verify    sign/s verify/s\nrsa 2048 bits 0.000386s 0.000018s   2588.5  54567.8\n";
        let newer = "version: 3.4.1\n                   sign    verify    encrypt   decrypt   sign/s verify/s  encr./s  decr./s\nrsa  2048 bits 0.000401s 0.000012s 0.000013s 0.000410s   2493.8  83611.0  76923.1   2439.0\n";
        let ecdsa = "                              sign    verify    sign/s verify/s\n 256 bits ecdsa (nistp256)   0.0000s   0.0000s  76991.9  25887.0\n";
        let x25519 = "                              op      op/s\n 253 bits ecdh (X25519)   0.0000s  45356.0\n";
        let ffdh = "                       op     op/s\n2048 bits ffdh   0.0002s   5075.0\n";
        for (output, algorithm, operation, wanted) in [
            (
                cipher,
                "aes-128-gcm",
                Operation::Encrypt,
                5_499_628_860.0 / 16_384.0,
            ),
            (
                hmac,
                "hmac-sha256",
                Operation::Hash,
                2_108_760_240.0 / 16_384.0,
            ),
            (rsa, "rsa-2048", Operation::Sign, 2588.5),
            (rsa, "rsa-2048", Operation::Verify, 54_567.8),
            (newer, "rsa-2048", Operation::Sign, 2493.8),
            (newer, "rsa-2048", Operation::Verify, 83_611.0),
            (ecdsa, "ecdsa-p256", Operation::Sign, 76_991.9),
            (ecdsa, "ecdsa-p256", Operation::Verify, 25_887.0),
            (x25519, "x25519", Operation::Derive, 45_356.0),
            (ffdh, "ffdh-2048", Operation::Derive, 5075.0),
        ] {
            let rate = rate(output, algorithm, operation);
            let is_read = rate.is_some_and(|rate| (rate - wanted).abs() < 0.01);
            assert!(is_read, "{algorithm} {operation}: {rate:?} of {output}");
        }
        for garbage in ["", "\n", "k", "AES 0.00k", "x y z", "sign/s verify/s\n"] {
            for algorithm in ["sha256", "rsa-2048"] {
                let operation = algorithm.parse::<Algorithm>().unwrap().operations()[0];
                assert_eq!(rate(garbage, algorithm, operation), None, "{garbage}");
            }
        }
    }

    #[test]
    fn each_command_is_the_one_to_type() {
        let typed = |algorithm: &str| {
            let algorithm: Algorithm = algorithm.parse().unwrap();
            arguments(Kind::from(algorithm), 1024)[3..].join(" ")
        };
        for (algorithm, words) in [
            ("aes-256-xts", "-bytes 1024 -evp aes-256-xts"),
            ("chacha20-poly1305", "-bytes 1024 -evp chacha20-poly1305"),
            ("hmac-sha256", "-bytes 1024 -hmac sha256"),
            ("rsa-3072", "rsa3072"),
            ("ecdsa-p256", "ecdsap256"),
            ("x25519", "ecdhx25519"),
            ("ffdh-4096", "ffdh4096"),
        ] {
            assert_eq!(typed(algorithm), words);
        }
    }
}
