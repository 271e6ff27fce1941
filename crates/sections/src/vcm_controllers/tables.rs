//! The paper's figures 8 to 10 beside ours, and how the oracle was found.

use crypto::{Algorithm, Kind, Operation};
use kit::controllers::contender::Contender;
use kit::controllers::fixed::label;
use kit::drawing::{number, text};
use kit::experiment::Results;
use kit::load::benches::{Ask, NOTIFICATIONS, REQUESTS, SPEED};
use kit::place::Placement;
use kit::places::on;
use kit::words::{size, what};
use model::paper::published::{AES_128, Published, RSA, RSA_DATA_BYTES, SHA_256, TEST_BED};
use trial::{Cell, Table};

use super::{Controllers, at};

const UNCAPPED: Contender = Contender::Uncapped;
const ORACLE: Contender = Contender::Oracle;

/// The paper's figure of that algorithm, where it has one.
pub(super) fn published(algorithm: Algorithm) -> Option<Published> {
    match algorithm {
        Algorithm::Aes128Cbc => Some(AES_128),
        Algorithm::Sha256 => Some(SHA_256),
        Algorithm::Rsa(..) => Some(RSA),
        _ => None,
    }
}

pub(super) fn tables(results: &Results<'_, Controllers>) -> Vec<Table> {
    let tables = [beside(results), rsa(results), scouted(results)];
    tables.into_iter().flatten().collect()
}

/// Where no moderation was measured.
fn measured(results: &Results<'_, Controllers>) -> Vec<Ask> {
    let all = results.measured().map(|(subject, _)| subject);
    let uncapped = all.filter(|subject| subject.arm == UNCAPPED);
    uncapped.map(|subject| subject.place).collect()
}

/// Figures 8 and 9.
fn beside(results: &Results<'_, Controllers>) -> Option<Table> {
    let mut figures: Vec<((Placement, Kind), Vec<Ask>)> = Vec::new();
    for place in measured(results) {
        let key = (place.placement, place.kind);
        match figures.iter_mut().find(|(own, _)| *own == key) {
            Some((_, all)) => all.push(place),
            None => figures.push((key, vec![place])),
        }
    }
    let rows = figures
        .iter()
        .filter_map(|(_, places)| figure(results, places));
    let note = format!(
        "Theirs: {TEST_BED}. Interrupts there, notifications (eventfd wake-ups of a sleeping or working client) here."
    );
    let columns = [
        ("figure", ""),
        ("fastest block, paper", ""),
        ("fastest block, uncapped here", ""),
        ("interrupts there, paper", "1/s"),
        ("notifications there, uncapped", "1/s"),
        ("notifications there, oracle", "1/s"),
        ("speed kept, paper", "MB/s"),
        ("at the largest block, uncapped", "MB/s"),
        ("at the largest block, oracle", "MB/s"),
        ("falls with size, uncapped", ""),
    ];
    let title = "The paper's figures 8 and 9 beside ours";
    results.table(title, note, columns, rows.collect())
}

/// Of several sizes of a kind that the paper has.
fn figure(results: &Results<'_, Controllers>, places: &[Ask]) -> Option<Vec<Cell>> {
    let first = places.first().filter(|place| !place.is_public())?;
    let published = published(first.kind.algorithm).filter(|_| places.len() > 1)?;
    let median = |place: &Ask, arm, measure| results.median(place, &arm, measure);
    let uncapped = |place: &Ask| median(place, UNCAPPED, SPEED).unwrap_or(0.0);
    let best = places
        .iter()
        .max_by(|a, b| uncapped(a).total_cmp(&uncapped(b)))?;
    let largest = places.iter().max_by_key(|place| place.block_bytes)?;
    let falls = match best == largest {
        true => "no".to_owned(),
        false => {
            let left = uncapped(largest) / uncapped(best) * 100.0;
            format!("to {left:.0}% at {}", size(largest.block_bytes))
        }
    };
    let peak = published.peak_block_bytes.map(|bytes| size(bytes as usize));
    Some(vec![
        text(format!(
            "{}, {}, {}",
            published.figure,
            what(first.kind),
            on(first.placement)
        )),
        peak.map_or(Cell::Empty, text),
        text(size(best.block_bytes)),
        number(published.best_interrupts_per_s),
        number(median(best, UNCAPPED, NOTIFICATIONS)),
        number(median(best, ORACLE, NOTIFICATIONS)),
        number(published.kept_mb_per_s),
        number(Some(uncapped(largest))),
        number(median(largest, ORACLE, SPEED)),
        text(falls),
    ])
}

