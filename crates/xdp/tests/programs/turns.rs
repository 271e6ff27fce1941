//! One thread sends by several ports, and each stream is whole.

use crate::programs::wires;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lockgate_xdp::{Generator, Plan, SendError, Sink, Turns};
use wires::{BURST, frame_v4, frame_v6, ifindex, in_namespace, shell, timed_in_namespace};

const PAIRS: usize = 3;

fn plan(stream: u8, frames: Vec<Vec<u8>>, order: &[u8]) -> Plan {
    Plan {
        trial: 9,
        stream,
        frames_max: Some(BURST - u64::from(stream)),
        ..wires::plan(frames, order)
    }
}

fn ports() -> (Vec<Generator>, Vec<Sink>) {
    for pair in 0..PAIRS {
        shell(&format!(
            "ip link add lgs{pair} type veth peer name lgr{pair}
             for i in lgs{pair} lgr{pair}; do
                 echo 1 > /proc/sys/net/ipv6/conf/$i/disable_ipv6; ip link set $i up; done"
        ));
    }
    let index = |end, pair| ifindex(&format!("lg{end}{pair}"));
    let generators = (0..PAIRS).map(|pair| Generator::load(index('s', pair)).unwrap());
    let generators = generators.collect();
    let sinks = (0..PAIRS).map(|pair| Sink::attach(index('r', pair)).unwrap());
    (generators, sinks.collect())
}

#[test]
fn every_stream_is_whole_and_its_own() {
    timed_in_namespace(|| {
        let (mut generators, mut sinks) = ports();
        let mut turns = Turns::load().unwrap();
        // One size, then three that take turns: pages go from port to port.
        let sizes = [
            (vec![frame_v4(60, [2; 6])], &[0][..]),
            (
                [80, 566, 1514]
                    .map(|bytes| frame_v6(bytes, [2; 6]))
                    .to_vec(),
                &[0, 1, 2][..],
            ),
        ];
        for (frames, order) in sizes {
            let plans: Vec<_> = (0..PAIRS as u8)
                .map(|stream| plan(stream, frames.clone(), order))
                .collect();
            for (sink, plan) in sinks.iter_mut().zip(&plans) {
                sink.begin(9, plan.stream).unwrap();
            }
            let mut all: Vec<_> = generators.iter_mut().collect();
            let sent = turns
                .send(&mut all, &plans, &AtomicBool::new(false))
                .unwrap();
            for ((sink, plan), sent) in sinks.iter().zip(&plans).zip(sent) {
                assert_eq!(Some(sent.offered), plan.frames_max);
                let counts = wires::settled(
                    || sink.counts().unwrap(),
                    |counts| counts.received >= sent.offered,
                );
                assert_eq!(counts.received, sent.offered, "{counts:?}");
                assert_eq!((counts.duplicates, counts.reordered), (0, 0));
                assert_eq!((counts.late, counts.foreign), (0, 0), "{counts:?}");
                let bytes: u64 = (0..sent.offered)
                    .map(|number| order[number as usize % order.len()])
                    .map(|size| frames[usize::from(size)].len() as u64 + 4)
                    .sum();
                assert_eq!(counts.bytes, bytes);
            }
        }
    });
}

#[test]
fn each_keeps_its_own_rate() {
    timed_in_namespace(|| {
        let (mut generators, _sinks) = ports();
        let plans: Vec<_> = [1_000.0, 2_000.0, 4_000.0]
            .into_iter()
            .map(|rate| Plan {
                rate_pps: Some(rate),
                duration: Duration::from_millis(500),
                frames_max: None,
                ..plan(0, vec![frame_v4(60, [2; 6])], &[0])
            })
            .collect();
        let mut all: Vec<_> = generators.iter_mut().collect();
        let sent = Turns::load()
            .unwrap()
            .send(&mut all, &plans, &AtomicBool::new(false))
            .unwrap();
        let due: Vec<_> = sent.iter().map(|sent| sent.due).collect();
        assert_eq!(due, [500, 1_000, 2_000]);
        assert!(sent.iter().all(|sent| sent.offered <= sent.due), "{sent:?}");
    });
}

#[test]
fn what_cannot_take_turns_is_refused() {
    in_namespace(|| {
        let (mut generators, _sinks) = ports();
        let mut turns = Turns::load().unwrap();
        let stop = AtomicBool::new(false);
        let [short, long, six] = [
            frame_v4(60, [2; 6]),
            frame_v4(100, [2; 6]),
            frame_v6(100, [2; 6]),
        ];
        let mut refused = |frames: &[&Vec<u8>]| {
            let mut all: Vec<_> = generators.iter_mut().take(2).collect();
            let plans: Vec<_> = frames
                .iter()
                .map(|frame| plan(0, vec![(*frame).clone()], &[0]))
                .collect();
            turns.send(&mut all, &plans, &stop).unwrap_err()
        };
        assert!(matches!(refused(&[&short]), SendError::Turns { .. }));
        assert!(matches!(refused(&[&short, &long]), SendError::Frames));
        assert!(matches!(refused(&[&long, &six]), SendError::Frames));
    });
}
