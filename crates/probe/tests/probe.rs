//! The probe on recorded machines, on damaged recordings, and on this one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lockgate_probe::{Host, probe};
use proptest::prelude::*;
use sections::probe::parse;
use serde_json::Value;
use trial::{Event, Fact, Finding, Probe, Sink, State, Table};

use Edit::{Removed, Replaced, Written};

const XEON: &str = "bare-metal-xeon-qat";
const EPYC: &str = "bare-metal-epyc";
const GUEST: &str = "kvm-guest-zen5";
const ARM: &str = "arm-neoverse";
const HOSTS: [&str; 4] = [GUEST, XEON, EPYC, ARM];

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/hosts")
        .join(name)
}

fn facts(probe: &Probe) -> impl Iterator<Item = &Fact> {
    probe.groups.iter().flat_map(|group| &group.facts)
}

fn name_of(state: State) -> String {
    format!("{state:?}").to_lowercase()
}

/// One fact a line or two.
fn render(probe: &Probe) -> String {
    let mut text = String::new();
    for group in &probe.groups {
        text += &format!("== {}\n", group.title);
        for fact in &group.facts {
            let state = name_of(fact.state);
            text += &format!(
                "{state:<8} {} = {} | {}: {}\n",
                fact.key, fact.value, fact.label, fact.text
            );
            if !fact.remedy.is_empty() {
                text += &format!("         -> {}\n", fact.remedy);
            }
        }
    }
    text
}

/// What holds on every machine, however damaged.
fn check_invariants(probe: &Probe) {
    let mut keys: Vec<&str> = facts(probe).map(|fact| fact.key.as_str()).collect();
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), count, "every key is unique");
    for fact in facts(probe) {
        assert_eq!(fact.state == State::Ok, fact.remedy.is_empty(), "{fact:?}");
        assert!(!fact.text.is_empty() && !fact.label.is_empty(), "{fact:?}");
        let shown = format!("{}{}{}", fact.text, fact.label, fact.remedy);
        assert!(!shown.contains(char::is_control), "{fact:?}");
    }
    let text = serde_json::to_string(probe).expect("a probe is JSON");
    assert_eq!(
        &serde_json::from_str::<Probe>(&text).expect("and back"),
        probe
    );
}

#[test]
fn recorded_hosts_read_as_reviewed() {
    for name in HOSTS {
        let probe = probe(&Host::at(recording(name)));
        check_invariants(&probe);
        insta::assert_snapshot!(name, render(&probe));
    }
}

#[test]
fn keys_that_others_rely_on_have_their_types() {
    type Is = fn(&Value) -> bool;
    let types: [(&str, Is); 4] = [
        (
            "cpu.cores.online cpu.cache.l2_bytes memory.total_bytes load.steal_percent load.average_1m",
            Value::is_number,
        ),
        ("cpu.vendor cpu.model host.kernel", Value::is_string),
        ("cpu.smt kvm.usable cpu.flag.aes", Value::is_boolean),
        ("cpu.allowed", Value::is_array),
    ];
    for name in HOSTS {
        let probe = probe(&Host::at(recording(name)));
        for (keys, is_such) in types {
            for key in keys.split(' ') {
                let fact = probe.fact(key);
                assert!(
                    fact.is_some_and(|fact| is_such(&fact.value)),
                    "{name}: {key}"
                );
            }
        }
        for key in [
            "cpu.hypervisor",
            "cpu.cache.l3_bytes",
            "cpu.tier",
            "library.openssl",
        ] {
            assert!(probe.fact(key).is_some(), "{name}: {key}");
        }
    }
}

#[test]
fn secrets_on_the_kernel_command_line_stay_there() {
    let recording = recording("bare-metal-xeon-qat");
    let line = fs::read_to_string(recording.join("proc/cmdline")).expect("reads");
    assert!(line.contains("hunter2"));
    assert!(!render(&probe(&Host::at(recording))).contains("hunter2"));
}

/// A copy of a recording that a test may damage.
fn copy(name: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    copy_tree(&recording(name), dir.path());
    dir
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("creates");
    for entry in fs::read_dir(from).expect("lists") {
        let entry = entry.expect("reads");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&from).expect("reads"), to).expect("links");
        } else if from.is_dir() {
            copy_tree(&from, &to);
        } else {
            fs::copy(&from, &to).expect("copies");
        }
    }
}

