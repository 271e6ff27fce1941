//! The peer: `openssl speed`, single stream, in the worker's place.

use std::time::Duration;

use crypto::{Algorithm, Kind, Operation};

use super::trial_run::Sample;
use crate::command;

/// It measures whole seconds; starting takes a little more.
const SECONDS: f64 = 1.07;
/// RSA is always measured every way: sign and verify, since 3.2 also encrypt
/// and decrypt. Planned for the longer, so that no version overruns.
const RSA_SECONDS: f64 = 4.3;

/// Whether `openssl speed` measures that kind the way we do.
pub(super) fn knows(kind: Kind) -> bool {
    // It measures AEAD decryption by other rules (some versions time failing
    // tags), so that only sealing is compared.
    kind.operation != Operation::Decrypt
}

/// How long one trial takes.
pub(super) fn seconds(kind: Kind) -> f64 {
    if kind.algorithm.is_public_key() {
        RSA_SECONDS
    } else {
        SECONDS
    }
}

/// Whether it is installed.
pub(super) fn is_installed() -> bool {
    command::run("openssl", &["version"]).printed().is_some()
}

/// The command, as a user would type it.
pub(super) fn arguments(kind: Kind, block_bytes: usize) -> Vec<String> {
    let words = match kind.algorithm {
        Algorithm::Rsa(..) => "speed -seconds 1 rsa2048".to_owned(),
        algorithm => format!("speed -seconds 1 -bytes {block_bytes} -evp {algorithm}"),
    };
    words.split(' ').map(str::to_owned).collect()
}

/// One trial on that CPU; `None` when it failed or its output was not
/// understood.
pub(super) fn measure(kind: Kind, block_bytes: usize, cpu: usize) -> Option<Sample> {
    let arguments = arguments(kind, block_bytes);
    let output = std::thread::scope(|scope| {
        // A child inherits the CPU of the thread that starts it.
        let started = scope.spawn(|| {
            sys::affinity::pin_to(cpu).ok()?;
            let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
            command::run_within("openssl", &arguments, Duration::from_secs(10)).printed()
        });
        started.join().ok().flatten()
    })?;
    let requests_per_s = if kind.algorithm.is_public_key() {
        rsa_per_s(&output, kind.operation)?
    } else {
        bytes_per_s(&output)? / block_bytes as f64
    };
    // It reports a rate only; a second of it is what was measured.
    Some(Sample {
        requests: requests_per_s as u64,
        requests_per_s,
        ..Sample::default()
    })
}

/// The last line is `NAME 1234.56k`: thousands of bytes a second.
fn bytes_per_s(output: &str) -> Option<f64> {
    let thousands = output
        .lines()
        .last()?
        .split_ascii_whitespace()
        .last()?
        .strip_suffix('k')?;
    thousands
        .parse::<f64>()
        .ok()
        .map(|thousands| thousands * 1e3)
        .filter(|rate| *rate > 0.0)
}

/// The header ends in `sign/s verify/s`, since 3.2 with `encr./s decr./s`
/// after them. Columns are counted from the end: at the beginning of the
/// figures stands a name of three words that the header lacks.
fn rsa_per_s(output: &str, operation: Operation) -> Option<f64> {
    let column = match operation {
        Operation::Sign => "sign/s",
        _ => "verify/s",
    };
    let mut lines = output.lines().map(str::split_ascii_whitespace);
    let from_end = lines.find_map(|words| words.rev().position(|word| word == column))?;
    let mut figures = lines.find(|words| words.clone().next() == Some("rsa"))?;
    let rate: f64 = figures.nth_back(from_end)?.parse().ok()?;
    (rate > 0.0).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_openssl_prints() {
        let cipher = "version: 3.0.19\nThe 'numbers' are in 1000s of bytes per second processed.\ntype          16384 bytes\nAES-128-GCM    5499628.86k\n";
        assert_eq!(bytes_per_s(cipher), Some(5_499_628_860.0));
        let rsa = "                  sign    verify    sign/s verify/s\nrsa 2048 bits 0.000386s 0.000018s   2588.5  54567.8\n";
        assert_eq!(rsa_per_s(rsa, Operation::Sign), Some(2588.5));
        assert_eq!(rsa_per_s(rsa, Operation::Verify), Some(54_567.8));
        let newer = "version: 3.4.1\n                   sign    verify    encrypt   decrypt   sign/s verify/s  encr./s  decr./s\nrsa  2048 bits 0.000401s 0.000012s 0.000013s 0.000410s   2493.8  83611.0  76923.1   2439.0\n";
        assert_eq!(rsa_per_s(newer, Operation::Sign), Some(2493.8));
        assert_eq!(rsa_per_s(newer, Operation::Verify), Some(83_611.0));
        let no_figures = "sign/s verify/s\n";
        for garbage in ["", "\n", "k", "AES 0.00k", "x y z", no_figures] {
            assert_eq!(bytes_per_s(garbage), None, "{garbage}");
            assert_eq!(rsa_per_s(garbage, Operation::Sign), None, "{garbage}");
        }
    }
}
