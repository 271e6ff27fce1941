//! Frames of unknown origin: whatever they hold, a program either
//! leaves them to the kernel as they came, or forwards them whole and right.

use std::cell::Cell;

use lockgate_xdp::path::{Control, CpuMap, Fib, RouterOptions, RouterPort, Then};
use lockgate_xdp::{Attached, Pass, Path, Verdict, dry_run};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use wire::checksum;

use crate::programs::bench::{Bench, ROUTER, renew};
use crate::programs::wires::{frame_v4, frame_v6, in_namespace};

/// A plain frame of either family, tagged or not, whose checksum is right.
fn plain() -> impl Strategy<Value = Vec<u8>> {
    (any::<bool>(), 80_usize..300, any::<bool>()).prop_map(|(is_v6, bytes, tagged)| {
        let make = if is_v6 { frame_v6 } else { frame_v4 };
        let mut frame = make(bytes, ROUTER[0]);
        if !is_v6 {
            let sum = checksum::of(&frame[14..34]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        if tagged {
            frame.splice(12..12, [0x81, 0, 0, 7]);
        }
        frame
    })
}

/// Some bytes of its headers are others, its end is elsewhere, and half the time
/// the IPv4 checksum is made right again.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((0_usize..70, any::<u8>()), 0..6);
    let end = prop_oneof![3 => Just(usize::MAX), 1 => 14_usize..400];
    (plain(), changes, end, any::<bool>()).prop_map(|(mut frame, changes, end, mend)| {
        for (at, byte) in changes {
            if let Some(place) = frame.get_mut(at) {
                *place = byte;
            }
        }
        if end != usize::MAX {
            frame.resize(end, 0xa5);
        }
        if mend && frame.len() >= 34 {
            frame[24..26].fill(0);
            let sum = checksum::of(&frame[14..34]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        frame
    })
}

fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => mutated(),
        1 => prop::collection::vec(any::<u8>(), 14..1500),
    ]
}

/// What a forwarded frame must be: shorter by its padding alone, one hop older,
/// with the addresses of the next hop, otherwise the same.
fn assert_forwarded(before: &[u8], after: &[u8]) {
    assert_eq!(before[..6], ROUTER[0]);
    assert_eq!(after[..6], [2, 0, 0, 0, 0, 0x11]);
    assert_eq!(after[6..12], ROUTER[1]);
    assert_eq!(before[12..14], after[12..14], "no VLAN is a port here");
    let mut expected = before[14..after.len()].to_vec();
    if before[12..14] == [0x08, 0x00] {
        assert_eq!(checksum::of(&before[14..34]), 0, "a wrong checksum");
        assert_eq!(checksum::of(&after[14..34]), 0, "a wrong checksum made");
        assert_eq!(before[14], 0x45);
        assert!(before[22] > 1, "no time left to live");
        let bytes = usize::from(u16::from_be_bytes([before[16], before[17]]));
        assert_eq!(after.len(), 14 + bytes, "padding goes");
        expected[8] -= 1;
        expected[10..12].copy_from_slice(&after[24..26]);
    } else {
        assert_eq!(before[12..14], [0x86, 0xdd]);
        assert!(before[21] > 1, "no hop left");
        let bytes = usize::from(u16::from_be_bytes([before[18], before[19]]));
        assert_eq!(after.len(), 54 + bytes, "padding goes");
        expected[7] -= 1;
    }
    assert_eq!(after[14..], expected);
}

/// Each case's verdict and the frame after it, of any frames.
fn try_frames<P: Path>(
    path: &P,
    ifindex: u32,
    check: impl Fn(Vec<u8>, Verdict, Vec<u8>) -> Result<(), TestCaseError>,
) {
    let config = Config {
        cases: testing::cases(3_000, 200_000),
        failure_persistence: None,
        ..Config::default()
    };
    let ran = TestRunner::new(config).run(&any_frame(), |frame| {
        let (verdict, after) = dry_run(path, ifindex, &frame).unwrap();
        check(frame, verdict, after)
    });
    ran.unwrap_or_else(|failed| panic!("{failed}"));
}

/// What the path does not forward it must leave unchanged. The lease is renewed for
/// each, so that a busy machine makes none the kernel's.
fn forwards_or_leaves<P: Path>(path: &P, control: &Control, ifindex: u32) {
    let forwarded = Cell::new(0);
    renew(control);
    try_frames(path, ifindex, |frame, verdict, after| {
        match verdict {
            Verdict::Pass => prop_assert_eq!(frame, after),
            Verdict::Redirect => {
                assert_forwarded(&frame, &after);
                forwarded.set(forwarded.get() + 1);
            }
            other => prop_assert!(false, "{other:?}"),
        }
        renew(control);
        Ok(())
    });
    assert!(forwarded.get() > 100, "{}", forwarded.get());
}

/// In the namespace of a router, with its ports; `Pass` runs on them.
fn in_router(body: impl FnOnce([RouterPort; 2], u32) + Send + 'static) {
    in_namespace(|| {
        let bench = Bench::new();
        let ports = bench.ports;
        bench.router.run(move || {
            let all = ports.map(|port| port.ifindex);
            let _runs = Attached::new(Pass::load(&all).unwrap()).unwrap();
            body(ports, all[0]);
        });
    });
}

#[test]
fn whatever_comes_is_left_alone_or_forwarded_right() {
    in_router(|ports, from| {
        let fib = Fib::load(&ports, RouterOptions::default()).unwrap();
        let cached = Fib::load_cached(&ports, RouterOptions::default()).unwrap();
        forwards_or_leaves(&fib, &fib.control(), from);
        forwards_or_leaves(&cached, &cached.control(), from);
    });
}

#[test]
fn whatever_comes_goes_to_a_cpu_as_it_is() {
    in_router(|ports, from| {
        let path = CpuMap::load(&ports, &[0], Then::Kernel).unwrap();
        try_frames(&path, from, |frame, verdict, after| {
            prop_assert!(matches!(verdict, Verdict::Pass | Verdict::Redirect));
            prop_assert_eq!(frame, after);
            Ok(())
        });
    });
}
