//! The peer: `dpdk-test-crypto-perf` with its multi-buffer driver.

use std::time::Duration;

use crypto::{Algorithm, KeyForm, Kind, Operation};
use sys::temporary::Folder;

use crate::speed::peers::arm::Arm;
use kit::load::fresh::trial_run::Sample;
use probe::command;

/// Debian puts it into the package `dpdk-dev`.
const PROGRAM: &str = "dpdk-test-crypto-perf";
/// Folders of this name in the folder for temporary files are ours.
const FOLDER: &str = "lockgate-dpdk-";
/// Setting its buffers up, measured generously.
const START_S: f64 = 0.6;
/// How much of each size it processes: a tenth to half a second on the
/// fastest and the slowest core that is likely.
const BURST_BYTES: f64 = 1.5e9;
/// One operation at a time is several times slower.
const SINGLE_BYTES: f64 = 4e8;
const OPERATIONS_MAX: f64 = 2e6;
/// Bytes a second for which a trial is planned.
const PLANNED_BYTES_PER_S: f64 = 4e9;
const TIME_MAX: Duration = Duration::from_secs(20);
/// One call measures all of its sizes with as many operations: blocks up to
/// this and larger ones are apart, so that no trial is far too short or long.
const SMALL_BYTES: usize = 1024;

/// What one call measures.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Call {
    pub(super) kind: Kind,
    pub(super) burst: usize,
    /// By size.
    pub(super) sizes_bytes: Vec<usize>,
}

/// Whether the driver has that kind.
pub(super) fn knows(kind: Kind) -> bool {
    words(kind).is_some()
}

/// Whether it is installed and starts.
pub(super) fn is_installed() -> bool {
    command::is_there(PROGRAM)
}

/// Whether one call can measure both sizes.
pub(super) fn is_one_call(a: usize, b: usize) -> bool {
    (a <= SMALL_BYTES) == (b <= SMALL_BYTES)
}

/// Its words for a kind.
fn words(kind: Kind) -> Option<String> {
    let key_bytes = match kind.algorithm.key_form() {
        KeyForm::Bytes(bytes) => bytes,
        KeyForm::AnyBytes => 32,
        KeyForm::Pkcs8 => return None,
    };
    let cipher = |name: &str, iv_bytes: usize| {
        format!(
            "--optype cipher-only --cipher-algo {name} --cipher-op encrypt --cipher-key-sz {key_bytes} --cipher-iv-sz {iv_bytes}"
        )
    };
    let aead = |name: &str| {
        format!(
            "--optype aead --aead-algo {name} --aead-op encrypt --aead-key-sz {key_bytes} --aead-iv-sz 12 --aead-aad-sz 0 --digest-sz 16"
        )
    };
    // A hash has no key: with its default of one the program finds no driver.
    let hash = |name: &str, key_bytes: usize| {
        let digest_bytes = kind.algorithm.digest_bytes();
        format!(
            "--optype auth-only --auth-algo {name} --auth-op generate --auth-key-sz {key_bytes} --digest-sz {digest_bytes}"
        )
    };
    use Algorithm as A;
    match kind.algorithm {
        _ if kind.operation == Operation::Decrypt => None,
        A::Aes128Ecb | A::Aes192Ecb | A::Aes256Ecb => Some(cipher("aes-ecb", 0)),
        A::Aes128Cbc | A::Aes192Cbc | A::Aes256Cbc => Some(cipher("aes-cbc", 16)),
        A::Aes128Ctr | A::Aes192Ctr | A::Aes256Ctr => Some(cipher("aes-ctr", 16)),
        A::Aes128Gcm | A::Aes192Gcm | A::Aes256Gcm => Some(aead("aes-gcm")),
        A::ChaCha20Poly1305 => Some(aead("chacha20-poly1305")),
        A::Sha1 => Some(hash("sha1", 0)),
        A::Sha256 => Some(hash("sha2-256", 0)),
        A::Sha384 => Some(hash("sha2-384", 0)),
        A::Sha512 => Some(hash("sha2-512", 0)),
        A::HmacSha256 => Some(hash("sha2-256-hmac", key_bytes)),
        _ => None,
    }
}

impl Call {
    fn operations(&self) -> u64 {
        let bytes = if self.burst > 1 {
            BURST_BYTES
        } else {
            SINGLE_BYTES
        };
        let largest = self.sizes_bytes.iter().max().copied().unwrap_or(1);
        (bytes / largest as f64).clamp(1e4, OPERATIONS_MAX) as u64
    }

    /// How long it takes, about.
    pub(super) fn seconds(&self) -> f64 {
        let bytes: usize = self.sizes_bytes.iter().sum();
        let slowness = if self.burst > 1 { 1.0 } else { 4.0 };
        START_S + self.operations() as f64 * bytes as f64 / PLANNED_BYTES_PER_S * slowness
    }

    /// The command's words after its name, on those CPUs.
    pub(super) fn arguments(&self, main_cpu: usize, worker_cpu: usize) -> Vec<String> {
        let sizes: Vec<_> = self.sizes_bytes.iter().map(usize::to_string).collect();
        let text = format!(
            "--no-huge -m 512 --no-pci --lcores 0@{main_cpu},1@{worker_cpu} --vdev crypto_aesni_mb \
             --no-telemetry --no-shconf --file-prefix lockgate -- --ptest throughput \
             --devtype crypto_aesni_mb {} --buffer-sz {} --burst-sz {} --total-ops {} --silent",
            words(self.kind).unwrap_or_default(),
            sizes.join(","),
            self.burst,
            self.operations(),
        );
        text.split_ascii_whitespace().map(str::to_owned).collect()
    }

