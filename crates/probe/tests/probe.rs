//! The probe on recorded machines, on damaged recordings, and on this one.

use std::fs;
use std::path::{Path, PathBuf};

use lockgate_probe::{Host, probe};
use proptest::prelude::*;
use sections::probe::parse;
use serde_json::Value;
use trial::{Event, Fact, Probe, Sink, State};

const HOSTS: [&str; 4] = [
    "kvm-guest-zen5",
    "bare-metal-xeon-qat",
    "bare-metal-epyc",
    "arm-neoverse",
];

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/hosts")
        .join(name)
}

fn state(probe: &Probe, key: &str) -> Option<State> {
    probe.fact(key).map(|fact| fact.state)
}

fn facts(probe: &Probe) -> impl Iterator<Item = &Fact> {
    probe.groups.iter().flat_map(|group| &group.facts)
}

/// One fact a line or two.
fn render(probe: &Probe) -> String {
    let mut text = String::new();
    for group in &probe.groups {
        text += &format!("== {}\n", group.title);
        for fact in &group.facts {
            let state = format!("{:?}", fact.state).to_lowercase();
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
    let numbers =
        "cpu.cores.online cpu.cache.l2_bytes memory.total_bytes load.steal_percent load.average_1m";
    for name in HOSTS {
        let probe = probe(&Host::at(recording(name)));
        let all = |keys: &str, is_such: fn(&Value) -> bool| {
            for key in keys.split(' ') {
                let fact = probe.fact(key);
                assert!(
                    fact.is_some_and(|fact| is_such(&fact.value)),
                    "{name}: {key}"
                );
            }
        };
        all(numbers, Value::is_number);
        all("cpu.vendor cpu.model host.kernel", Value::is_string);
        all("cpu.smt kvm.usable cpu.flag.aes", Value::is_boolean);
        let allowed = probe.fact("cpu.allowed");
        assert!(allowed.is_some_and(|fact| fact.value.is_array()), "{name}");
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
fn what_each_host_is_known_for() {
    let at = |name: &str| probe(&Host::at(recording(name)));
    let guest = at("kvm-guest-zen5");
    assert_eq!(guest.text("cpu.hypervisor"), Some("KVM"));
    assert_eq!(guest.text("cpu.tier"), Some("avx512"));
    assert_eq!(guest.number("cpu.cache.l2_bytes"), Some(1 << 20));
    // The device is there and lies.
    assert_eq!(state(&guest, "kvm.usable"), Some(State::Degraded));
    // The kernel distrusts this processor's RDSEED.
    assert_eq!(state(&guest, "cpu.flag.rdseed"), Some(State::Degraded));

    let xeon = at("bare-metal-xeon-qat");
    for key in [
        "kvm.usable",
        "iommu.interrupt_remapping",
        "interrupts.posted",
        "vfio.usable",
        "device.crypto.0000:6b:00.0",
    ] {
        assert!(xeon.is_ok(key), "{key}: {:?}", xeon.fact(key));
    }
    assert!(
        !render(&xeon).contains("hunter2"),
        "secrets on the kernel command line stay there"
    );

    let epyc = at("bare-metal-epyc");
    assert_eq!(epyc.text("cpu.tier"), Some("vaes"));
    // The tightest quota on the way to the root: half a CPU.
    assert_eq!(
        epyc.fact("limits.cpus").map(|fact| fact.value.clone()),
        Some(0.5.into())
    );

    let arm = at("arm-neoverse");
    assert_eq!(arm.text("cpu.model"), Some("Neoverse N1"));
    assert!(arm.is_ok("cpu.flag.pmull") && arm.is_ok("kvm.usable"));
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
        let (entry, to) = (
            entry.as_ref().expect("reads").path(),
            to.join(entry.expect("reads").file_name()),
        );
        if entry.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&entry).expect("reads"), to).expect("links");
        } else if entry.is_dir() {
            copy_tree(&entry, &to);
        } else {
            fs::copy(&entry, &to).expect("copies");
        }
    }
}

/// Those edits of a copy: in which file what becomes what.
fn replace(copy: &Path, edits: &[(&str, &str, &str)]) {
    for (file, from, to) in edits {
        let path = copy.join(file);
        let text = fs::read_to_string(&path).expect("reads");
        assert!(text.contains(from), "{file} holds {from}");
        fs::write(path, text.replace(from, to)).expect("writes");
    }
}

/// The probe of a recording with edits.
fn altered(name: &str, edits: &[(&str, &str, &str)]) -> Probe {
    let copy = copy(name);
    replace(copy.path(), edits);
    probe(&Host::at(copy.path()))
}

