//! What one method shows, against another.

use trial::Comparison;

use crate::kspeed::cell::Cell;
use crate::kspeed::context::Context;
use crate::kspeed::method::Method;

/// Who is compared with whom.
const PAIRS: [(Method, Method); 8] = [
    (Method::Async, Method::Sync),
    (Method::Batch, Method::Sync),
    (Method::Resubmit, Method::Async),
    (Method::Tcrypt, Method::Sync),
    (Method::Sync, Method::Tcrypt),
    (Method::TcryptMb, Method::Batch),
    (Method::AfAlg, Method::Async),
    (Method::Async, Method::Engine),
];
/// The same thing is measured where neither shows less than this of the other.
pub(super) const SAME_MIN: f64 = 0.9;
/// What an asynchronous device gains at least by being kept busy: driver,
/// bytes, depth, factor.
const GAIN: (&str, usize, usize, f64) = ("virtio_crypto_aes_cbc", 512, 16, 3.5);

/// One method over another, at one place.
pub(super) struct Ratio<'a> {
    pub(super) cell: &'a Cell,
    pub(super) method: Method,
    pub(super) reference: Method,
    pub(super) comparison: Comparison,
}

pub(super) fn ratios<'a>(context: &Context<'a>) -> Vec<Ratio<'a>> {
    let mut ratios = Vec::new();
    for cell in context.cells {
        ratios.extend(PAIRS.iter().filter_map(|&(method, reference)| {
            let mut comparison = context.ratio(cell, method, reference)?;
            if (method, reference) == (Method::Async, Method::Sync) {
                let depth = context.config.depth;
                comparison.change = format!("Keep {depth} in flight in the kernel, not one");
            }
            let is_believed = comparison.believed;
            let target = target(context, cell, method, reference).filter(|_| is_believed);
            Some(Ratio {
                cell,
                method,
                reference,
                comparison: match target {
                    Some(at_least) => comparison.with_target(at_least),
                    None => comparison,
                },
            })
        }));
    }
    ratios
}

fn target(context: &Context<'_>, cell: &Cell, method: Method, reference: Method) -> Option<f64> {
    let (driver, bytes, depth, gain) = GAIN;
    let place = cell.place;
    match (method, reference) {
        (Method::Tcrypt, Method::Sync) | (Method::Sync, Method::Tcrypt) => Some(SAME_MIN),
        (Method::Async, Method::Sync)
            if (place.driver.name, place.size_bytes, context.config.depth)
                == (driver, bytes, depth)
                && context.guest.is_emulated() =>
        {
            Some(gain)
        }
        _ => None,
    }
}

/// The ratio of two methods at a place.
pub(super) fn of<'a>(
    ratios: &'a [Ratio<'_>],
    cell: &Cell,
    method: Method,
    reference: Method,
) -> Option<&'a Comparison> {
    let same = |ratio: &&Ratio<'_>| {
        ratio.cell.place == cell.place && (ratio.method, ratio.reference) == (method, reference)
    };
    ratios.iter().find(same).map(|ratio| &ratio.comparison)
}
