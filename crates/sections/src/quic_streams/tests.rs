use kit::testing::{assert_refused, section};
use kit::transfers::contest::Mark;

use super::*;

fn own(text: &str) -> QuicStreams {
    section(text).unwrap()
}

#[test]
fn streams_are_beside_tcp_and_beside_one_stream() {
    let own = own("streams = [1, 8]");
    let subjects = own.subjects(&Host::of(None));
    let arms: Vec<_> = subjects.iter().map(|one| one.arm).collect();
    assert_eq!(arms, [Way::Tcp, Way::Quic(1), Way::Quic(8)]);
    let pairs = own.pairs(&subjects);
    assert_eq!(pairs.len(), 3);
    assert_eq!(pairs[2].reference.1, Way::Quic(1));
}

#[test]
fn what_no_link_has_is_refused() {
    assert_refused::<QuicStreams>(&[
        ("stack = 'tcp'", "stack", "QUIC"),
        ("streams = [0]", "streams", "1"),
        ("loss_percent = 31.0", "loss_percent", "30"),
    ]);
}

#[test]
fn a_file_that_did_not_end_has_no_time() {
    let fought = |bytes| Fought {
        marks: vec![Mark {
            bytes,
            elapsed: Duration::from_secs(4),
            ..Mark::default()
        }],
        dropped: 0,
        filled: None,
        still: Duration::from_secs(1),
        lateness: net::emulator::Lateness::default(),
    };
    let whole = values(&[fought(1_000_000)], 1_000_000);
    assert_eq!(whole, [(RATE, 2.0), (STILL, 25.0), (TIME, 4.0)]);
    let part = values(&[fought(1_000_000), fought(500_000)], 1_000_000);
    assert_eq!(part, [(RATE, 1.5), (STILL, 25.0)]);
}

/// All of the file comes by every way, though frames of it are lost.
#[test]
fn files_come_whole_over_links_that_lose() {
    testing::alone_as_root(|| {
        let own = own("bytes = 300_000\nround_trip_ms = 4\nlinks = 1\nloss_percent = 5.0");
        let host = Host::of(None);
        let subjects = own.subjects(&host);
        let mut rig = own.rig(&host, &subjects).unwrap();
        let reading = rig.trial(&subjects[0], Duration::from_secs(60), &|| true);
        let reading = reading.unwrap();
        assert_eq!(reading.beside.len(), 3);
        for one in std::iter::once(&reading).chain(&reading.beside) {
            // 300 kB at 50 Mbit/s.
            assert!(one.value(TIME).unwrap() > 0.048, "{one:?}");
        }
    });
}
