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
    fs::create_dir(desk.path().join("none")).unwrap();
    desk.refuses(
        "
        cpu advise --hosts absent.json => cannot read the probe 'absent.json'
        cpu advise --hosts broken.json => 'broken.json' tells nothing | lockgate probe --json
        cpu advise --hosts other.json => no fact `cpu.cpuid` | older Lockgate
        cpu advise --hosts strange.json => `cpu.cpuid` is 7 | anew
        cpu advise --hosts fleet,other.json => 'other.json'
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