/// What a recording is changed in.
enum Edit {
    /// In that file this becomes that.
    Replaced(&'static str, &'static str, &'static str),
    Written(&'static str, &'static str),
    Removed(&'static str),
}

impl Edit {
    fn make(&self, copy: &Path) {
        match self {
            Self::Replaced(file, from, to) => {
                let text = fs::read_to_string(copy.join(file)).expect("reads");
                assert!(text.contains(from), "{file} holds {from}");
                fs::write(copy.join(file), text.replace(from, to)).expect("writes");
            }
            Self::Written(file, text) => fs::write(copy.join(file), text).expect("writes"),
            Self::Removed(path) if copy.join(path).is_dir() => {
                fs::remove_dir_all(copy.join(path)).expect("removes");
            }
            Self::Removed(path) => fs::remove_file(copy.join(path)).expect("removes"),
        }
    }
}

const NO_AES: Edit = Replaced("proc/cpuinfo", " aes ", " ");
const VENDOR: &str = "sys/class/dmi/id/sys_vendor";
const FEATURES: &str = "sys/class/iommu/ivhd0/amd-iommu/features";
const AVIC: Edit = Replaced("sys/module/kvm_amd/parameters/avic", "N", "Y");

type Altered = (&'static str, &'static [Edit], &'static [&'static str]);

/// A recording, its edits, and its facts then: state, key, and what value, text or
/// remedy say.
const ALTERED: [Altered; 16] = [
    // A hypervisor's mask: leaf 1 without AES (bit 25) and PCLMULQDQ (bit 1).
    (
        GUEST,
        &[Replaced("cpuid.txt", "0xfffa3203", "0xfdfa3201"), NO_AES],
        &[
            "degraded cpu.flag.aes Zen 5 has it",
            "degraded cpu.flag.aes -cpu host",
            "absent cpu.tier none",
        ],
    ),
    // The same on bare metal: the firmware's switch.
    (
        XEON,
        &[Replaced("cpuid.txt", "0x7ffefbff", "0x7dfefbff"), NO_AES],
        &["degraded cpu.flag.aes AES-NI Defeature"],
    ),
    // Cleared by the kernel, which says so on its command line.
    (
        XEON,
        &[
            Replaced("proc/cpuinfo", " vaes ", " "),
            Replaced("proc/cmdline", "iommu=pt", "clearcpuid=vaes"),
        ],
        &["degraded cpu.flag.vaes clearcpuid=vaes"],
    ),
    // AVX-512 state that the kernel did not enable.
    (
        XEON,
        &[Replaced("cpuid.txt", "xcr0: 0x602e7", "xcr0: 0x7")],
        &[
            "degraded cpu.tier vaes",
            "degraded cpu.flag.avx512f",
            "ok cpu.flag.vaes",
            "degraded cpu.xstate.opmask",
        ],
    ),
    // Leaf 1 without OSXSAVE (bit 27).
    (
        XEON,
        &[
            Replaced("cpuid.txt", "0x7ffefbff", "0x77fefbff"),
            Replaced("proc/cmdline", "iommu=pt", "noxsave"),
        ],
        &[
            "degraded cpu.tier aesni",
            "degraded cpu.flag.avx remove `noxsave`",
            "ok cpu.flag.aes",
            "ok cpu.xstate.sse",
        ],
    ),
    // Without CPUID the kernel's list decides.
    (
        GUEST,
        &[Written("cpuid.txt", "not a dump")],
        &["ok cpu.tier avx512", "ok cpu.microarchitecture Zen 5"],
    ),
    // KVM is usable only when everything agrees, as it does in the recording.
    (
        XEON,
        &[Removed("sys/module/kvm_intel")],
        &["degraded kvm.usable modprobe kvm_intel"],
    ),
    (
        XEON,
        &[Replaced("proc/cpuinfo", " vmx ", " ")],
        &["degraded kvm.usable neither vmx nor svm"],
    ),
    (XEON, &[Removed("dev/kvm")], &["absent kvm.usable"]),
    // Interrupts are posted only when every unit's capability register has bit 59;
    (
        XEON,
        &[Replaced(
            "sys/class/iommu/dmar1/intel-iommu/cap",
            "9ed008c40780c66",
            "1ed008c40780c66",
        )],
        &["degraded interrupts.posted"],
    ),
    // or when the extended features say so, in any of the kernel's notations.
    (EPYC, &[AVIC], &["ok interrupts.posted"]),
    (
        EPYC,
        &[AVIC, Written(FEATURES, "246577efa2254afa:10")],
        &["ok interrupts.posted"],
    ),
    (
        EPYC,
        &[AVIC, Written(FEATURES, "246577efa2254afa")],
        &["ok interrupts.posted"],
    ),
    // The firmware tells an ARM guest from a whole machine that is rented.
    (
        ARM,
        &[Replaced(VENDOR, "GIGABYTE", "Amazon EC2")],
        &["ok cpu.hypervisor KVM"],
    ),
    (
        ARM,
        &[
            Replaced(VENDOR, "GIGABYTE", "Amazon EC2"),
            Replaced("sys/class/dmi/id/product_name", "R152-P30-00", "c6g.metal"),
        ],
        &["ok cpu.hypervisor bare metal"],
    ),
    // A quota of control groups of version 1.
    (
        GUEST,
        &[Written("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000")],
        &["degraded limits.cpus 1.5 |"],
    ),
];

#[test]
fn what_a_host_lacks_is_named_with_what_takes_it_away() {
    for (host, edits, expected) in ALTERED {
        let copy = copy(host);
        edits.iter().for_each(|edit| edit.make(copy.path()));
        let probe = probe(&Host::at(copy.path()));
        check_invariants(&probe);
        for line in expected {
            let mut words = line.splitn(3, ' ');
            let (state, key) = (words.next(), words.next().expect("a key"));
            let fact = probe.fact(key).expect("named");
            let told = format!("{} | {} | {}", fact.value, fact.text, fact.remedy);
            assert_eq!(Some(&*name_of(fact.state)), state, "{line}: {told}");
            assert!(told.contains(words.next().unwrap_or("")), "{line}: {told}");
        }
    }
}

#[test]
fn an_empty_machine_is_all_absent_and_no_panic() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for root in [dir.path().to_owned(), dir.path().join("nowhere")] {
        let probe = probe(&Host::at(root));
        check_invariants(&probe);
        let kvm = probe.fact("kvm.usable").expect("named");
        assert_eq!(kvm.state, State::Absent);
    }
}

