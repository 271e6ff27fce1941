//! The peer: `dpdk-test-crypto-perf` with its multi-buffer driver.

use std::time::Duration;

use crypto::{Algorithm, KeyForm, Kind, Operation};
use sys::temporary::Folder;

use kit::host::DPDK_CRYPTO as PROGRAM;
use probe::command;

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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    kind: Kind,
    /// Operations in a burst.
    burst: usize,
    /// Rising.
    sizes_bytes: Vec<usize>,
}

/// Whether the driver has that kind.
pub(super) fn knows(kind: Kind) -> bool {
    words(kind).is_some()
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
    /// The one that measures that size of a kind, of all its sizes.
    pub(super) fn of(kind: Kind, burst: usize, block_bytes: usize, all: &[usize]) -> Self {
        let is_along = |size: &usize| (*size <= SMALL_BYTES) == (block_bytes <= SMALL_BYTES);
        let sizes_bytes = all.iter().copied().filter(is_along).collect();
        Self {
            kind,
            burst,
            sizes_bytes,
        }
    }

    fn operations(&self) -> u64 {
        let bytes = match self.burst {
            1 => SINGLE_BYTES,
            _ => BURST_BYTES,
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

    /// As a user would type it, on those CPUs.
    pub(super) fn command(&self, main_cpu: usize, worker_cpu: usize) -> String {
        let sizes: Vec<_> = self.sizes_bytes.iter().map(usize::to_string).collect();
        format!(
            "{PROGRAM} --no-huge -m 512 --no-pci --lcores 0@{main_cpu},1@{worker_cpu} --vdev crypto_aesni_mb \
             --no-telemetry --no-shconf --file-prefix lockgate -- --ptest throughput \
             --devtype crypto_aesni_mb {} --buffer-sz {} --burst-sz {} --total-ops {} --silent",
            words(self.kind).unwrap_or_default(),
            sizes.join(","),
            self.burst,
            self.operations(),
        )
    }

    /// What it prints; none where it failed.
    pub(super) fn run(&self, main_cpu: usize, worker_cpu: usize) -> Option<String> {
        // Where it keeps its lock and logs.
        let folder = Folder::new(FOLDER).ok()?;
        let command = self.command(main_cpu, worker_cpu);
        let arguments: Vec<_> = command.split_ascii_whitespace().skip(1).collect();
        let place = [("RUNTIME_DIRECTORY", folder.path())];
        command::run_with(PROGRAM, &arguments, &place, TIME_MAX).printed()
    }

    /// Operations/s that it printed of that size.
    pub(super) fn operations_per_s(&self, output: &str, block_bytes: usize) -> Option<f64> {
        let own = [block_bytes as f64, self.burst as f64];
        let lines = output.lines().filter_map(figures);
        let [.., millions_per_s, _, _] = lines.into_iter().find(|one| one[1..3] == own)?;
        (millions_per_s > 0.0).then_some(millions_per_s * 1e6)
    }
}

/// A line of figures: lcore, size, burst, enqueued, dequeued, failed twice,
/// millions of operations a second, Gbit/s, cycles.
fn figures(line: &str) -> Option<[f64; 10]> {
    let figures = line.split_ascii_whitespace().map(str::parse);
    let figures: Vec<f64> = figures.collect::<Result<_, _>>().ok()?;
    figures.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "Allocated pool \"sess_mp_0\" on socket 0\n    lcore id    Buf Size  Burst Size    Enqueued    Dequeued  Failed Enq  Failed Deq        MOps        Gbps  Cycles/Buf\n\n           1          64          32       30000       30000           0           0     29.8858     15.3015       87.00\n           1        1024          32       30000       30000           0           0     13.5107    110.6793      192.44\n           1       16384          32       30000       30000           0           0      0.3522     46.1590     7382.90\n\n";

    fn kind(name: &str) -> Kind {
        Kind::from(name.parse::<Algorithm>().unwrap())
    }

    #[test]
    fn reads_what_it_prints() {
        let call = |burst| Call::of(kind("aes-128-cbc"), burst, 64, &[64]);
        let rate = |size| call(32).operations_per_s(PRINTED, size);
        assert_eq!(rate(64).map(f64::round), Some(29_885_800.0));
        assert_eq!(rate(16_384).map(f64::round), Some(352_200.0));
        assert_eq!(rate(4096), None, "another size");
        assert_eq!(call(1).operations_per_s(PRINTED, 64), None, "another burst");
        for garbage in ["", "1 64 32", "1 64 32 0 0 0 0 0.0 0.0 0.0", "a b c"] {
            assert_eq!(call(32).operations_per_s(garbage, 64), None, "{garbage}");
        }
    }

    #[test]
    fn a_call_is_what_one_would_type_and_takes_a_second_or_two() {
        let call = Call::of(kind("aes-128-cbc"), 32, 4096, &[64, 4096, 16_384]);
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
            ("sha256", "--auth-key-sz 0 --digest-sz 32"),
            ("hmac-sha256", "--auth-key-sz 32 --digest-sz 32"),
            ("aes-256-ecb", "--cipher-key-sz 32 --cipher-iv-sz 0"),
            ("chacha20-poly1305", "--aead-op encrypt --aead-key-sz 32"),
        ] {
            for burst in [32, 1] {
                let call = Call::of(kind(name), burst, 16_384, &[64, 1024, 16_384]);
                assert!(call.command(0, 1).contains(words), "{call:?}");
                assert!((0.5..3.0).contains(&call.seconds()), "{call:?}");
            }
        }
        assert!(!knows(kind("aes-128-xts")) && !knows(kind("rsa-2048")));
    }
}
