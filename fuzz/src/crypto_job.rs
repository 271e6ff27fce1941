//! One job, by every back-end, over memory laid out as the input says.

mod keys;
mod layout;

use crypto::{Algorithm, Backend, Data, Key, Kind, Operation, RsaBits, RsaScheme, Slices, Status};

use super::bytes::{Bytes, noise};
pub(crate) use keys::material;
use layout::Layout;

/// Longest text, additional data or tag of the job over slices.
const PART_BYTES_MAX: usize = 1200;

/// Processes one job with the portable back-end and with another one: both
/// must end it alike and leave the same bytes. What one sealed, both open.
pub fn crypto_job(data: &[u8]) {
    let mut input = Bytes::new(data);
    let algorithm = match input.pick(&Algorithm::ALL) {
        // Also what can be written down and does not exist.
        Algorithm::Rsa(RsaBits::B512, _) => {
            let schemes = [RsaScheme::Pkcs1, RsaScheme::Oaep, RsaScheme::Pss];
            Algorithm::Rsa(RsaBits::B512, input.pick(&schemes))
        }
        other => other,
    };
    let operation = match (input.below(8), algorithm.operations()) {
        (0, _) | (_, []) => input.pick(&Operation::ALL),
        (choice, own) => own[choice % own.len()],
    };
    // Now and then the key is of another algorithm.
    let of_key = match input.below(32) {
        0 => input.pick(&Algorithm::ALL),
        _ => algorithm,
    };
    let kind = Kind::new(algorithm, operation);
    let is_over_slices = input.below(2) == 0;
    let with_key = |backend: &&dyn Backend| {
        of_key
            .operations()
            .iter()
            .any(|&operation| backend.supports(Kind::new(of_key, operation)))
    };
    // A back-end without the kind has no say in what becomes of it.
    let others = keys::others().iter().map(|backend| &**backend);
    let able = others.filter(|backend| backend.supports(kind) || !kind_exists(kind));
    for other in able.filter(with_key) {
        let mut input = input.clone();
        if is_over_slices {
            over_slices(other, kind, of_key, &mut input);
        } else {
            over_an_arena(other, kind, of_key, &mut input);
        }
    }
}

fn kind_exists(kind: Kind) -> bool {
    kind.algorithm.operations().contains(&kind.operation)
}

/// Whether two runs of the same job may leave different bytes.
fn is_randomised(kind: Kind) -> bool {
    let has_salt = matches!(
        kind.algorithm,
        Algorithm::Rsa(_, RsaScheme::Pss) | Algorithm::EcdsaP256
    );
    let pads = matches!(kind.algorithm, Algorithm::Rsa(..)) && kind.operation == Operation::Encrypt;
    pads || (has_salt && kind.operation == Operation::Sign)
}

fn over_slices(other: &dyn Backend, kind: Kind, of_key: Algorithm, input: &mut Bytes<'_>) {
    let is_apart = input.below(2) == 1;
    let iv = [input.byte(); 16];
    let algorithm = kind.algorithm;
    let usual = match kind.operation {
        Operation::Sign | Operation::Verify => 32,
        Operation::Decrypt | Operation::Derive if algorithm.is_public_key() => {
            algorithm.modulus_bytes()
        }
        _ => 16,
    };
    let [source, aad] = [part(input, usual), part(input, 0)];
    let destination = match input.below(4) {
        0 => part(input, 32),
        _ if kind.operation == Operation::Hash => vec![0xa5; algorithm.digest_bytes()],
        _ => vec![0xa5; layout::result_bytes(kind, source.len())],
    };
    let tag = part(input, algorithm.tag_bytes(kind.operation));
    let run = |backend: &dyn Backend, key: &dyn Key| {
        let (mut both, mut destination, mut tag) =
            (source.clone(), destination.clone(), tag.clone());
        let data = if is_apart {
            Data::apart(&source, &mut destination)
        } else {
            Data::InPlace(&mut both)
        };
        let slices = Slices {
            iv,
            aad: &aad,
            data,
            tag: &mut tag,
        };
        let status = crypto::process_slices(backend, key, kind, slices);
        (status, both, destination, tag)
    };
    let name = other.name();
    let [one, other] = by_both(other, of_key, run);
    let is_same = one == other || (is_randomised(kind) && one.0 == other.0);
    assert!(is_same, "{name} {kind:?}: {:?} and {:?}", one.0, other.0);
    assert_ne!(one.0, Status::BackendFailed, "{name} {kind:?}");
}

/// Noise of any length, often of `usual` bytes or of whole blocks.
fn part(input: &mut Bytes<'_>, usual: usize) -> Vec<u8> {
    let len = match input.below(4) {
        0 => input.below(PART_BYTES_MAX),
        1 => input.below(PART_BYTES_MAX) / 16 * 16,
        _ => usual,
    };
    noise(u64::from(input.byte()), len)
}

fn over_an_arena(other: &dyn Backend, kind: Kind, of_key: Algorithm, input: &mut Bytes<'_>) {
    let layout = Layout::read(kind, input);
    let arena = noise(u64::from(input.byte()), layout::ARENA_BYTES);
    let Some(done) = agreed(other, kind, of_key, &layout, &arena) else {
        return;
    };
    let (back, layout_back) = match kind.operation {
        Operation::Encrypt => (Operation::Decrypt, layout.reversed()),
        Operation::Sign => (Operation::Verify, layout.clone()),
        _ => return,
    };
    let kind = Kind {
        operation: back,
        ..kind
    };
    if let Some(original) = agreed(other, kind, of_key, &layout_back, &done) {
        assert!(
            layout.source_of(&original) == layout.source_of(&arena),
            "{kind:?} did not give back the text of {layout:?}"
        );
    }
}

/// What both back-ends leave of `arena`; `None` where the job did not succeed
/// or has no defined result.
fn agreed(
    other: &dyn Backend,
    kind: Kind,
    of_key: Algorithm,
    layout: &Layout,
    arena: &[u8],
) -> Option<Vec<u8>> {
    let name = other.name();
    let [(one, after), (other, by_other)] = by_both(other, of_key, |backend, key| {
        let mut arena = arena.to_vec();
        (layout.process(backend, key, kind, &mut arena), arena)
    });
    assert_eq!(one, other, "{name} {kind:?} {layout:?}");
    if layout.has_defined_result() {
        let is_same = after == by_other || is_randomised(kind);
        assert!(is_same, "{name} {kind:?} {layout:?}: other bytes");
        let written = layout.written(kind, one);
        for (at, (before, after)) in arena.iter().zip(&after).enumerate() {
            let may_change = written
                .iter()
                .any(|&(start, len)| (start..start + len).contains(&at));
            assert!(
                may_change || before == after,
                "{kind:?} {layout:?} {one:?}: byte {at}"
            );
        }
    }
    (one == Status::Ok && layout.has_defined_result()).then_some(after)
}

/// By the portable back-end, then by `other`.
fn by_both<T>(
    other: &dyn Backend,
    of_key: Algorithm,
    run: impl Fn(&dyn Backend, &dyn Key) -> T,
) -> [T; 2] {
    [keys::portable(), other].map(|backend| keys::with(backend, of_key, |key| run(backend, key)))
}
