//! The fuzz targets' bodies over their committed corpora: what was once found
//! stays found, without a fuzzer and on the stable compiler.

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lockgate_tests::{files, read, root};

/// An input that takes longer in an unhurried build is a finding of its own.
const TIME_MAX: Duration = Duration::from_secs(20);

/// A corpus is for review, too: no more files each, and bytes in all.
const FILES_MAX: usize = 40;
const BYTES_MAX: u64 = 200 * 1024;

/// A target's name and body.
type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 20] = [
    ("cpuid_dump", targets::cpuid_dump),
    ("crypto_job", targets::crypto_job),
    ("disk_header", targets::disk_header),
    ("functions", targets::functions),
    ("histogram", targets::histogram),
    ("journal", targets::journal),
    ("lane", targets::lane),
    ("quic_capture", targets::quic_capture),
    ("quic_keylog", targets::quic_keylog),
    ("quic_table", targets::quic_table),
    ("quic_trace", targets::quic_trace),
    ("run_read", targets::run_read),
    ("scenario", targets::scenario),
    ("vhost_messages", targets::vhost_messages),
    ("vhost_parts", targets::vhost_parts),
    ("vhost_queue", targets::vhost_queue),
    ("vm_frames", targets::vm_frames),
    ("wire_frames", targets::wire_frames),
    ("wire_quic", targets::wire_quic),
    ("wire_views", targets::wire_views),
];

fn corpus(target: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from("fuzz/corpus").join(target);
    let mut inputs = files();
    inputs.retain(|path| path.starts_with(&folder));
    inputs.into_iter().collect()
}

fn replay(target: &str) {
    let (_, body) = TARGETS
        .iter()
        .find(|(name, _)| *name == target)
        .expect("a test names a target of the list");
    let inputs = corpus(target);
    assert!(!inputs.is_empty(), "fuzz/corpus/{target} is empty");
    for path in inputs {
        let data = std::fs::read(root().join(&path)).expect("the file was just listed");
        // Only failed tests' output is shown, so the last line names the input.
        println!("{}", path.display());
        let began = Instant::now();
        body(&data);
        let took = began.elapsed();
        assert!(took < TIME_MAX, "{} took {took:?}", path.display());
    }
    // Inputs that every target must pass over.
    body(&[]);
    body(&[0xff; 300]);
}

#[test]
fn cpuid_dumps() {
    replay("cpuid_dump");
}

#[test]
fn crypto_jobs() {
    replay("crypto_job");
}

#[test]
fn headers_of_disks() {
    replay("disk_header");
}

#[test]
fn virtual_functions() {
    replay("functions");
}

#[test]
fn histograms() {
    replay("histogram");
}

#[test]
fn journals() {
    replay("journal");
}

#[test]
fn lanes() {
    replay("lane");
}

#[test]
fn captures() {
    replay("quic_capture");
}

#[test]
fn key_logs() {
    replay("quic_keylog");
}

#[test]
fn batches_to_a_table() {
    replay("quic_table");
}

#[test]
fn stored_runs() {
    replay("run_read");
}

#[test]
fn scenarios() {
    replay("scenario");
}

#[test]
fn messages_to_a_device() {
    replay("vhost_messages");
}

#[test]
fn parts_of_a_device() {
    replay("vhost_parts");
}

#[test]
fn queues_of_a_device() {
    replay("vhost_queue");
}

#[test]
fn frames_of_guests() {
    replay("vm_frames");
}

#[test]
fn test_frames() {
    replay("wire_frames");
}

#[test]
fn datagrams_of_quic() {
    replay("wire_quic");
}

#[test]
fn frames_of_anybody() {
    replay("wire_views");
}

#[test]
fn every_target_has_a_program_a_body_and_a_corpus() {
    let listed: BTreeSet<_> = TARGETS
        .iter()
        .map(|(name, _)| PathBuf::from(name))
        .collect();
    let names = |folder: &str, depth: usize| -> BTreeSet<PathBuf> {
        let below = files().into_iter().filter(|path| path.starts_with(folder));
        below
            .filter_map(|path| Some(PathBuf::from(path.iter().nth(depth)?).with_extension("")))
            .collect()
    };
    assert_eq!(names("fuzz/fuzz_targets", 2), listed);
    assert_eq!(names("fuzz/corpus", 2), listed);
    let manifest = read("fuzz/Cargo.toml");
    for (name, _) in TARGETS {
        assert!(
            manifest.contains(&format!("\nname = \"{name}\"\n")),
            "{name}"
        );
    }
}

#[test]
fn corpora_are_small() {
    let mut bytes = 0;
    for (name, _) in TARGETS {
        let inputs = corpus(name);
        assert!(inputs.len() <= FILES_MAX, "{name} has {}", inputs.len());
        let size = |path: &PathBuf| root().join(path).metadata().map_or(0, |about| about.len());
        bytes += inputs.iter().map(size).sum::<u64>();
    }
    assert!(
        bytes <= BYTES_MAX,
        "{bytes} bytes are more than {BYTES_MAX}"
    );
}
