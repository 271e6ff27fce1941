//! `lockgate serve`: what its file may say, and guests on its devices.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::Duration;

use crypto::{Algorithm, Kind, Operation};
use vhost::front::{FrontConfig, FrontEnd, Interrupts, Load, LoadConfig, SessionSpec};

use crate::common::{Desk, with_default_signals};
use crate::vm::guests;

/// The daemon, ours to end also when a test fails; and what it says.
struct Serving(Child, BufReader<ChildStderr>);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Serving {
    /// One device at `vf.sock`, with these keys besides.
    fn start(desk: &Desk, keys: &str) -> Self {
        let file = desk.write("vf.toml", &file(desk, keys));
        let mut command = desk.command();
        command.args([Path::new("serve"), Path::new("--no-lines"), &file]);
        let mut child = with_default_signals(&command)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut serving = Self(child, said);
        let mut said = String::new();
        while !said.contains("\nserving") {
            let read = serving.1.read_line(&mut said).unwrap();
            assert!(read > 0, "{said}");
        }
        // The best piece is measured first, with all rights.
        let is_right = said.starts_with("vm1: pieces of ") && said.contains("\nconfined: ");
        assert!(is_right, "{said}");
        serving
    }

    fn signal(&self, name: &str) {
        let line = format!("kill {name} {}", self.0.id());
        let sent = Command::new("sh").args(["-c", &line]).status().unwrap();
        assert!(sent.success());
    }

    /// Ends it as an operator does; what it said.
    fn end(self) -> (String, String) {
        self.end_by("-TERM")
    }

    fn end_by(mut self, signal: &str) -> (String, String) {
        self.signal(signal);
        let mut texts = (String::new(), String::new());
        self.0
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut texts.0)
            .unwrap();
        self.1.read_to_string(&mut texts.1).unwrap();
        assert_eq!(self.0.wait().unwrap().code(), Some(0), "{}", texts.1);
        texts
    }
}

fn file(desk: &Desk, keys: &str) -> String {
    let socket = desk.path().join("vf.sock");
    format!(
        "[[vf]]\nname = \"vm1\"\nsocket = {:?}\n{keys}\n",
        socket.to_str().unwrap()
    )
}

#[test]
fn a_file_is_checked_and_what_qemu_and_libvirt_take_is_printed() {
    let desk = Desk::new();
    desk.write(
        "good.toml",
        &file(&desk, "queues = 2\nrequests_per_s = 5000"),
    );
    let ended = desk.line("serve --check good.toml").ok();
    for part in [
        "5000 requests/s",
        "memory-backend-memfd",
        "cryptodev-vhost-user,id=crypto-vm1",
        "queues=2",
        "<qemu:arg value='-chardev'/>",
        "does not\nmigrate",
    ] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    assert!(!desk.path().join("vf.sock").exists());
    desk.write("bad.toml", &file(&desk, "depth = 5000"));
    desk.refuses(
        "serve bad.toml => vm1 | depth | 1 to 1024\nserve none.toml => none.toml",
        &[],
    );
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/one-vm.toml");
    desk.lockgate(&["serve", "--check", example.to_str().unwrap()])
        .ok();
}

#[test]
fn no_socket_is_left_however_it_is_asked_to_end() {
    let desk = Desk::new();
    for signal in ["-HUP", "-TERM", "-INT"] {
        let serving = Serving::start(&desk, "");
        assert!(desk.path().join("vf.sock").exists());
        serving.end_by(signal);
        assert!(!desk.path().join("vf.sock").exists(), "{signal}");
    }
}

/// The kernel's own test, then Lockgate's module, whose results are compared with those
/// of the kernel's C code; then the driver comes and goes, tested by the kernel each time.
///
/// The module does not run after that: on a busy host the driver of kernel 6.1 can hang
/// in its first synchronous request after it was bound again. It does so with QEMU's own
/// device too.
const GUEST: &str = "drivers=/sys/bus/virtio/drivers/virtio_crypto
device=$(cd $drivers; ls -d virtio*)
results=/sys/kernel/debug/lockgate_kspeed
tested() {
for wait in $(seq 500); do grep -A9 virtio_crypto_aes_cbc /proc/crypto | grep 'selftest.*passed' && break; sleep 0.02; done
}
tested
for ask in 'mode=sync size=512 depth=1' 'mode=async size=16384 depth=16' 'mode=async size=512 depth=64'; do
echo \"start type=skcipher driver=virtio_crypto_aes_cbc op=encrypt threads=1 ms=200 warmup_ms=1 latency=0 $ask\" > $results/control
grep -o '\"errors\":0,\"verified\":true' $results/result
done
for turn in 1 2 3; do
echo $device > $drivers/unbind; echo $device > $drivers/bind
tested
done
";