/// Every file of a recording in order, links left alone.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("lists");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("reads").path()).collect();
    paths.retain(|path| !path.is_symlink());
    paths.sort();
    let below = |path: PathBuf| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    };
    paths.into_iter().flat_map(below).collect()
}

/// What can befall a file.
#[derive(Clone, Debug)]
enum Damage {
    Removed,
    Truncated(usize),
    Bytes(Vec<u8>),
    Text(String),
    Directory,
    Loop,
    Huge,
    ByteFlipped(usize, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        Just(Damage::Removed),
        any::<prop::sample::Index>().prop_map(|at| Damage::Truncated(at.index(4096))),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(Damage::Bytes),
        prop::sample::select(vec![
            "-1",
            "18446744073709551616",
            "0-4294967295",
            "\u{1b}[2J",
            "nan",
            "inf",
            "0x",
            ":::",
            "99999999999999999999K",
            "cpu  18446744073709551615 1 1 1 1 1 1 1",
            "[]",
            "[",
            "max",
            "4294967295-0,,,-",
            "é\u{202e}:=",
        ])
        .prop_map(|text| Damage::Text(text.to_owned())),
        Just(Damage::Directory),
        Just(Damage::Loop),
        Just(Damage::Huge),
        (any::<prop::sample::Index>(), any::<u8>())
            .prop_map(|(at, byte)| Damage::ByteFlipped(at.index(8192), byte)),
    ]
}

