use kit::testing::{assert_refused, section};

use super::*;

fn own(text: &str) -> QuicBuffers {
    section(text).unwrap()
}

#[test]
fn one_trial_has_every_way_and_no_window_of_quic_s_is_tcp_s() {
    let own = own("");
    let subjects = own.subjects(&Host::of(None));
    assert_eq!(subjects.len(), 3 * 5 + 3 * 4);
    let alone = subjects.iter().filter(|one| !one.shares_trial).count();
    assert_eq!(alone, 1);
    let pairs = own.pairs(&subjects);
    // Offloading by each congestion control, BBR over cubic; beside TCP where it is.
    assert_eq!(pairs.len(), 3 * 4 + 3 * 3);
    assert!(pairs.iter().all(|pair| pair.arm.0 == pair.reference.0));
}

#[test]
fn the_queue_and_the_window_are_apart() {
    let own = own("queue_bytes = 40_000");
    let way = Way::cubic(Stack::Stock);
    let of = |buffer| {
        own.contest(
            Place {
                buffer,
                bytes: 13_000,
            },
            way,
        )
    };
    let (queue, window) = (of(Buffer::Queue), of(Buffer::Window));
    assert_eq!(
        (queue.link.queue_bytes, queue.transfer.window_bytes),
        (13_000, None)
    );
    assert_eq!(window.link.queue_bytes, 40_000);
    assert_eq!(window.transfer.window_bytes, Some(13_000));
}

#[test]
fn what_no_link_has_is_refused() {
    assert_refused::<QuicBuffers>(&[
        ("sizes_bytes = [100]", "sizes_bytes", "3000"),
        ("buffers = ['socket']", "buffers", "window"),
        ("congestion = ['vegas']", "congestion", "bbr"),
        ("rate_mbit_per_s = 0.01", "rate_mbit_per_s", "0.1"),
        ("round_trip_ms = 0", "round_trip_ms", "1"),
    ]);
}

/// Each way gets a part of its link; BBR and windows are those of quinn.
#[test]
fn every_way_carries_a_file_beside_tcp() {
    testing::alone_as_root(|| {
        let own = own(
            "bytes = 100_000\nrate_mbit_per_s = 20.0\nround_trip_ms = 4\nsizes_bytes = [13_000]",
        );
        let host = Host::of(None);
        let subjects = own.subjects(&host);
        let mut rig = own.rig(&host, &subjects).unwrap();
        let reading = match rig.trial(&subjects[0], Duration::from_secs(20), &|| true) {
            Err(Stopped::NotSupported { what, remedy }) => {
                return testing::skipped(format!("{what}: {remedy}"));
            }
            reading => reading.unwrap(),
        };
        assert_eq!(reading.beside.len(), subjects.len() - 1);
        for (one, subject) in std::iter::once(&reading)
            .chain(&reading.beside)
            .zip(&subjects)
        {
            let of_tcp = one.value(OF_TCP).unwrap();
            assert!(of_tcp > 0.0 && of_tcp.is_finite(), "{subject:?}: {of_tcp}");
            assert!(
                one.value(TIME).unwrap() > 0.04,
                "{subject:?}: faster than its link"
            );
        }
    });
}