#[test]
fn a_masked_flag_is_named_with_the_hand_that_hides_it() {
    // Leaf 1 without AES (bit 25) and PCLMULQDQ (bit 1): a hypervisor's mask.
    let no_flag = ("proc/cpuinfo", " aes ", " ");
    let mask = ("cpuid.txt", "0xfffa3203", "0xfdfa3201");
    let masked = altered("kvm-guest-zen5", &[mask, no_flag]);
    let aes = masked.fact("cpu.flag.aes").expect("named");
    assert_eq!(aes.state, State::Degraded);
    assert!(
        aes.text.contains("Zen 5 has it") && aes.remedy.contains("-cpu host"),
        "{aes:?}"
    );
    assert_eq!(masked.text("cpu.tier"), Some("none"));

    // The same on bare metal: the firmware's switch.
    let mask = ("cpuid.txt", "0x7ffefbff", "0x7dfefbff");
    let xeon = altered("bare-metal-xeon-qat", &[mask, no_flag]);
    let aes = xeon.fact("cpu.flag.aes").expect("named");
    assert!(aes.remedy.contains("AES-NI Defeature"), "{aes:?}");

    // Cleared by the kernel, which says so on its command line.
    let cleared = altered(
        "bare-metal-xeon-qat",
        &[
            ("proc/cpuinfo", " vaes ", " "),
            ("proc/cmdline", "iommu=pt", "clearcpuid=vaes"),
        ],
    );
    let vaes = cleared.fact("cpu.flag.vaes").expect("named");
    assert!(
        vaes.state == State::Degraded && vaes.remedy.contains("clearcpuid=vaes"),
        "{vaes:?}"
    );

    // AVX-512 state that the kernel did not enable.
    let edit = ("cpuid.txt", "xcr0: 0x602e7", "xcr0: 0x7");
    let probe = altered("bare-metal-xeon-qat", &[edit]);
    assert_eq!(probe.text("cpu.tier"), Some("vaes"));
    assert_eq!(state(&probe, "cpu.flag.avx512f"), Some(State::Degraded));
    assert!(probe.is_ok("cpu.flag.vaes") && !probe.is_ok("cpu.xstate.opmask"));
}

#[test]
fn without_xsave_there_is_no_avx() {
    let probe = altered(
        "bare-metal-xeon-qat",
        &[
            // Leaf 1 without OSXSAVE (bit 27).
            ("cpuid.txt", "0x7ffefbff", "0x77fefbff"),
            ("proc/cmdline", "iommu=pt", "noxsave"),
        ],
    );
    assert_eq!(probe.text("cpu.tier"), Some("aesni"));
    let avx = probe.fact("cpu.flag.avx").expect("named");
    assert!(
        avx.state == State::Degraded && avx.remedy.contains("remove `noxsave`"),
        "{avx:?}"
    );
    assert!(probe.is_ok("cpu.flag.aes") && probe.is_ok("cpu.xstate.sse"));
}

#[test]
fn kvm_is_usable_only_when_everything_agrees() {
    let usable = |damage: &dyn Fn(&Path)| {
        let xeon = copy("bare-metal-xeon-qat");
        damage(xeon.path());
        let probe = probe(&Host::at(xeon.path()));
        probe.fact("kvm.usable").expect("named").clone()
    };
    assert_eq!(usable(&|_| ()).state, State::Ok);
    let no_module = usable(&|root| {
        fs::remove_dir_all(root.join("sys/module/kvm_intel")).expect("removes");
    });
    assert!(no_module.remedy.contains("modprobe kvm_intel"));
    let no_flag = usable(&|root| replace(root, &[("proc/cpuinfo", " vmx ", " ")]));
    assert!(no_flag.text.contains("neither vmx nor svm"));
    let no_device = usable(&|root| fs::remove_file(root.join("dev/kvm")).expect("removes"));
    assert_eq!(no_device.state, State::Absent);
}

#[test]
fn interrupts_are_posted_only_when_kvm_and_every_iommu_agree() {
    let posted = |probe: &Probe| state(probe, "interrupts.posted");
    let xeon = probe(&Host::at(recording("bare-metal-xeon-qat")));
    assert_eq!(posted(&xeon), Some(State::Ok));
    // One unit's capability register without bit 59.
    let cap = "sys/class/iommu/dmar1/intel-iommu/cap";
    let edit = (cap, "9ed008c40780c66", "1ed008c40780c66");
    let without = altered("bare-metal-xeon-qat", &[edit]);
    assert_eq!(posted(&without), Some(State::Degraded));

    let epyc = copy("bare-metal-epyc");
    let at_epyc = || posted(&probe(&Host::at(epyc.path())));
    assert_eq!(at_epyc(), Some(State::Degraded));
    let avic = ("sys/module/kvm_amd/parameters/avic", "N", "Y");
    replace(epyc.path(), &[avic]);
    let features = epyc.path().join("sys/class/iommu/ivhd0/amd-iommu/features");
    for order in [
        "0:246577efa2254afa",
        "246577efa2254afa:10",
        "246577efa2254afa",
    ] {
        fs::write(&features, order).expect("writes");
        assert_eq!(at_epyc(), Some(State::Ok), "{order}");
    }
}