fn inflict(path: &Path, damage: &Damage) {
    let bytes = fs::read(path).unwrap_or_default();
    fs::remove_file(path).expect("removes");
    let written = match damage {
        Damage::Removed => return,
        Damage::Directory => return fs::create_dir(path).expect("creates"),
        Damage::Loop => return std::os::unix::fs::symlink(path, path).expect("links"),
        Damage::Truncated(at) => bytes[..bytes.len().min(*at)].to_vec(),
        Damage::Bytes(bytes) => bytes.clone(),
        Damage::Text(text) => text.clone().into_bytes(),
        Damage::Huge => bytes.into_iter().cycle().take(3 << 20).collect(),
        Damage::ByteFlipped(at, byte) => {
            let mut bytes = bytes;
            let len = bytes.len().max(1);
            if let Some(hit) = bytes.get_mut(at % len) {
                *hit ^= byte;
            }
            bytes
        }
    };
    fs::write(path, written).expect("writes");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testing::cases(24, 2000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_recording_never_panics(
        host in prop::sample::select(HOSTS.to_vec()),
        hits in prop::collection::vec((any::<prop::sample::Index>(), damage()), 1..40),
    ) {
        let dir = copy(host);
        let files = files(dir.path());
        for (at, damage) in &hits {
            let path = at.get(&files);
            // A file may be hit twice.
            if path.is_file() {
                inflict(path, damage);
            }
        }
        let probe = probe(&Host::at(dir.path()));
        check_invariants(&probe);
        section_of(&probe);
    }
}

/// What the section makes of it: findings and tables.
fn section_of(probe: &Probe) -> (Vec<Finding>, Vec<Table>) {
    #[derive(Default)]
    struct Kept(Vec<Finding>, Vec<Table>);

    impl Sink for Kept {
        fn emit(&mut self, event: Event) {
            match event {
                Event::Finding(finding) => self.0.push(finding),
                Event::Table(table) => self.1.push(table),
                _ => {}
            }
        }

        fn is_interrupted(&self) -> bool {
            false
        }
    }

    let section = parse(toml::Table::new()).expect("an empty table is fine");
    let plan = section.plan(probe, Duration::ZERO).expect("needs no time");
    assert!(plan.seconds == 0.0 && plan.privileges.is_empty() && plan.creates.is_empty());
    let mut sink = Kept::default();
    section.run(probe, &plan, &mut sink).expect("cannot fail");
    (sink.0, sink.1)
}

#[test]
fn this_host_keeps_the_promises() {
    let started = Instant::now();
    let probe = probe(&Host::this());
    // Commands have two seconds each; a loaded test machine needs some.
    assert!(started.elapsed() < Duration::from_secs(30));
    check_invariants(&probe);
    assert!(
        probe
            .number("cpu.cores.online")
            .is_some_and(|cpus| cpus > 0)
    );
    let allowed = probe
        .fact("cpu.allowed")
        .and_then(|fact| fact.value.as_array());
    assert!(allowed.is_some_and(|cpus| !cpus.is_empty()));
    for key in ["guests.cache", "guests.qemu", "guests.accelerator"] {
        assert!(probe.fact(key).is_some(), "{key}");
    }
    #[cfg(target_arch = "x86_64")]
    agrees_with_the_standard_library(&probe);
}

/// A second opinion on CPUID and XCR0.
#[cfg(target_arch = "x86_64")]
fn agrees_with_the_standard_library(probe: &Probe) {
    use std::arch::is_x86_feature_detected as detected;
    let opinions = [
        ("aes", detected!("aes")),
        ("pclmulqdq", detected!("pclmulqdq")),
        ("avx", detected!("avx")),
        ("avx2", detected!("avx2")),
        ("vaes", detected!("vaes")),
        ("avx512f", detected!("avx512f")),
        ("avx512vl", detected!("avx512vl")),
        ("sha_ni", detected!("sha")),
        ("gfni", detected!("gfni")),
        ("bmi2", detected!("bmi2")),
    ];
    for (name, detected) in opinions {
        let fact = probe.fact(&format!("cpu.flag.{name}")).expect("named");
        // A flag that the kernel cleared can still be executed.
        let usable = fact.value.as_bool() == Some(true) || fact.text.contains("took it off");
        assert_eq!(usable, detected, "{fact:?}");
    }
}

#[test]
fn the_section_gives_findings_and_one_table() {
    let probe = probe(&Host::at(recording(EPYC)));
    let (findings, tables) = section_of(&probe);
    let line = |one: &Finding| format!("{:?}: {}\n  -> {}", one.weight, one.text, one.remedy);
    let lines: Vec<String> = findings.iter().map(line).collect();
    insta::assert_snapshot!("findings", lines.join("\n"));
    let [table] = &tables[..] else {
        panic!("one table")
    };
    assert_eq!(table.rows.len(), probe.groups.len());
    let is_whole = |row: &Vec<trial::Cell>| row.len() == table.columns.len();
    assert!(table.rows.iter().all(is_whole));
}

#[test]
fn unknown_keys_are_refused() {
    let table = toml::Table::from_iter([("verbose".to_owned(), true.into())]);
    let error = parse(table).err().expect("no key is allowed");
    assert!(error.to_string().contains("verbose"), "{error}");
}
