//! The calibration as facts for the probe.

use crypto::{Backend, Kind, Measured};
use serde_json::json;
use trial::Fact;

use super::{Calibrated, Origin, current};
use crate::probe::fact::fact;

/// Where the choice is shown: a small and a large request, alone and in
/// numbers.
const SHOWN: [(usize, usize); 4] = [(64, 1), (16_384, 1), (64, 32), (16_384, 32)];

/// Facts about this process: its back-ends, where the calibration is from,
/// and what it says of each kind.
pub(crate) fn facts() -> Vec<Fact> {
    let candidates = crypto::candidates();
    let mut facts: Vec<_> = candidates.iter().map(|one| backend(&**one)).collect();
    let calibrated = current();
    facts.push(origin(calibrated));
    facts.extend(Kind::all().filter_map(|kind| choice(calibrated, kind)));
    facts
}

fn backend(one: &dyn Backend) -> Fact {
    let text = format!("{}; uses {}", one.version(), one.instructions());
    let key = format!("crypto.backend.{}", one.name().replace('-', "_"));
    let value = json!({"version": one.version(), "instructions": one.instructions()});
    fact(key, one.name(), value, text)
}

fn origin(calibrated: &Calibrated) -> Fact {
    let text = match &calibrated.origin {
        Origin::Measured {
            seconds,
            kept: Ok(path),
        } => format!("measured now in {seconds:.2} s, kept in {}", path.display()),
        Origin::Measured {
            seconds,
            kept: Err(reason),
        } => format!("measured now in {seconds:.2} s, not kept: {reason}"),
        Origin::Cached { path, measured_utc } => format!(
            "measured {measured_utc}, from {}; `lockgate probe --calibrate` measures again",
            path.display()
        ),
    };
    let value = json!({ "places": calibrated.calibration.measured().len() });
    fact("crypto.calibration", "Calibration", value, text)
}

/// What is chosen for one kind; none where there is nothing to choose.
fn choice(calibrated: &Calibrated, kind: Kind) -> Option<Fact> {
    let places: Vec<_> = SHOWN
        .into_iter()
        .map(|(bytes, jobs)| (bytes, jobs, calibrated.calibration.at(kind, bytes, jobs)))
        .filter(|(_, _, measured)| measured.len() > 1)
        .collect();
    if places.is_empty() {
        return None;
    }
    let texts: Vec<_> = places
        .iter()
        .map(|(bytes, jobs, measured)| {
            let requests = if *jobs == 1 {
                "1 request"
            } else {
                &format!("{jobs} requests")
            };
            let chosen = calibrated.calibration.backend_for(kind, *bytes, *jobs);
            format!(
                "{} × {}: {}",
                requests,
                size(*bytes),
                told(*bytes, measured, chosen)
            )
        })
        .collect();
    let rows: Vec<_> = places
        .iter()
        .flat_map(|(_, _, measured)| measured.iter().map(|one| row(one)))
        .collect();
    let key = format!("crypto.calibration.{}.{}", kind.algorithm, kind.operation);
    let label = format!("{} {}", kind.algorithm, kind.operation);
    Some(fact(key, label, rows, texts.join("; ")))
}

fn row(one: &Measured) -> serde_json::Value {
    json!({"bytes": one.bytes, "jobs": one.jobs, "backend": one.backend, "ns": one.ns})
}

/// `kernels 41.2 GB/s (ipsec-mb 24.8, aws-lc 1.7)`, the chosen one first.
fn told(bytes: usize, measured: &[&Measured], chosen: Option<&str>) -> String {
    let speed = |one: &&&Measured| bytes as f64 / one.ns;
    let is_chosen = |one: &&&Measured| Some(one.backend.as_str()) == chosen;
    let others: Vec<_> = measured
        .iter()
        .filter(|one| !is_chosen(one))
        .map(|one| format!("{} {:.2}", one.backend, speed(&one)))
        .collect();
    let best = measured.iter().find(is_chosen);
    let best = best.map_or("nobody".to_owned(), |one| {
        format!("{} {:.2} GB/s", one.backend, speed(&one))
    });
    format!("{best} ({})", others.join(", "))
}

fn size(bytes: usize) -> String {
    if bytes.is_multiple_of(1024) {
        format!("{} KiB", bytes / 1024)
    } else {
        format!("{bytes} B")
    }
}