/// What the guest printed shows that every part of it ran.
fn is_whole(guest: &Output) {
    let text = String::from_utf8_lossy(&guest.stdout);
    let errors = String::from_utf8_lossy(&guest.stderr);
    assert!(guest.status.success(), "{text}{errors}");
    for (part, times) in [("\"verified\":true", 3), ("selftest     : passed", 4)] {
        assert_eq!(text.matches(part).count(), times, "{part}: {text}{errors}");
    }
}

/// A guest that runs it; none, visibly, where the host has no guest with that module.
fn guest(desk: &Desk) -> Option<Command> {
    let guests = guests()?;
    let cache = vm::Cache::open(Path::new(&guests)).unwrap();
    if cache.kernel(None).unwrap().kspeed.is_none() {
        testing::skipped("the guest cache has no lockgate_kspeed.ko; make setup-guests");
        return None;
    }
    desk.write("guest.sh", GUEST);
    let mut command = desk.command();
    command.env("LOCKGATE_GUESTS", guests);
    command.args(["vm", "run", "guest.sh", "--crypto-socket"]);
    command.arg(desk.path().join("vf.sock"));
    command.args(["--module", "virtio_crypto", "--module", "lockgate_kspeed"]);
    Some(command)
}

#[test]
fn a_stock_guest_uses_the_device_and_its_driver_comes_and_goes() {
    testing::booting(stock_guest);
}

fn stock_guest() {
    let desk = Desk::new();
    let Some(mut guest) = guest(&desk) else {
        return;
    };
    let serving = Serving::start(&desk, "");
    is_whole(&guest.output().unwrap());
    let (counters, said) = serving.end();
    assert!(
        counters.ends_with("none\n") && counters.contains("vm1"),
        "{counters}{said}"
    );
    assert!(said.contains("vm1: a guest connects"), "{said}");
    assert!(!desk.path().join("vf.sock").exists());
}

/// QEMU is killed under load; another guest has the device then.
#[test]
fn a_killed_guest_leaves_the_device_to_the_next() {
    testing::booting(killed_guest);
}

fn killed_guest() {
    let desk = Desk::new();
    let Some(mut first) = guest(&desk) else {
        return;
    };
    let Some(mut second) = guest(&desk) else {
        return;
    };
    let serving = Serving::start(&desk, "controller = \"none\"");
    let list = || {
        let all = std::fs::read_dir(format!("/proc/{}/fd", serving.0.id())).unwrap();
        let mut all: Vec<_> = all
            .map(|one| std::fs::read_link(one.unwrap().path()).unwrap_or_default())
            .collect();
        all.sort();
        all
    };
    let before = list().len();
    let mut first = first
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Within its work: the next measurement follows what it says of the first.
    let said = BufReader::new(first.stdout.take().unwrap());
    let mut verified = said.lines().map_while(Result::ok);
    assert!(verified.any(|line| line.contains("\"verified\":true")));
    assert!(list().len() > before + 3);
    first.kill().unwrap();
    first.wait().unwrap();
    // What is opened for the first guest and kept is not opened again for the next.
    let is_idle = |now: &Vec<_>| now.len() <= before + 1;
    testing::until(list, is_idle);
    is_whole(&second.output().unwrap());
    testing::until(list, is_idle);
    let (counters, said) = serving.end();
    let own = counters.lines().last().unwrap();
    let sessions = own.split_whitespace().nth(4);
    assert_eq!(sessions, Some("0"), "{counters}{said}");
}

/// Of each thread, by name: user, capabilities, `no_new_privs` and filters.
fn threads(process: u32) -> Vec<(String, Vec<String>)> {
    let all = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    all.map(|one| {
        let text = std::fs::read_to_string(one.unwrap().path().join("status")).unwrap();
        let of = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap_or_default().trim().replace('\t', " ")
        };
        let keys = [
            "Uid:",
            "Gid:",
            "Groups:",
            "CapInh:",
            "CapPrm:",
            "CapEff:",
            "CapAmb:",
            "NoNewPrivs:",
            "Seccomp:",
            "Seccomp_filters:",
        ];
        (of("Name:"), keys.map(of).to_vec())
    })
    .collect()
}

fn load(socket: &Path, depth: usize) -> Load {
    let config = LoadConfig {
        kind: Kind::new(Algorithm::Aes128Cbc, Operation::Encrypt),
        block_bytes: 4096,
        depth,
        interrupts: Interrupts::EventIndex,
        delays: false,
    };
    Load::start(socket, config).unwrap()
}

