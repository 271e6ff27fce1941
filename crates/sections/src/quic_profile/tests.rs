use std::time::Duration;

use kit::testing::{assert_refused, section};

use super::*;

fn own(text: &str) -> QuicProfile {
    section(text).unwrap()
}

#[test]
fn tcp_is_beside_the_smallest_datagrams_alone() {
    let own = own("");
    let subjects = own.subjects(&Host::with_cpus([0, 1]));
    assert_eq!(subjects.len(), 4 + 3 * 2);
    let tcp = subjects.iter().filter(|one| one.arm.is_tcp());
    assert!(tcp.clone().all(|one| one.place == 1452 && one.rank == 0));
    let pairs = own.pairs(&subjects);
    assert_eq!(pairs.len(), 2 + 4 + 3 * 2);
    let changes = pairs.iter().filter(|pair| !pair.change.is_empty());
    assert!(changes.clone().all(|pair| pair.arm.1 == pair.reference.1));
    assert_eq!(changes.count(), 6);
    assert!(change(9000).contains("initial_mtu"));
    assert!(change(65_000).contains("upper_bound"));
}

#[test]
fn what_no_datagram_has_is_refused() {
    assert_refused::<QuicProfile>(&[
        ("payload_bytes = [1199]", "payload_bytes", "1200"),
        ("payload_bytes = [65001]", "payload_bytes", "65000"),
        ("stacks = ['sctp']", "stacks", "quic-stock"),
        ("bytes = 10", "bytes", "1000000"),
    ]);
}

/// The parts are all of it, for every stack and size.
#[test]
fn parts_add_up_to_the_whole() {
    testing::alone_as_root(|| {
        let cpus = kit::place::usable_cpus().unwrap();
        if let Err(error) = Profiler::on(&cpus) {
            return testing::skipped(format!("no samples of the kernel's clock: {error}"));
        }
        let own = own("bytes = 20_000_000");
        let host = Host::of(None);
        let subjects = own.subjects(&host);
        let mut rig = own.rig(&host, &subjects).unwrap();
        for subject in &subjects {
            let mut trial = || {
                let trial = rig.trial(subject, Duration::from_millis(50), &|| true);
                trial.unwrap()
            };
            // Between two samples of a busy host a transfer may come and go.
            let reading = testing::until(&mut trial, |reading| reading.value(SAMPLES).is_some());
            let all = reading.value(CPU).unwrap();
            let parts = PARTS
                .iter()
                .filter_map(|(_, measure)| reading.value(*measure));
            let sum: f64 = parts.sum();
            assert!(
                (sum / all - 1.0).abs() < 1e-6,
                "{subject:?}: {sum} of {all}"
            );
            assert_eq!(PARTS[Part::Offload as usize].0, Part::Offload);
            let none: &[Part] = match subject.arm {
                Stack::Tcp => &[Part::Offload, Part::Crypto],
                arm if arm.is_tcp() => &[Part::Offload],
                _ => &[],
            };
            // Other tests of this program are in its samples, and end.
            testing::until(trial, |reading| {
                let all = reading.value(CPU).unwrap_or(0.0);
                let of = |part: &Part| reading.value(PARTS[*part as usize].1).unwrap_or(0.0);
                none.iter().all(|part| of(part) < 0.1 * all)
            });
        }
    });
}
