//! `lockgate vm`: a guest for people who want just that.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::common::{Desk, program};
use vm::{Cache, Qemu};

/// Where guests are; the tests' desk has an empty environment of its own.
pub fn guests() -> Option<String> {
    let cache = match Cache::open_default() {
        Ok(cache) => cache,
        Err(error) => return skipped(&error.to_string()),
    };
    match Qemu::find(Some(&cache)) {
        Ok(_) => Some(cache.folder().display().to_string()),
        Err(error) => skipped(&error.to_string()),
    }
}

fn skipped(reason: &str) -> Option<String> {
    testing::skipped(reason);
    None
}

#[test]
fn help_has_an_example_and_the_exit_codes() {
    let desk = Desk::new();
    let help = desk.line("vm run --help").ok();
    help.shows(&[
        "lockgate vm run --cpu",
        "Exit codes: 0",
        "--get",
        "setup-guests",
    ]);
    desk.lockgate(&["--help"]).ok().shows(&["  vm "]);
}

/// Refused before the cache is looked at: these hosts need none.
#[test]
fn wrong_flags_name_the_value_and_what_is_allowed() {
    let desk = Desk::new();
    desk.write("ok.sh", "true\n");
    let rows = "
        vm run ok.sh --vcpus 0            => 0 vCPUs | 64
        vm run ok.sh --vcpus 65           => 65 vCPUs | 64
        vm run ok.sh --memory 16          => 16 MiB | 256
        vm run ok.sh --accelerator xen    => 'xen' | auto, kvm, tcg
        vm run ok.sh --crypto-devices 17  => 17 | 16
        vm run ok.sh --pci-function 65:1  => 65:1 is not | 0000:65:01.3
        vm run ok.sh --limit 0            => '0' | 3600
        vm run ok.sh --file nope.bin      => nope.bin | No such file
        vm run ok.sh --file .             => HOST:/path
        vm run ok.sh --get r.json         => GUEST:HOST
        vm run ok.sh --file ok.sh:/a --file probe.toml:/a => /a | another place
    ";
    let none = [("LOCKGATE_GUESTS", "none")];
    desk.refuses(rows, &none);
    let cpu = ["vm", "run", "ok.sh", "--cpu", "max -device x"];
    desk.lockgate_with(&cpu, &none)
        .refused(&["max -device x", "-cpu help"]);
}

#[test]
fn without_a_cache_the_remedy_is_said() {
    let desk = Desk::new();
    fs::create_dir(desk.path().join("empty")).unwrap();
    desk.write("ok.sh", "true\n");
    let environment = [("LOCKGATE_GUESTS", "empty")];
    let ended = desk.lockgate_with(&["vm", "run", "ok.sh"], &environment);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(4), ""));
    ended.says(&["make setup-guests"]);
    let listed = desk.lockgate_with(&["vm", "list"], &environment);
    assert_eq!(listed.code, Some(4), "{}", listed.stderr);
    listed.shows(&["make setup-guests", "QEMUs", "tcg"]);
}

#[test]
fn kernels_and_qemus_are_listed() {
    let Some(guests) = guests() else { return };
    let listed = Desk::new().lockgate_with(&["vm", "list"], &[("LOCKGATE_GUESTS", &guests)]);
    let cache = Cache::open_default().unwrap();
    let releases: Vec<_> = cache
        .kernels()
        .iter()
        .map(|kernel| &*kernel.release)
        .collect();
    listed.ok().shows(&releases);
}

#[test]
fn a_script_runs_and_its_status_and_files_come_back() {
    testing::booting(|| {
        let Some(guests) = guests() else { return };
        let desk = Desk::new();
        desk.write("in.txt", "from the host\n");
        desk.write(
            "script.sh",
            "uname -r\ncat in.txt\necho done >/tmp/out.txt\ngrep -c ^algif_hash /proc/modules\nexit 3\n",
        );
        let arguments = "vm run --memory 512 --module algif-hash --file in.txt \
            --get /tmp/out.txt:out.txt --limit 60 script.sh";
        let arguments: Vec<_> = arguments.split_whitespace().collect();
        let ended = desk.lockgate_with(&arguments, &[("LOCKGATE_GUESTS", &guests)]);
        let kernel = Cache::open_default().unwrap().kernel(None).unwrap().clone();
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert_eq!(
            ended.stdout,
            format!("{}\nfrom the host\n1\n", kernel.release)
        );
        ended.says(&["status 3", &kernel.version, "QEMU", "ready in"]);
        assert_eq!(fs::read(desk.path().join("out.txt")).unwrap(), b"done\n");
    });
}

/// A guest plays the host whose kernel is measured: without leave nothing is loaded,
/// with it the module is gone at the end.
#[test]
fn the_module_enters_a_host_s_kernel_with_leave_only_and_leaves_it() {
    const SCRIPT: &str = "export HOME=/root
        run() {
            export LOCKGATE_GUESTS=/guests
            lockgate run kspeed --kernel host --drivers 'cbc(aes-generic)' --sizes-bytes 512 \
                --methods sync,async --seconds 0.05 --pairs 1 \"$@\" >/tmp/out 2>&1
            echo \"ended $?, $(grep -c '^lockgate_kspeed ' /proc/modules) loaded\"
            cat /tmp/out
        }
        run
        run --load-module true\n";
    testing::booting(|| {
        let Some(guests) = guests() else { return };
        let kernel = Cache::open_default().unwrap().kernel(None).unwrap().clone();
        let Some(module) = kernel.kspeed else {
            return testing::skipped("the guest cache has no lockgate_kspeed.ko");
        };
        let desk = Desk::new();
        desk.write("host.sh", SCRIPT);
        let own = format!("{}:/usr/bin/lockgate", program().display());
        let cached = "/guests/host";
        let release = &kernel.release;
        let module = format!("{}:{cached}/{release}/lockgate_kspeed.ko", module.display());
        let arguments = ["vm", "run", "host.sh", "--file", &own, "--file", &module];
        let ended = desk
            .lockgate_with(&arguments, &[("LOCKGATE_GUESTS", &guests)])
            .ok();
        ended.shows(&[
            "ended 4, 0 loaded",
            "--load-module true; it is unloaded at the end",
            "ended 0, 0 loaded",
            "in this host's own kernel)",
        ]);
    });
}