/// Figure 10: RSA over data of 512 to 4096 bytes, which a key takes in pieces.
fn rsa(results: &Results<'_, Controllers>) -> Option<Table> {
    let mut keys = measured(results);
    keys.retain(|place| {
        matches!(place.kind.algorithm, Algorithm::Rsa(..))
            && place.kind.operation == Operation::Encrypt
    });
    let rows = keys.iter().flat_map(|place| {
        let data = RSA_DATA_BYTES.into_iter();
        data.map(|bytes| rsa_row(results, place, bytes as usize))
    });
    let note = format!(
        "The paper does not say how RSA takes more bytes than its key has. Data is encrypted in pieces here (PKCS#1 v1.5: modulus less 11 bytes), each a request: these follow from the measured requests/s. Theirs: {}.",
        RSA.caption
    );
    let columns = [
        ("key", ""),
        ("data", "bytes"),
        ("requests each", ""),
        ("data/s, uncapped", "1/s"),
        ("data/s, oracle", "1/s"),
        ("speed, uncapped", "MB/s"),
        ("speed, oracle", "MB/s"),
        ("notifications, uncapped", "1/s"),
    ];
    let title = "The paper's figure 10: data under RSA";
    results.table(title, note, columns, rows.collect())
}

fn rsa_row(results: &Results<'_, Controllers>, place: &Ask, data_bytes: usize) -> Vec<Cell> {
    // PKCS#1 v1.5 leaves this much of a key for data (RFC 8017, section 7.2.1).
    let piece_bytes = place.kind.algorithm.modulus_bytes().saturating_sub(11);
    let pieces = data_bytes.div_ceil(piece_bytes.max(1)) as f64;
    let data_per_s = |arm| Some(results.median(place, &arm, REQUESTS)? / pieces);
    let speed = |arm| Some(data_per_s(arm)? * data_bytes as f64 / 1e6);
    vec![
        text(format!(
            "{}, {}",
            place.kind.algorithm.name(),
            on(place.placement)
        )),
        Cell::Number(data_bytes as f64),
        Cell::Number(pieces),
        number(data_per_s(UNCAPPED)),
        number(data_per_s(ORACLE)),
        number(speed(UNCAPPED)),
        number(speed(ORACLE)),
        number(results.median(place, &UNCAPPED, NOTIFICATIONS)),
    ]
}

fn scouted(results: &Results<'_, Controllers>) -> Option<Table> {
    let rows = results.notes.scouted.iter().filter_map(|(place, scouted)| {
        let (best, last) = (scouted.first()?, scouted.last()?);
        let share = |(policy, rate): &(_, f64)| format!("{} {:.2}", label(policy), rate / best.1);
        let rest: Vec<_> = scouted.iter().skip(1).take(3).map(share).collect();
        Some(vec![
            text(at(&results.subject(place, &ORACLE)?.spot)),
            text(label(&best.0)),
            number(Some(best.1)),
            number(results.median(place, &ORACLE, REQUESTS)),
            text(rest.join("; ")),
            text(share(last)),
        ])
    });
    let note = "Short trials of every fixed setting, the best four again: only to choose. What is best of many by chance is less when measured again. Only that second figure is compared with anything.";
    let columns = [
        ("place", ""),
        ("best setting", ""),
        ("when scouted", "requests/s"),
        ("measured again", "requests/s"),
        ("next, share of it", ""),
        ("worst", ""),
    ];
    let title = "How the oracle was found";
    results.table(title, note, columns, rows.collect())
}
