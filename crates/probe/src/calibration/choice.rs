//! What a calibration chooses, in words.

use crypto::{Calibration, JOBS, Kind, Measured, SIZES_BYTES};

pub(super) const GB_PER_S: &str = "GB/s";

/// Every size and number of requests at hand, the largest last.
pub(super) fn places() -> impl Iterator<Item = (usize, usize)> {
    let of = |bytes| JOBS.into_iter().map(move |jobs| (bytes, jobs));
    SIZES_BYTES.into_iter().flat_map(of)
}

/// The kind that was measured in its stead, if another one was.
pub(super) fn stand_in(calibration: &Calibration, kind: Kind) -> Option<Kind> {
    let measured = |(bytes, jobs)| calibration.at(kind, bytes, jobs).into_iter().next();
    let own = places().find_map(measured)?.kind;
    (own != kind).then_some(own)
}

/// A back-end and its speed, as people say it.
pub(super) type Told = (String, String);

/// The chosen back-end and the others at one place, the faster ones first;
/// none where there is nothing to choose.
pub(super) fn chosen_at(
    calibration: &Calibration,
    kind: Kind,
    bytes: usize,
    jobs: usize,
) -> Option<(Told, Vec<Told>)> {
    let mut measured = calibration.at(kind, bytes, jobs);
    if measured.len() < 2 {
        return None;
    }
    measured.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    let chosen = calibration.backend_for(kind, bytes, jobs)?;
    let told = |one: &Measured| (one.backend.clone(), speed(bytes as f64 / one.ns));
    let (best, others): (Vec<&Measured>, Vec<_>) =
        measured.into_iter().partition(|one| one.backend == chosen);
    let best = told(best.first()?);
    Some((best, others.into_iter().map(told).collect()))
}

/// `aws-lc, from 4 requests kernels`, by size where sizes differ; none where
/// there is nothing to choose.
pub(super) fn in_words(calibration: &Calibration, kind: Kind) -> Option<String> {
    let by_jobs = |bytes: usize| {
        let chosen = |jobs| Some((jobs, chosen_at(calibration, kind, bytes, jobs)?.0.0));
        let chosen: Vec<_> = JOBS.into_iter().filter_map(chosen).collect();
        (!chosen.is_empty()).then(|| runs(&chosen))
    };
    let mut groups: Vec<(usize, usize, String)> = Vec::new();
    for bytes in SIZES_BYTES {
        let Some(words) = by_jobs(bytes) else {
            continue;
        };
        match groups.last_mut() {
            Some((_, last, own)) if *own == words => *last = bytes,
            _ => groups.push((bytes, bytes, words)),
        }
    }
    if let [(_, _, words)] = &groups[..] {
        return Some(words.clone());
    }
    let told = |(first, last, words): &(usize, usize, String)| {
        if first == last {
            format!("{}: {words}", size(*first))
        } else {
            format!("{} to {}: {words}", size(*first), size(*last))
        }
    };
    let told: Vec<_> = groups.iter().map(told).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// The choices by rising number of requests, each said once.
fn runs(chosen: &[(usize, String)]) -> String {
    let mut words = Vec::new();
    let mut before = None;
    for (jobs, name) in chosen {
        match before.replace(name) {
            None => words.push(name.clone()),
            Some(before) if before == name => {}
            Some(_) => words.push(format!("from {jobs} requests {name}")),
        }
    }
    words.join(", ")
}

/// Block sizes as people write them.
pub(super) fn size(bytes: usize) -> String {
    if bytes.is_multiple_of(1024) {
        format!("{} KiB", bytes / 1024)
    } else {
        format!("{bytes} B")
    }
}

/// Three digits.
fn speed(gb_per_s: f64) -> String {
    if gb_per_s >= 10.0 {
        format!("{gb_per_s:.1}")
    } else {
        format!("{gb_per_s:.2}")
    }
}

/// A calibration that decides among this host's candidates.
#[cfg(test)]
fn decided(measured: Vec<Measured>) -> Calibration {
    Calibration::from_measured(measured).among(&crypto::candidates())
}

#[cfg(test)]
pub(super) fn example() -> Calibration {
    use crypto::{Algorithm, Operation};

    let kind = Kind::new(Algorithm::Aes128Cbc, Operation::Encrypt);
    let of = |(bytes, jobs): (usize, usize)| {
        let ns = bytes as f64;
        let kernels = if jobs >= 4 { 0.1 } else { 2.0 };
        [("aws-lc", ns), ("kernels", ns * kernels)].map(|(backend, ns)| Measured {
            kind,
            bytes,
            jobs,
            backend: backend.to_owned(),
            ns,
        })
    };
    decided(places().flat_map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crypto::{Algorithm, Operation};

    fn kind(algorithm: Algorithm) -> Kind {
        Kind::new(algorithm, Operation::Encrypt)
    }

    #[test]
    fn a_choice_is_said_once_for_all_sizes_that_share_it() {
        let calibration = example();
        let cbc = kind(Algorithm::Aes128Cbc);
        let words = in_words(&calibration, cbc).unwrap();
        assert_eq!(words, "aws-lc, from 4 requests kernels");
        let (chosen, others) = chosen_at(&calibration, cbc, 16_384, 32).unwrap();
        assert_eq!(chosen, ("kernels".to_owned(), "10.0".to_owned()));
        assert_eq!(others, [("aws-lc".to_owned(), "1.00".to_owned())]);
        assert_eq!(in_words(&calibration, kind(Algorithm::X25519)), None);
        assert_eq!(stand_in(&calibration, cbc), None);
    }

    #[test]
    fn sizes_that_differ_are_told_apart() {
        let mut measured = example().measured().to_vec();
        // Alone and small, the kernels are the better ones.
        for one in &mut measured {
            if one.bytes == 64 && one.backend == "kernels" {
                one.ns = 1.0;
            }
        }
        let words = in_words(&decided(measured), kind(Algorithm::Aes128Cbc));
        assert_eq!(
            words.unwrap(),
            "64 B: kernels; 512 B to 16 KiB: aws-lc, from 4 requests kernels"
        );
    }
}
