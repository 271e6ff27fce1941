//! `lockgate serve`: what its file may say, and guests on its devices.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

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
        let mut lines = [String::new(), String::new()];
        for line in &mut lines {
            serving.1.read_line(line).unwrap();
        }
        // The best piece is measured first.
        let is_right = lines[0].starts_with("vm1: pieces of ") && lines[1].starts_with("serving");
        assert!(is_right, "{lines:?}");
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
