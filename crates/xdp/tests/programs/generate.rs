//! What the generator sends is what the sink counts.

use crate::programs::wires;

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lockgate_xdp::path::Wire;
use lockgate_xdp::{Attached, Generator, Phase, Plan, Sink, Watch};
use wires::{BURST, frame_v4, frame_v6, ifindex, plan, send, shell, small, timed_in_namespace};

fn cables() {
    shell(
        "ip link add lgt0 type veth peer name lgd0; ip link add lgt1 type veth peer name lgd1
         for i in lgt0 lgd0 lgt1 lgd1; do
             echo 1 > /proc/sys/net/ipv6/conf/$i/disable_ipv6; ip link set $i up; done",
    );
}

#[test]
fn every_frame_arrives_once_and_in_order() {
    timed_in_namespace(|| {
        cables();
        let mut sink = Sink::attach(ifindex("lgt1")).unwrap();
        let _back = Sink::attach(ifindex("lgt0")).unwrap();
        let wire = Attached::new(Wire::load([ifindex("lgd0"), ifindex("lgd1")]).unwrap()).unwrap();
        let mut generator = Generator::load(ifindex("lgt0")).unwrap();
        sink.begin(7, 3).unwrap();
        let sent = send(&mut generator, &small());
        assert_eq!((sent.offered, sent.due), (BURST, BURST));
        let counts = wires::settled(|| sink.counts().unwrap(), |counts| counts.received == BURST);
        assert_eq!(counts.received, BURST, "{counts:?} {:?}", wire.counters());
        assert_eq!(counts.bytes, BURST * 64);
        assert_eq!((counts.duplicates, counts.reordered), (0, 0));
        assert_eq!((counts.late, counts.foreign), (0, 0));
        assert_eq!(counts.latency.frames(), BURST);
        assert_eq!(wire.counters().unwrap().forwarded, BURST);
        // The same trial again: every frame is a new one.
        sink.begin(8, 3).unwrap();
        send(&mut generator, &small());
        let counts = wires::settled(|| sink.counts().unwrap(), |counts| counts.late == BURST);
        assert_eq!((counts.received, counts.late), (0, BURST));
    });
}

#[test]
fn sizes_take_turns() {
    timed_in_namespace(|| {
        cables();
        let mut sink = Sink::attach(ifindex("lgd0")).unwrap();
        let mut generator = Generator::load(ifindex("lgt0")).unwrap();
        let sizes = [60, 566, 1514];
        for make in [frame_v4, frame_v6] {
            let smallest = make(80, [2; 6]);
            let frames = vec![smallest, make(sizes[1], [2; 6]), make(sizes[2], [2; 6])];
            sink.begin(7, 3).unwrap();
            let sent = send(
                &mut generator,
                &plan(frames, &[0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 2]),
            );
            let counts =
                wires::settled(|| sink.counts().unwrap(), |counts| counts.received == BURST);
            assert_eq!(counts.received, sent.offered);
            // 200 = 16 rounds of 12 and 8 more.
            let bytes = 16 * (7 * 84 + 4 * 570 + 1518) + 4 * 84 + 4 * 570;
            assert_eq!(counts.bytes, bytes);
        }
    });
}

#[test]
fn a_stream_keeps_its_rate_and_ends_when_told() {
    timed_in_namespace(|| {
        cables();
        let mut sink = Sink::attach(ifindex("lgd0")).unwrap();
        let mut generator = Generator::load(ifindex("lgt0")).unwrap();
        sink.begin(7, 3).unwrap();
        let paced = Plan {
            rate_pps: Some(10_000.0),
            duration: Duration::from_millis(200),
            frames_max: None,
            ..small()
        };
        let sent = send(&mut generator, &paced);
        assert_eq!(sent.due, 2000);
        assert!(sent.offered <= sent.due, "{sent:?}");
        assert!(sent.elapsed_ns < 200_000_000, "{sent:?}");
        // At once, though it would take an hour.
        let endless = Plan {
            duration: Duration::from_secs(3600),
            ..paced
        };
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            generator.send(&endless, &stop).unwrap();
        });
    });
}

/// The watcher hears of phases in order, and takes nothing of the CPU that sends.
#[test]
fn who_watches_is_elsewhere_and_hears_of_each_phase_once() {
    timed_in_namespace(|| {
        let all = sys::affinity::process_cpus().unwrap();
        let cpu = all[0];
        cables();
        sys::affinity::pin_to(cpu).unwrap();
        let sink = Sink::attach(ifindex("lgd0")).unwrap();
        let mut generator = Generator::load(ifindex("lgt0")).unwrap();
        let heard = Mutex::new(vec![]);
        let tell = |phase| {
            let cpus = sys::affinity::allowed_cpus().unwrap();
            let mut heard = heard.lock().unwrap();
            heard.push((phase, std::thread::current().id(), cpus));
        };
        let stop = AtomicBool::new(false);
        let watch = Watch {
            stop: &stop,
            tell: &tell,
        };
        let brief = small();
        let sent = generator.send(&brief, watch).unwrap();
        assert_eq!(sent.offered, BURST);
        drop(sink);
        let heard = heard.into_inner().unwrap();
        let phases: Vec<_> = heard.iter().map(|(phase, ..)| *phase).collect();
        assert_eq!(phases, [Phase::Begun, Phase::Over]);
        let others: Vec<_> = all.iter().copied().filter(|other| *other != cpu).collect();
        for (_, thread, cpus) in heard {
            assert_ne!(thread, std::thread::current().id());
            if others.is_empty() {
                testing::skipped("one CPU; allow this process another to have the watcher there");
            } else {
                assert_eq!(cpus, others);
            }
        }
    });
}

#[test]
fn no_more_are_under_way_than_allowed() {
    timed_in_namespace(|| {
        cables();
        let mut sink = Sink::attach(ifindex("lgd0")).unwrap();
        let mut generator = Generator::load(ifindex("lgt0")).unwrap();
        generator.follow(sink.reached()).unwrap();
        let flood = Plan {
            duration: Duration::from_millis(200),
            frames_max: None,
            // As many as the ring of the veth holds.
            in_flight_max: Some(256),
            ..small()
        };
        sink.begin(7, 3).unwrap();
        let sent = send(&mut generator, &flood);
        let all = |counts: &lockgate_xdp::Counts| counts.received + sent.given_up >= sent.offered;
        let counts = wires::settled(|| sink.counts().unwrap(), all);
        assert!(sent.offered > 1000, "{sent:?}");
        let lost = sent.offered - counts.received;
        assert!(lost <= sent.given_up, "{sent:?} {counts:?}");
        // These are not counted: this many, and as many again every 2 ms.
        sink.begin(8, 3).unwrap();
        let sent = send(&mut generator, &flood);
        assert!(sent.given_up > 0, "{sent:?}");
        assert!(sent.offered - sent.given_up <= 256, "{sent:?}");
        assert!(sent.offered <= 256 * (200 / 2 + 2), "{sent:?}");
    });
}