#[test]
fn what_the_cache_or_qemu_does_not_have_is_the_callers_mistake() {
    let Some(guests) = guests() else { return };
    let desk = Desk::new();
    desk.write("ok.sh", "true\n");
    let rows = "
        vm run --memory 512 ok.sh --kernel 2.4             => \"2.4\" | GUESTS=all
        vm run --memory 512 ok.sh --module no_such_module  => no_such_module
        vm run --memory 512 ok.sh --qemu /bin/true         => --qemu | /bin/true
        vm run --memory 512 ok.sh --cpu Pentium9           => Pentium9
    ";
    desk.refuses(rows, &[("LOCKGATE_GUESTS", &guests)]);
}

#[test]
fn ctrl_c_ends_the_guest() {
    testing::booting(|| {
        let Some(guests) = guests() else { return };
        let desk = Desk::new();
        let mut child = started(&desk, &guests, "echo started\nsleep 100\n", &[]);
        let mut first = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut first).unwrap();
        assert_eq!(first, "started\n", "output comes while the script runs");
        kill_softly(&child);
        assert_eq!(wait_for(&mut child), Some(130));
    });
}

/// Starts a script in a guest of 512 MiB; its output comes to the test.
fn started(desk: &Desk, guests: &str, script: &str, more: &[&str]) -> Child {
    desk.write("script.sh", script);
    let mut command = desk.command();
    command
        .args(["vm", "run", "--memory", "512", "script.sh"])
        .args(more)
        .env("LOCKGATE_GUESTS", guests)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command.spawn().expect("the program under test starts")
}

const ENDLESS: &str = "while :; do echo started; sleep 0.1; done\n";

/// `| head -n 1`: the rest has no reader.
#[test]
fn a_script_without_a_reader_ends() {
    testing::booting(|| {
        let Some(guests) = guests() else { return };
        let desk = Desk::new();
        let mut child = started(&desk, &guests, ENDLESS, &["--limit", "300"]);
        let mut first = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut first).unwrap();
        drop(stdout);
        assert_eq!(wait_for(&mut child), Some(0));
    });
}

/// A reader who only holds the pipe open does not keep the program from ending.
#[test]
fn ctrl_c_ends_a_program_that_cannot_write() {
    testing::booting(|| {
        let Some(guests) = guests() else { return };
        let desk = Desk::new();
        let mut child = started(&desk, &guests, "yes started\n", &["--limit", "300"]);
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 8]).unwrap();
        testing::until(|| is_full(&stdout), |is_full| *is_full);
        kill_softly(&child);
        assert_eq!(wait_for(&mut child), Some(130));
    });
}

#[test]
fn files_come_back_from_a_script_that_was_ended() {
    testing::booting(|| {
        let Some(guests) = guests() else { return };
        let desk = Desk::new();
        let script = "echo so far >/tmp/r\nsleep 300\n";
        let gets = "--get /tmp/none:none --get /tmp/r:r --limit 5";
        let gets: Vec<_> = gets.split(' ').collect();
        let mut child = started(&desk, &guests, script, &gets);
        assert_eq!(wait_for(&mut child), Some(3));
        assert_eq!(fs::read(desk.path().join("r")).unwrap(), b"so far\n");
    });
}

#[test]
fn a_named_program_that_is_none_leaves_no_default() {
    let environment = [("LOCKGATE_QEMU", "/nonexistent/qemu")];
    let listed = Desk::new().lockgate_with(&["vm", "list"], &environment);
    assert_eq!(listed.code, Some(4), "{}", listed.stderr);
    let (_, qemus) = listed.stdout.split_once("QEMUs").unwrap();
    assert!(!qemus.contains(", the default\n"), "{qemus}");
    assert!(qemus.contains("/nonexistent/qemu"), "{qemus}");
}

#[test]
fn programs_are_waited_for_whatever_the_parent_ignores() {
    testing::timed(|| {
        let desk = Desk::new();
        let qemu = desk.write("qemu", "#!/bin/sh\necho QEMU emulator version 7.2.99\n");
        fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
        let listed = std::process::Command::new("sh")
            .args(["-c", "trap '' CHLD; exec \"$0\" vm list"])
            .arg(crate::common::program())
            .env("LOCKGATE_QEMU", &qemu)
            .output()
            .unwrap();
        let text = String::from_utf8(listed.stdout).unwrap();
        assert!(text.contains("7.2.99"), "{text}");
    });
}

/// Tells whether a writer to this pipe must wait.
fn is_full(pipe: &ChildStdout) -> bool {
    let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let end = fs::OpenOptions::new().write(true).open(path).unwrap();
    let mut polled = [PollFd::new(&end, PollFlags::OUT)];
    poll(&mut polled, Some(&Timespec::default())).unwrap() == 0
}

fn kill_softly(child: &Child) {
    // The shell's own: `kill` as a program is in a package of its own.
    let interrupt = std::process::Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status()
        .expect("every host has a shell");
    assert!(interrupt.success());
}

/// The exit code, or none after a minute: then it is killed.
fn wait_for(child: &mut Child) -> Option<i32> {
    for _ in 0..600 {
        if let Some(status) = child.try_wait().expect("our own child") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
    None
}
