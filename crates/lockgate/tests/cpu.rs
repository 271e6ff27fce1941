//! `lockgate cpu advise`: for recorded hosts, and what QEMU and libvirt say to it.

use std::fs;
use std::path::Path;
use std::process::Command;

use cpu::guest::{Accelerator, Flags};
use serde_json::Value;
use vm::{BootError, Cache, Qemu};

use crate::common::Desk;

const HOSTS: [&str; 3] = ["bare-metal-epyc", "bare-metal-xeon-qat", "kvm-guest-zen5"];

/// A desk with a folder of probes of recorded hosts.
fn fleet() -> Desk {
    let desk = Desk::new();
    fs::create_dir(desk.path().join("fleet")).unwrap();
    for name in HOSTS {
        let hosts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../probe/tests/fixtures/hosts");
        let probe = probe::probe(&probe::Host::at(hosts.join(name)));
        desk.write(
            &format!("fleet/{name}.json"),
            &serde_json::to_string(&probe).unwrap(),
        );
    }
    desk
}

fn advised(desk: &Desk, line: &str) -> Value {
    let ended = desk.line(&format!("cpu advise --json {line}"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

fn pools(advice: &Value) -> &Vec<Value> {
    advice["pools"].as_array().unwrap()
}

fn flags(names: &Value) -> Flags {
    let names = names.as_array().unwrap().iter();
    let names: Vec<_> = names.map(|name| name.as_str().unwrap()).collect();
    Flags::named(&names.join(" ")).unwrap()
}

#[test]
fn vendors_are_apart_and_what_one_host_lacks_is_hidden_from_its_pool() {
    let desk = fleet();
    let few = advised(&desk, "--hosts fleet --bundled --loss 100");
    let names = |pool: &Value| -> Vec<String> {
        let members = pool["members"].as_array().unwrap().iter();
        let hosts = members.flat_map(|member| member["hosts"].as_array().unwrap());
        let mut hosts: Vec<_> = hosts
            .map(|host| host.as_str().unwrap().to_owned())
            .collect();
        hosts.sort();
        hosts
    };
    let mut all: Vec<_> = pools(&few).iter().map(names).collect();
    all.sort();
    assert_eq!(
        all,
        [
            vec!["bare-metal-epyc", "kvm-guest-zen5"],
            vec!["bare-metal-xeon-qat"]
        ]
    );
    for pool in pools(&few) {
        let shown = flags(&pool["shown"]);
        let lost = pool["members"].as_array().unwrap().iter();
        for member in lost {
            assert!(flags(&member["hidden"]).and(shown).is_empty());
        }
        let line = pool["cpu"].as_str().unwrap();
        assert!(
            line.ends_with(",enforce") && !line.contains("invtsc"),
            "{line}"
        );
    }
    // Without any loss every class of hosts is by itself.
    let strict = advised(&desk, "--hosts fleet --bundled --loss 0");
    assert_eq!(strict["worst_loss"], 0.0);
    assert!(pools(&strict).len() >= pools(&few).len());
    let curve = strict["curve"].as_array().unwrap();
    assert_eq!(curve[0]["pools"], pools(&few).len());
    // The same hosts, named one by one, in words.
    let ended = desk.line("cpu advise --bundled --loss 100 --hosts fleet/bare-metal-epyc.json,fleet/kvm-guest-zen5.json");
    let own = pools(&few)
        .iter()
        .find(|pool| names(pool).len() == 2)
        .unwrap();
    for part in [
        &format!("-cpu {}", own["cpu"].as_str().unwrap()),
        "One CPU for 2 hosts",
        "<model fallback='forbid'>EPYC",
        "-cpu host",
        "moves only to hosts with the same processor",
        "What else keeps a guest from moving",
    ] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
}

#[test]
fn qemu_takes_every_line() {
    let cache = Cache::open_default().ok();
    let qemus = Qemu::find_all(cache.as_ref());
    if qemus.is_empty() {
        return testing::skipped("no QEMU here; `apt-get install qemu-system-x86`");
    }
    let desk = fleet();
    for qemu in qemus {
        let program = qemu.program.display().to_string();
        let json = |line: &str| -> Value {
            let words: Vec<_> = line.split_whitespace().collect();
            let ended = desk.lockgate_with(&words, &[("LOCKGATE_QEMU", &program)]);
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            serde_json::from_str(&ended.stdout).unwrap()
        };
        let (major, minor, patch) = qemu.version;
        let takes = |line: &str| match qemu.accepts_cpu(Accelerator::Tcg, line) {
            Ok(()) => {}
            Err(BootError::Refused { stderr, .. }) => panic!("{line}: {stderr}"),
            Err(error) => panic!("{line}: {error}"),
        };
        // What it emulates, it shows whole or not at all.
        let emulated = json("cpu advise --accelerator tcg --json");
        assert_eq!(emulated["models"], format!("QEMU {major}.{minor}.{patch}"));
        takes(pools(&emulated)[0]["cpu"].as_str().unwrap());
        // What KVM would show it can name; the emulator leaves some of it out.
        let hosts = json("cpu advise --hosts fleet --loss 0 --json");
        for pool in pools(&hosts) {
            let line = pool["cpu"].as_str().unwrap();
            takes(line.strip_suffix(",enforce").unwrap());
        }
        let unknown = qemu.accepts_cpu(Accelerator::Tcg, "EPYC-v1,+no-such-flag");
        assert!(unknown.is_err(), "it refuses what it does not know");
    }
}

#[test]
fn libvirt_takes_the_xml() {
    let schema = Path::new("/usr/share/libvirt/schemas/domain.rng");
    let has_xmllint = Command::new("xmllint").arg("--version").output().is_ok();
    if !schema.exists() || !has_xmllint {
        return testing::skipped(
            "no schemas of libvirt, or no xmllint; `apt-get install libvirt0 libxml2-utils`",
        );
    }
    let desk = fleet();
    let advice = advised(&desk, "--hosts fleet --loss 0");
    assert_eq!(advice["libvirt"], "libvirt's /usr/share/libvirt/cpu_map");
    let is_valid = |name: &str, cpu: &str| {
        let domain = format!(
            "<domain type='kvm'><name>a</name><memory>1048576</memory><os><type>hvm</type></os>{cpu}</domain>"
        );
        let file = desk.write(name, &domain);
        let mut check = Command::new("xmllint");
        check.arg("--noout").arg("--relaxng").arg(schema).arg(file);
        check.output().unwrap().status.success()
    };
    let host = "<cpu mode='host-passthrough' migratable='on'/>";
    assert!(is_valid("host.xml", host) && is_valid("max.xml", "<cpu mode='maximum'/>"));
    assert!(!is_valid("wrong.xml", "<cpu mode='fast'/>"));
    for pool in pools(&advice) {
        let xml = pool["libvirt_xml"].as_str().unwrap();
        assert!(is_valid("pool.xml", xml), "{xml}");
        let lacks = flags(&pool["libvirt_lacks"]);
        assert!(!lacks.has("aes") && !lacks.has("avx2"), "{lacks:?}");
    }
}

#[test]
fn what_is_no_probe_or_no_mix_is_named() {
    let desk = fleet();
    desk.write("broken.json", "{\"groups\": [");
    desk.write(
        "other.json",
        "{\"groups\": [{\"title\": \"CPU\", \"facts\": []}]}",
    );
    let strange = r#"{"groups": [{"title": "CPU", "facts": [{"key": "cpu.cpuid", "value": 7}]}]}"#;
    desk.write("strange.json", strange);
    let old = r#"{"groups": [{"title": "CPU", "facts": [{"key": "cpu.vendor", "value": "Intel"}, {"key": "cpu.cpuid", "value": ["1 0: eax=0 ebx=0 ecx=0 edx=0x1"]}]}]}"#;
    desk.write("old.json", old);
    fs::create_dir(desk.path().join("none")).unwrap();
    desk.refuses(
        "
        cpu advise --hosts absent.json => cannot read the probe 'absent.json'
        cpu advise --hosts broken.json => 'broken.json' tells nothing | lockgate probe --json
        cpu advise --hosts other.json => no fact `cpu.cpuid` | older Lockgate
        cpu advise --hosts strange.json => `cpu.cpuid` is 7 | anew
        cpu advise --hosts fleet,other.json => 'other.json'
        cpu advise --hosts old.json --bundled => no 64-bit model | old | lacks tsc | lm
        cpu advise --hosts none => no file that ends in .json | lockgate probe --json
        cpu advise --hosts fleet --loss 101 => --loss 101 | between 0 and 100
        cpu advise --hosts fleet --mix web => 'web' is no share | tls, disk
        cpu advise --hosts fleet --mix sha256=0.1 => 'sha256' has no price | sha256 hash
        cpu advise --hosts fleet --mix sha256=0.6,x=0.6 => 1.2 together
        cpu advise --hosts fleet --prices absent => no run at 'absent'
        cpu advise --hosts fleet --accelerator xen => invalid value 'xen' | kvm, tcg
        ",
        &[],
    );
}

/// What verify finds, and how it ends; nothing where no guest can be booted.
fn verified(desk: &Desk, words: &[&str]) -> Option<(Option<i32>, Value)> {
    let words = [&["cpu", "verify", "--json"], words].concat();
    let ended = desk.lockgate(&words);
    if ended.code == Some(4) {
        testing::skipped(ended.stderr.trim());
        return None;
    }
    let value = serde_json::from_str(&ended.stdout);
    Some((
        ended.code,
        value.unwrap_or_else(|_| panic!("{}", ended.stderr)),
    ))
}

#[test]
fn a_guest_has_the_cpu_that_is_advised_for_it() {
    testing::booting(|| {
        let Some((code, own)) = verified(&Desk::new(), &[]) else {
            return;
        };
        assert_eq!((code, &own["mismatches"]), (Some(0), &Value::Array(vec![])));
        let (asked, seen) = (flags(&own["asked"]), flags(&own["seen"]));
        assert!(asked.has("aes") && asked.is_within(&seen), "{own:#}");
        assert_eq!(flags(&own["unverified"]), Flags::default());
    });
}

#[test]
fn what_a_guest_lacks_is_named() {
    testing::booting(|| {
        // QEMU does not raise this model's CPUID level for XSAVE: no kernel uses it.
        let line = "Westmere,+xsave,+avx,+avx512f";
        let words = ["--cpu", line, "--append", "clearcpuid=aes"];
        let Some((code, own)) = verified(&Desk::new(), &words) else {
            return;
        };
        assert_eq!(code, Some(1));
        // A host whose KVM runs guests shows it, or refuses to.
        if own["accelerator"].as_str().unwrap().starts_with("tcg") {
            assert_eq!(flags(&own["unverified"]), Flags::named("avx512f").unwrap());
        }
        let found = own["mismatches"].as_array().unwrap().iter();
        let found: Vec<_> = found
            .map(|one| format!("{} {}", one["kind"], one["what"]).replace('"', ""))
            .collect();
        assert_eq!(found, ["cleared aes", "cleared xsave", "cleared avx"]);
    });
}

#[test]
fn a_line_that_is_none_is_refused_before_a_guest_is_booted() {
    let desk = Desk::new();
    if Cache::open_default().is_err() {
        return testing::skipped("no kernels for guests here; `make setup-guests`");
    }
    desk.refuses(
        "
        cpu verify --cpu NoSuchModel => 'NoSuchModel' is no CPU model | -cpu help
        cpu verify --cpu Nehalem,+no-flag => '+no-flag' | as behind -cpu
        cpu verify --kernel 2.4 => 2.4
        ",
        &[],
    );
}

#[test]
fn a_busy_guest_moves_under_the_cpu_that_is_advised() {
    testing::booting(|| {
        let ended = Desk::new().line("cpu migrate --without aes");
        if ended.code == Some(4) {
            return testing::skipped(ended.stderr.trim());
        }
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        let lines = ended.stdout.lines();
        let told: Vec<_> = lines.filter(|line| line.starts_with("To a ")).collect();
        let [same, without, advised] = told.as_slice() else {
            panic!("{}", ended.stdout)
        };
        for moved in [same, advised] {
            assert!(
                moved.contains("it works on") && moved.contains("none wrong"),
                "{moved}"
            );
        }
        // An emulator does not run what it does not show; hardware may.
        if ended.stdout.contains(", tcg: ") {
            assert!(without.contains("Illegal instruction"), "{without}");
        }
        let line = ended
            .stdout
            .lines()
            .rfind(|line| line.contains("-cpu "))
            .unwrap();
        assert!(
            line.contains(",enforce") && !line.contains("+aes"),
            "{line}"
        );
    });
}

#[test]
fn nothing_is_moved_for_a_flag_that_is_none_or_not_shown() {
    let desk = Desk::new();
    if Cache::open_default().is_err() {
        return testing::skipped("no kernels for guests here; `make setup-guests`");
    }
    desk.refuses(
        "
        cpu migrate --without no-flag => --without no-flag | no flag of that name
        cpu migrate --cpu Nehalem --without aes => does not show it
        cpu migrate --cpu NoModel => 'NoModel' is no CPU model
        ",
        &[],
    );
}