/// Front-ends come and go, open and close sessions and change their memory; every thread
/// is confined from before the first one on.
#[test]
fn confined_it_serves_as_ever_and_leaves_nothing_behind() {
    let desk = Desk::new();
    let serving = Serving::start(&desk, "");
    let socket = desk.path().join("vf.sock");
    let log = desk.path().join("vf.sock.log");
    assert!(log.exists());
    let is_root = rustix::process::geteuid().is_root();
    // A thread that has just started gets there; kernels before 5.9 do not say.
    let is_its_roles = |(name, values): &(String, Vec<String>)| {
        let least = if name == "lockgate" { 3 } else { 5 };
        let filters = values.last().and_then(|filters| filters.parse().ok());
        filters.is_none_or(|filters: u32| filters >= least)
    };
    let all = testing::until(
        || threads(serving.0.id()),
        |all| all.iter().all(is_its_roles),
    );
    assert!(all.iter().any(|(name, _)| name == "lockgate-w0"), "{all:?}");
    for (name, values) in &all {
        let [
            uid,
            _,
            groups,
            inheritable,
            permitted,
            effective,
            ambient,
            nnp,
            seccomp,
            _,
        ] = &values[..]
        else {
            panic!("{values:?}");
        };
        assert!(!uid.starts_with("0 "), "{name}: {uid}");
        assert!(!is_root || groups.is_empty(), "{name}: {groups}");
        for set in [inheritable, permitted, effective, ambient] {
            assert_eq!(set, "0000000000000000", "{name}");
        }
        assert_eq!((nnp.as_str(), seccomp.as_str()), ("1", "2"), "{name}");
    }
    // Its memory is nobody's to look at, or to dump: proc(5) gives it to root then.
    let process = Path::new("/proc").join(serving.0.id().to_string());
    let owner = std::fs::metadata(process.join("environ")).unwrap().uid();
    assert_eq!(owner, 0);
    let limits = std::fs::read_to_string(process.join("limits")).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core"));
    assert_eq!(
        core.unwrap().split_whitespace().nth(4),
        Some("0"),
        "{limits}"
    );
    let status = std::fs::read_to_string(process.join("status")).unwrap();
    let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
    assert_ne!(locked.unwrap().trim(), "0 kB");
    for turn in 0..3 {
        let counts = load(&socket, 16).run(Duration::from_millis(200), &|| true);
        assert!(counts.unwrap().requests > 16, "{turn}");
        let config = FrontConfig {
            regions: 2,
            ..FrontConfig::default()
        };
        let mut front = FrontEnd::connect(&socket, config).unwrap();
        for key in 0..40_u8 {
            let spec = SessionSpec::Cipher {
                encrypts: true,
                key: &[key; 16],
            };
            let id = front.open_session(&spec).unwrap();
            front.close_session(id).unwrap();
        }
        let _driver = front.start(0).unwrap();
        for _ in 0..4 {
            front.hand_memory_over().unwrap();
        }
        let mut front = front.reconnect(&socket).unwrap();
        front.hand_memory_over().unwrap();
    }
    serving.signal("-USR1");
    let (counters, said) = serving.end();
    assert_eq!(counters.matches("refused").count(), 2, "{counters}{said}");
    assert!(said.contains("vm1: its guest leaves"), "{said}");
    assert!(!said.contains("is refused to"), "{said}");
    assert!(!socket.exists() && !log.exists());
}

/// What a killed one leaves is there for the next, which removes it at its own end.
#[test]
fn what_a_killed_one_leaves_the_next_one_takes() {
    let desk = Desk::new();
    let (socket, log) = (desk.path().join("vf.sock"), desk.path().join("vf.sock.log"));
    let mut first = Serving::start(&desk, "");
    load(&socket, 4)
        .run(Duration::from_millis(50), &|| true)
        .unwrap();
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    assert!(socket.exists() && log.exists());
    drop(first);
    let second = Serving::start(&desk, "");
    load(&socket, 4)
        .run(Duration::from_millis(50), &|| true)
        .unwrap();
    second.end();
    assert!(!socket.exists() && !log.exists());
}

#[test]
fn without_confinement_it_says_what_that_gives_up() {
    let desk = Desk::new();
    desk.write("vf.toml", &file(&desk, "piece = \"64k\""));
    let ended = desk.line("serve --check --no-confinement vf.toml").ok();
    assert!(ended.stdout.contains("all rights"), "{}", ended.stdout);
    let ended = desk.line("serve --check --user 4000001 vf.toml");
    match rustix::process::geteuid().is_root() {
        true => {
            let said = ended.ok().stdout;
            assert!(
                said.contains("user 4000001 (4000001:4000001), confined"),
                "{said}"
            );
        }
        false => assert!(ended.stderr.contains("only root"), "{}", ended.stderr),
    }
    desk.refuses(
        "serve --check --user nobody-of-that-name vf.toml => nobody-of-that-name",
        &[],
    );
    let mut child = desk
        .command()
        .args(["serve", "--no-lines", "--no-confinement", "vf.toml"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(
        line.contains("warning:") && line.contains("not confined"),
        "{line}"
    );
    Serving(child, said).end();
    assert!(!desk.path().join("vf.sock").exists());
}
