use kit::testing::{assert_refused, section};

use super::*;

fn own(text: &str) -> QuicShare {
    section(text).unwrap()
}

#[test]
fn one_trial_has_all_sizes_and_the_largest_comes_first() {
    let own = own("sizes_bytes = [200_000, 100_000]\nlinks = 2");
    let subjects = own.subjects(&Host::of(None));
    assert_eq!(subjects.len(), 6);
    assert!(subjects[1..].iter().all(|one| one.shares_trial));
    let pairs = own.pairs(&subjects);
    assert_eq!(pairs.len(), 6);
    assert!(pairs.iter().all(|pair| pair.arm.0 == pair.reference.0));
    assert_eq!(pairs[0].arm, (200_000, Stack::Together));
    assert!(own.steps()[0].contains("6 emulated links of 5 Mbit/s"));
}

#[test]
fn what_no_link_has_is_refused() {
    assert_refused::<QuicShare>(&[
        ("sizes_bytes = [10]", "sizes_bytes", "10000"),
        ("stacks = ['sctp']", "stacks", "quic-stock"),
        ("congestion = 'vegas'", "congestion", "bbr"),
        ("links = 0", "links", "1"),
        ("queue_bytes = 100", "queue_bytes", "3000"),
    ]);
}

#[test]
fn a_share_is_the_mean_of_links_that_all_came_so_far() {
    use kit::transfers::contest::Mark;
    let fought = |shares: &[u64]| Fought {
        marks: shares
            .iter()
            .zip(1..)
            .map(|(&own_bytes, step)| Mark {
                bytes: 1000 * step,
                elapsed: Duration::from_secs(step),
                own_bytes,
                other_bytes: 100 - own_bytes,
            })
            .collect(),
        dropped: 6,
        filled: None,
        still: Duration::ZERO,
        lateness: net::emulator::Lateness::default(),
    };
    let both = [fought(&[10, 40]), fought(&[20, 60])];
    let values = |fought: &[Fought], bytes| values(fought, bytes, 2000);
    assert_eq!(values(&both, 1000).unwrap(), [(SHARE, 15.0), (TIME, 1.0)]);
    let whole = [(SHARE, 50.0), (TIME, 2.0), (SETTLED, 2.0), (DROPPED, 6.0)];
    assert_eq!(values(&both, 2000).unwrap(), whole);
    let short = values(&[fought(&[10, 40]), fought(&[20])], 2000);
    assert_eq!(short, None, "one link has not come so far");
}
