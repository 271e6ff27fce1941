//! Guests that end otherwise than was meant.

use std::time::{Duration, Instant};

use lockgate_vm::{BootError, Guest, GuestError, Run, Shape};
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{booting, small};

const LONG: Duration = Duration::from_secs(100);

fn pid(guest: &Guest) -> Pid {
    Pid::from_raw(guest.process_id().cast_signed()).unwrap()
}

#[test]
fn the_death_of_qemu_is_not_a_timeout() {
    booting(|lab| {
        let mut guest = lab.boot(&small());
        let killer = guest.killer();
        let started = Instant::now();
        let output = |_: &[u8]| killer.kill();
        let run = Run::new("echo up; sleep 1000").within(LONG);
        let error = guest.run_live(&run, &mut { output }).unwrap_err();
        testing::assert_matches!(error, GuestError::Died { .. });
        assert!(error.to_string().contains("SIGKILL"), "{error}");
        assert!(started.elapsed() < LONG, "the limits were waited for");
        let error = guest.qmp("query-status", serde_json::Value::Null);
        testing::assert_matches!(error, Err(GuestError::Died { .. }));
    });
}

#[test]
fn a_guest_that_hangs_ends_at_its_time_limit() {
    booting(|lab| {
        let shape = Shape {
            time_limit: Duration::from_secs(8),
            ..small()
        };
        // On a very slow machine the limit comes while it boots, which is as good.
        let error = match Guest::boot(lab.qemu(), lab.kernel(), &lab.image(), &shape) {
            Err(BootError::Guest(error)) => error,
            Err(error) => panic!("{error}"),
            Ok(mut guest) => {
                kill_process(pid(&guest), Signal::STOP).unwrap();
                let run = Run::new("echo never").within(LONG);
                guest.run(&run).unwrap_err()
            }
        };
        testing::assert_matches!(error, GuestError::TimeLimit { .. });
        assert!(error.to_string().contains("8 s"), "{error}");
    });
}

#[test]
fn a_panic_is_named() {
    booting(|lab| {
        let mut guest = lab.boot(&small());
        let run = Run::new("echo c >/proc/sysrq-trigger; sleep 1000").within(LONG);
        let error = guest.run(&run).unwrap_err();
        let GuestError::Panicked { line, console } = &error else {
            panic!("{error:?}");
        };
        assert!(line.contains("sysrq triggered crash"), "{line}");
        assert!(console.contains("Call Trace"), "{console}");
        assert!(guest.console().contains("Kernel panic"));
        testing::assert_matches!(guest.shutdown(), Err(GuestError::Panicked { .. }));
    });
}

#[test]
fn a_guest_that_powers_off_has_died() {
    booting(|lab| {
        let mut guest = lab.boot(&small());
        let run = Run::new("poweroff -f; sleep 1000").within(LONG);
        let error = guest.run(&run).unwrap_err();
        let GuestError::Died { status, .. } = error else {
            panic!("{error:?}");
        };
        assert!(status.success(), "{status}");
    });
}
