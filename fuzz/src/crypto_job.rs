//! One job, by both back-ends, over memory laid out as the input says.

mod layout;

use std::cell::OnceCell;

use crypto::{Algorithm, Backend, Data, Key, KeyMaterial, Kind, Operation, Slices, Status};

use super::bytes::{Bytes, noise};
use layout::Layout;

/// Longest text, additional data or tag of the job over slices.
const PART_BYTES_MAX: usize = 1200;

/// Processes one job with AWS-LC and with the portable back-end: both must
/// end it alike and leave the same bytes. What one sealed, both open.
pub fn crypto_job(data: &[u8]) {
    let mut input = Bytes::new(data);
    let algorithm = input.pick(&Algorithm::ALL);
    let operation = match input.below(8) {
        0 => input.pick(&Operation::ALL),
        choice => algorithm.operations()[choice % algorithm.operations().len()],
    };
    // Now and then the key is of another algorithm.
    let of_key = match input.below(32) {
        0 => input.pick(&Algorithm::ALL),
        _ => algorithm,
    };
    let kind = Kind {
        algorithm,
        operation,
    };
    if input.below(2) == 0 {
        over_slices(kind, of_key, &mut input);
    } else {
        over_an_arena(kind, of_key, &mut input);
    }
}

fn over_slices(kind: Kind, of_key: Algorithm, input: &mut Bytes<'_>) {
    let is_apart = input.below(2) == 1;
    let iv = [input.byte(); 16];
    let [source, aad] = [part(input, 16), part(input, 0)];
    let destination = match input.below(4) {
        0 => part(input, 32),
        _ if kind.operation == Operation::Hash => vec![0xa5; 32],
        _ if kind.algorithm == Algorithm::Rsa2048 => Vec::new(),
        _ => vec![0xa5; source.len()],
    };
    let tag = part(
        input,
        if kind.algorithm == Algorithm::Rsa2048 {
            256
        } else {
            16
        },
    );
    let run = |backend: &dyn Backend, key: &dyn Key| {
        let (mut both, mut destination, mut tag) =
            (source.clone(), destination.clone(), tag.clone());
        let data = if is_apart {
            Data::Apart {
                source: &source,
                destination: &mut destination,
            }
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
    let [one, other] = by_both(of_key, run);
    assert!(one == other, "{kind:?}: {:?} and {:?}", one.0, other.0);
    assert_ne!(one.0, Status::BackendFailed, "{kind:?}");
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

fn over_an_arena(kind: Kind, of_key: Algorithm, input: &mut Bytes<'_>) {
    let layout = Layout::read(kind, input);
    let arena = noise(u64::from(input.byte()), layout::ARENA_BYTES);
    let Some(done) = agreed(kind, of_key, &layout, &arena) else {
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
    if let Some(original) = agreed(kind, of_key, &layout_back, &done) {
        assert!(
            layout.source_of(&original) == layout.source_of(&arena),
            "{kind:?} did not give back the text of {layout:?}"
        );
    }
}

/// What both back-ends leave of `arena`; `None` where the job did not succeed
/// or has no defined result.
fn agreed(kind: Kind, of_key: Algorithm, layout: &Layout, arena: &[u8]) -> Option<Vec<u8>> {
    let [(one, after), (other, by_other)] = by_both(of_key, |backend, key| {
        let mut arena = arena.to_vec();
        (layout.process(backend, key, kind, &mut arena), arena)
    });
    assert_eq!(one, other, "{kind:?} {layout:?}");
    if layout.has_defined_result() {
        assert!(after == by_other, "{kind:?} {layout:?}: other bytes");
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

fn by_both<T>(of_key: Algorithm, run: impl Fn(&dyn Backend, &dyn Key) -> T) -> [T; 2] {
    ["aws-lc", "portable"].map(|name| {
        let backend = crypto::by_name(name).expect("both exist");
        with_key(name, &*backend, of_key, |key| run(&*backend, key))
    })
}

thread_local! {
    /// Set up once: two of RSA's take longer than a thousand jobs.
    static KEYS: [[OnceCell<Box<dyn Key>>; Algorithm::ALL.len()]; 2] =
        const { [const { [const { OnceCell::new() }; Algorithm::ALL.len()] }; 2] };
}

fn with_key<T>(
    name: &str,
    backend: &dyn Backend,
    algorithm: Algorithm,
    run: impl FnOnce(&dyn Key) -> T,
) -> T {
    KEYS.with(|keys| {
        let own = &keys[usize::from(name == "portable")][algorithm as usize];
        let key = own.get_or_init(|| {
            let made = backend.key(algorithm, &material(algorithm));
            made.expect("a good key")
        });
        run(&**key)
    })
}

/// A key that is the same each time.
pub(crate) fn material(algorithm: Algorithm) -> KeyMaterial {
    match algorithm.key_bytes() {
        Some(len) => KeyMaterial::take(&mut noise(1, len)),
        None => KeyMaterial::take(
            &mut include_bytes!("../../crates/crypto/tests/vectors/rsa-2048.pkcs8.der").to_vec(),
        ),
    }
}