#[test]
fn an_arm_guest_is_known_by_its_firmware() {
    let vendor = ("sys/class/dmi/id/sys_vendor", "GIGABYTE", "Amazon EC2");
    let name = ("sys/class/dmi/id/product_name", "R152-P30-00", "c6g.metal");
    let guest = altered("arm-neoverse", &[vendor]);
    assert_eq!(guest.text("cpu.hypervisor"), Some("KVM"));
    let metal = altered("arm-neoverse", &[vendor, name]);
    assert_eq!(metal.text("cpu.hypervisor"), None);
}

#[test]
fn a_version_1_quota_counts_too() {
    let guest = copy("kvm-guest-zen5");
    let quota = guest.path().join("sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    fs::write(quota, "150000").expect("writes");
    let probe = probe(&Host::at(guest.path()));
    let cpus = probe.fact("limits.cpus").map(|fact| fact.value.clone());
    assert_eq!(cpus, Some(1.5.into()));
}

#[test]
fn without_cpuid_the_kernels_list_decides() {
    let guest = copy("kvm-guest-zen5");
    fs::write(guest.path().join("cpuid.txt"), "not a dump").expect("writes");
    let probe = probe(&Host::at(guest.path()));
    check_invariants(&probe);
    assert_eq!(probe.text("cpu.tier"), Some("avx512"));
    assert_eq!(probe.text("cpu.microarchitecture"), Some("Zen 5"));
}

#[test]
fn an_empty_machine_is_all_absent_and_no_panic() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for root in [dir.path().to_owned(), dir.path().join("nowhere")] {
        let probe = probe(&Host::at(root));
        check_invariants(&probe);
        assert_eq!(state(&probe, "kvm.usable"), Some(State::Absent));
    }
}

/// Every file of a recording, links left alone.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("lists") {
        let path = entry.expect("reads").path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path))
        } else {
            found.push(path)
        }
    }
    found.sort();
    found
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

fn cases() -> u32 {
    testing::cases(24, 2000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

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
        let mut sink = Kept::default();
        let section = parse(toml::Table::new()).expect("it has no keys");
        let plan = section.plan(&probe, std::time::Duration::ZERO).expect("needs nothing");
        section.run(&probe, &plan, &mut sink).expect("cannot fail");
    }
}

#[derive(Default)]
struct Kept(Vec<Event>);

impl Sink for Kept {
    fn emit(&mut self, event: Event) {
        self.0.push(event);
    }

    fn is_interrupted(&self) -> bool {
        false
    }
}

#[test]
fn this_host_keeps_the_promises() {
    let started = std::time::Instant::now();
    let probe = probe(&Host::this());
    // Commands have two seconds each; a loaded test machine needs some.
    assert!(started.elapsed() < std::time::Duration::from_secs(30));
    check_invariants(&probe);
    assert!(
        probe
            .number("cpu.cores.online")
            .is_some_and(|cpus| cpus > 0)
    );
    assert!(
        probe
            .fact("cpu.allowed")
            .is_some_and(|fact| fact.value.as_array().is_some_and(|cpus| !cpus.is_empty()))
    );
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
    let probe = probe(&Host::at(recording("bare-metal-epyc")));
    let section = parse(toml::Table::new()).expect("an empty table is fine");
    let plan = section
        .plan(&probe, std::time::Duration::ZERO)
        .expect("needs no time");
    assert!(plan.seconds == 0.0 && plan.privileges.is_empty() && plan.creates.is_empty());
    let mut sink = Kept::default();
    section.run(&probe, &plan, &mut sink).expect("cannot fail");
    let findings: Vec<String> = sink
        .0
        .iter()
        .filter_map(|event| match event {
            Event::Finding(finding) => Some(format!(
                "{:?}: {}\n  -> {}",
                finding.weight, finding.text, finding.remedy
            )),
            _ => None,
        })
        .collect();
    insta::assert_snapshot!("findings", findings.join("\n"));
    let tables: Vec<_> = sink
        .0
        .iter()
        .filter(|event| matches!(event, Event::Table(_)))
        .collect();
    let [Event::Table(table)] = tables[..] else {
        panic!("one table")
    };
    assert_eq!(table.rows.len(), probe.groups.len());
    assert!(
        table
            .rows
            .iter()
            .all(|row| row.len() == table.columns.len())
    );
}

#[test]
fn unknown_keys_are_refused() {
    let table = toml::Table::from_iter([("verbose".to_owned(), true.into())]);
    let error = parse(table).err().expect("no key is allowed");
    assert!(error.to_string().contains("verbose"), "{error}");
}
