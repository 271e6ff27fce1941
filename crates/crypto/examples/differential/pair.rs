//! Two back-ends with the same keys over the same bytes.

use std::sync::Arc;

use lockgate_crypto::{
    Algorithm, Backend, Key, KeyForm, KeyMaterial, Kind, Operation, Status, backends, by_name,
};

use super::arena::{Place, job, place};
use super::random::Random;

const KEYS: usize = 4;
const BATCH_MAX: usize = 32;
/// Noise that arenas are filled from, from a random place on.
const NOISE_BYTES: usize = 1 << 16;

/// One kind by one back-end, and by the reference.
pub struct Pair {
    kind: Kind,
    backend: Arc<dyn Backend>,
    reference: Arc<dyn Backend>,
    keys: Vec<[Box<dyn Key>; 2]>,
    arenas: [Vec<u8>; 3],
    noise: Vec<u8>,
}

pub fn pairs() -> Vec<Pair> {
    let reference = by_name("portable").expect("it is always there");
    let mut pairs = Vec::new();
    for backend in backends() {
        for algorithm in Algorithm::ALL {
            for &operation in algorithm.operations() {
                let kind = Kind::new(algorithm, operation);
                let is_other = backend.name() != reference.name();
                if is_other && !algorithm.is_public_key() && backend.supports(kind) {
                    pairs.push(Pair::new(kind, backend.clone(), reference.clone()));
                }
            }
        }
    }
    pairs
}

fn material(algorithm: Algorithm, random: &mut Random) -> KeyMaterial {
    let bytes = match algorithm.key_form() {
        KeyForm::Bytes(bytes) => bytes,
        _ => random.below(150),
    };
    KeyMaterial::take(&mut random.bytes(bytes))
}

type Arena = Vec<u8>;

impl Pair {
    fn new(kind: Kind, backend: Arc<dyn Backend>, reference: Arc<dyn Backend>) -> Self {
        let mut random = Random::of([7, 7, 7, kind.algorithm.name().len() as u64]);
        let keys = (0..KEYS).map(|_| {
            let material = material(kind.algorithm, &mut random);
            [&backend, &reference].map(|one| {
                let key = one.key(kind.algorithm, &material);
                key.expect("a key that every back-end takes")
            })
        });
        let keys = keys.collect();
        Self {
            kind,
            backend,
            reference,
            keys,
            arenas: [Arena::new(), Arena::new(), Arena::new()],
            noise: random.bytes(NOISE_BYTES),
        }
    }

    pub fn run(&mut self, random: &mut Random) -> Result<usize, String> {
        let mut end = 0;
        let count = 1 + random.below(BATCH_MAX);
        let places: Vec<Place> = (0..count)
            .map(|_| place(self.kind, KEYS, random, &mut end))
            .collect();
        self.fill(end + 32, random);
        if self.opens() {
            self.seal(&places, random);
        }
        for side in [0, 1] {
            let (before, after) = self.arenas.split_at_mut(1);
            after[side].clone_from(&before[0]);
        }
        let statuses =
            [0, 1].map(|side| self.process(side, self.kind.operation, 1 + side, &places));
        // Nothing is refused for its form: else nothing would be compared.
        let is_sound = |status: &Status| match status {
            Status::Ok => true,
            Status::AuthenticationFailed => self.opens(),
            _ => false,
        };
        let is_sound = statuses[0].iter().all(is_sound);
        if is_sound && statuses[0] == statuses[1] && self.arenas[1] == self.arenas[2] {
            return Ok(count);
        }
        Err(self.difference(&places, &statuses))
    }

    fn opens(&self) -> bool {
        self.kind.algorithm.is_aead() && self.kind.operation == Operation::Decrypt
    }

    fn fill(&mut self, bytes: usize, random: &mut Random) {
        let from = random.below(NOISE_BYTES / 2);
        let arena = &mut self.arenas[0];
        arena.clear();
        while arena.len() < bytes {
            let more = (bytes - arena.len()).min(NOISE_BYTES - from);
            arena.extend_from_slice(&self.noise[from..from + more]);
        }
    }

    /// Makes each source a text that opens; then flips a bit of every fourth.
    fn seal(&mut self, places: &[Place], random: &mut Random) {
        let in_place: Vec<Place> = places
            .iter()
            .map(|place| Place {
                destination: place.source,
                ..*place
            })
            .collect();
        self.process(1, Operation::Encrypt, 0, &in_place);
        for place in places {
            let (at, len) = if random.below(2) == 0 && place.source.1 > 0 {
                place.source
            } else {
                place.tag
            };
            let bit = random.below(8 * len);
            if random.below(4) == 0 {
                self.arenas[0][at + bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    /// Processes all, in the arena of that number, by the back-end (0) or the
    /// reference (1).
    fn process(
        &mut self,
        side: usize,
        operation: Operation,
        arena: usize,
        places: &[Place],
    ) -> Vec<Status> {
        let base = self.arenas[arena].as_mut_ptr();
        let jobs: Vec<_> = places
            .iter()
            .map(|place| job(place, &*self.keys[place.key][side], base))
            .collect();
        let mut statuses = vec![Status::Cancelled; jobs.len()];
        let kind = Kind {
            operation,
            ..self.kind
        };
        let backend = [&self.backend, &self.reference][side];
        // SAFETY: every place ends before the arena does, which is borrowed
        // mutably and does not move meanwhile.
        unsafe { backend.process(kind, &jobs, &mut statuses) };
        statuses
    }

    fn difference(&self, places: &[Place], statuses: &[Vec<Status>; 2]) -> String {
        let [_, one, other] = &self.arenas;
        let byte = one.iter().zip(other).position(|(a, b)| a != b);
        let within =
            |(at, len): (usize, usize)| byte.is_some_and(|byte| (at..at + len).contains(&byte));
        let index = (0..places.len()).find(|&index| {
            statuses[0][index] != statuses[1][index]
                || within(places[index].destination)
                || within(places[index].tag)
        });
        let what = index.map_or_else(String::new, |index| {
            format!(
                "job {index} {:?}, which ended {:?} and {:?}",
                places[index], statuses[0][index], statuses[1][index]
            )
        });
        let lens: Vec<usize> = places.iter().map(|place| place.source.1).collect();
        format!(
            "{} {} {}: first byte that differs {byte:?}; {what}; texts of the batch {lens:?}",
            self.backend.name(),
            self.kind.algorithm,
            self.kind.operation,
        )
    }
}