    /// As a user would type it.
    pub(super) fn command(&self, main_cpu: usize, worker_cpu: usize) -> String {
        format!(
            "{PROGRAM} {}",
            self.arguments(main_cpu, worker_cpu).join(" ")
        )
    }

    /// Runs it: a sample for each size that it printed.
    pub(super) fn run(&self, main_cpu: usize, worker_cpu: usize) -> Vec<(usize, Sample)> {
        // Where it keeps its lock and logs.
        let Ok(folder) = Folder::new(FOLDER) else {
            return Vec::new();
        };
        let arguments = self.arguments(main_cpu, worker_cpu);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let place = [("RUNTIME_DIRECTORY", folder.path())];
        command::run_with(PROGRAM, &arguments, &place, TIME_MAX)
            .printed()
            .map_or_else(Vec::new, |output| parse(&output, self.burst))
    }
}

/// The lines of figures: lcore, size, burst, enqueued, dequeued, failed
/// twice, millions of operations a second, Gbit/s, cycles.
fn parse(output: &str, burst: usize) -> Vec<(usize, Sample)> {
    let line = |line: &str| {
        let figures: Vec<f64> = line
            .split_ascii_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()
            .ok()?;
        let &[_, size, own_burst, _, dequeued, _, _, millions_per_s, _, _] = &figures[..] else {
            return None;
        };
        let sample = Sample {
            requests: dequeued as u64,
            requests_per_s: millions_per_s * 1e6,
            ..Sample::default()
        };
        let is_sound = own_burst as usize == burst && size >= 1.0 && millions_per_s > 0.0;
        is_sound.then_some((size as usize, sample))
    };
    output.lines().filter_map(line).collect()
}

/// The calls that measure those sizes of a kind, and which each is in.
pub(super) fn call_for(kind: Kind, arm: Arm, block_bytes: usize, all: &[usize]) -> Option<Call> {
    let mut sizes_bytes: Vec<_> = all
        .iter()
        .copied()
        .filter(|&size| is_one_call(size, block_bytes))
        .collect();
    sizes_bytes.sort_unstable();
    sizes_bytes.dedup();
    Some(Call {
        kind,
        burst: arm.burst()?,
        sizes_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "Allocated pool \"sess_mp_0\" on socket 0\n    lcore id    Buf Size  Burst Size    Enqueued    Dequeued  Failed Enq  Failed Deq        MOps        Gbps  Cycles/Buf\n\n           1          64          32       30000       30000           0           0     29.8858     15.3015       87.00\n           1        1024          32       30000       30000           0           0     13.5107    110.6793      192.44\n           1       16384          32       30000       30000           0           0      0.3522     46.1590     7382.90\n\n";

    fn kind(name: &str) -> Kind {
        let algorithm: Algorithm = name.parse().unwrap();
        Kind {
            algorithm,
            operation: algorithm.operations()[0],
        }
    }

    #[test]
    fn reads_what_it_prints() {
        let samples = parse(PRINTED, 32);
        let rates: Vec<_> = samples
            .iter()
            .map(|(size, sample)| (*size, sample.requests_per_s.round(), sample.requests))
            .collect();
        let expected = [
            (64, 29_885_800.0, 30_000),
            (1024, 13_510_700.0, 30_000),
            (16_384, 352_200.0, 30_000),
        ];
        assert_eq!(rates, expected);
        assert!(parse(PRINTED, 1).is_empty(), "another burst");
        for garbage in ["", "1 64 32", "1 64 32 0 0 0 0 0.0 0.0 0.0", "a b c"] {
            assert!(parse(garbage, 32).is_empty(), "{garbage}");
        }
    }

    #[test]
    fn a_call_is_what_one_would_type_and_takes_a_second_or_two() {
        let call = call_for(kind("aes-128-cbc"), Arm::Dpdk32, 4096, &[64, 16_384, 4096]).unwrap();
        assert_eq!(call.sizes_bytes, [4096, 16_384]);
        let command = call.command(0, 1);
        for part in [
            "dpdk-test-crypto-perf --no-huge",
            "--lcores 0@0,1@1",
            "--cipher-algo aes-cbc --cipher-op encrypt --cipher-key-sz 16",
            "--buffer-sz 4096,16384 --burst-sz 32 --total-ops 91552",
        ] {
            assert!(command.contains(part), "{part}: {command}");
        }
        for (name, words) in [
            (
                "sha256",
                "--auth-algo sha2-256 --auth-op generate --auth-key-sz 0 --digest-sz 32",
            ),
            ("sha384", "--auth-key-sz 0 --digest-sz 48"),
            (
                "hmac-sha256",
                "sha2-256-hmac --auth-op generate --auth-key-sz 32 --digest-sz 32",
            ),
            ("aes-256-ecb", "--cipher-key-sz 32 --cipher-iv-sz 0"),
            (
                "chacha20-poly1305",
                "--aead-algo chacha20-poly1305 --aead-op encrypt --aead-key-sz 32",
            ),
        ] {
            let call = call_for(kind(name), Arm::Dpdk1, 64, &[64]).unwrap();
            assert!(call.command(0, 1).contains(words), "{}", call.command(0, 1));
        }
        for name in [
            "aes-256-gcm",
            "sha1",
            "sha256",
            "hmac-sha256",
            "aes-192-ctr",
        ] {
            for arm in [Arm::Dpdk32, Arm::Dpdk1] {
                let call = call_for(kind(name), arm, 16_384, &[64, 1024, 16_384]).unwrap();
                assert!((0.5..3.0).contains(&call.seconds()), "{call:?}");
            }
        }
        assert!(!knows(kind("aes-128-xts")) && !knows(kind("rsa-2048")));
    }
}
