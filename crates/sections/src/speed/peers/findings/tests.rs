use std::collections::BTreeMap;

use crate::speed::measure::{Measured, Series};
use crate::speed::peers::config::configured;
use crate::speed::peers::findings::*;
use crate::speed::peers::grid::{equipped, rows};
use crate::speed::peers::table::tables;
use kit::host::Host;
use kit::load::fresh::trial_run::Sample;
use kit::place::{Placement, place};
use trial::Cell as Entry;

/// A series of one round; a noisy one stood still for a second.
fn series(requests_per_s: f64, is_noisy: bool) -> Series {
    let sample = Sample {
        requests: 100_000,
        requests_per_s,
        ..Sample::default()
    };
    Series {
        samples: BTreeMap::from([(0, sample)]),
        gaps_ns: if is_noisy { vec![1e9] } else { Vec::new() },
        ..Series::default()
    }
}

/// The results of the first row of SHA-256 with those speeds.
fn results(config: &Config, arms: &[(Arm, f64, bool)]) -> Results {
    let peers = peers();
    let row = rows(config, &peers).into_iter().next().expect("a row");
    let cpus = place(&peers.host.cpus, Placement::Split, 1, 1);
    let measured = Measured {
        cell: row.cell,
        cpus,
        block_bytes: row.cell.block_bytes,
        in_flight_bytes: 0,
        paced_per_s: None,
        usual_step_ns: None,
        arms: Vec::new(),
    };
    let arms = arms
        .iter()
        .map(|&(arm, rate, is_noisy)| (arm, series(rate, is_noisy)))
        .collect();
    Results {
        rows: vec![RowResult {
            row,
            measured,
            arms,
        }],
        rounds: 1,
        closing: None,
        rule: None,
        end: End::Complete,
    }
}

fn peers() -> Peers {
    Peers {
        host: Host {
            l2_bytes: 0,
            ..equipped().host
        },
        ..equipped()
    }
}

fn said(arms: &[(Arm, f64, bool)]) -> String {
    let config = configured("algorithms = ['sha256']").unwrap();
    let results = results(&config, arms);
    losses(&peers(), &results).map_or_else(String::new, |finding| finding.text)
}

#[test]
fn we_lose_to_the_fastest_peer_that_may_be_believed() {
    let (engine, ring) = ((Arm::Engine, 50.0, false), (Arm::Ring, 100.0, false));
    let lost = said(&[engine, ring, (Arm::OpenSsl, 80.0, false)]);
    assert!(
        lost.contains("1 places: sha256, 4 KiB (0.50× of ring)"),
        "{lost}"
    );
    let noisy = (Arm::Ring, 100.0, true);
    let lost = said(&[engine, noisy, (Arm::OpenSsl, 80.0, false)]);
    assert!(lost.contains("(0.62× of openssl speed)"), "{lost}");
    let won = said(&[engine, noisy, (Arm::OpenSsl, 40.0, false)]);
    assert!(
        won.starts_with("No peer that was measured is faster"),
        "{won}"
    );
    // Neither the loop of our own back-end nor the ceiling is a peer.
    let own = said(&[
        engine,
        (Arm::OwnLoop, 99.0, false),
        (Arm::Ceiling, 99.0, false),
    ]);
    assert_eq!(own, "");
}

#[test]
fn what_cannot_be_believed_is_neither_lost_nor_won() {
    let noisy = (Arm::Engine, 50.0, true);
    let said = said(&[noisy, (Arm::Ring, 100.0, false)]);
    assert!(
        said.contains("cannot be said: in none of 1 places"),
        "{said}"
    );
}

#[test]
fn nothing_is_faster_than_the_ceiling() {
    let config = configured("algorithms = ['aes-128-ctr']").unwrap();
    let share = |own: f64| {
        let arms = [
            (Arm::Engine, 50.0, false),
            (Arm::OwnLoop, own, false),
            (Arm::Ceiling, 100.0, false),
        ];
        let results = results(&config, &arms);
        let peers = peers();
        let budget = std::time::Duration::from_secs(60);
        let schedule = Schedule::new(&config, &peers, budget).unwrap();
        let table = tables(&config, &peers, &schedule, &results).remove(0);
        let at = table
            .columns
            .iter()
            .position(|column| column.label == "÷ ceiling")
            .expect("the column");
        let text = beyond(&results).map(|finding| finding.text);
        (text, table.rows[0][at].clone())
    };
    assert_eq!(share(94.0), (None, Entry::Number(0.94)));
    assert_eq!(share(101.0).0, None, "rounding");
    let (text, entry) = share(112.0);
    assert!(text.unwrap().contains("aes-128-ctr, 4 KiB (1.12)"));
    assert_eq!(entry, Entry::Text("(1.12)".to_owned()));
}
