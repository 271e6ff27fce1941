//! Batches of packets, and the proof that all arms make the same of them.

use std::sync::Arc;

use crypto::{
    Algorithm, Backend, Data, Key, KeyMaterial, Kind, Operation, PacketPlace, PacketSlices, Slices,
    Status, process_packets, process_slices,
};
use kit::load::alone::{Alone, AloneError, Slice, alone};
use kit::prelude::Stopped;
use ring::aead::{Aad, LessSafeKey, Nonce, UnboundKey, quic};

use super::grid::{Arm, Place, Work};

const TAG_BYTES: usize = 16;
const SAMPLE_BYTES: usize = 16;
/// The first byte, an id of eight bytes, and a number of two.
const NUMBER_AT: usize = 9;
const NUMBER_BYTES: usize = 2;
const HEADER_BYTES: usize = NUMBER_AT + NUMBER_BYTES;
/// From packet to packet: lines, and one more, so that equal offsets of all packets do not
/// fall into one set of the cache.
const LINE: usize = 64;

#[derive(Debug, thiserror::Error)]
#[error("'{0}' makes other packets than 'aws-lc' does; please report this")]
struct Wrong(&'static str);

type Step = Box<dyn FnMut() -> Result<f64, AloneError>>;

/// A trial whose requests are packets.
pub(super) fn trial(
    place: Place,
    arm: Arm,
    cpu: usize,
    slice: Slice<'_>,
) -> Result<Alone, Stopped> {
    alone(cpu, slice, || step(place, arm)).map_err(Stopped::failed)
}

fn step(place: Place, arm: Arm) -> Result<Step, AloneError> {
    match (arm, place.work) {
        (Arm::Ring, Work::Mask) => {
            let key = ring_header(place)?;
            let samples = text(place.batch * SAMPLE_BYTES);
            Ok(Box::new(move || {
                for sample in samples.chunks(SAMPLE_BYTES) {
                    let mask = key.new_mask(sample);
                    std::hint::black_box(mask.map_err(|_| AloneError::Refused("ring"))?);
                }
                Ok(place.batch as f64)
            }))
        }
        (_, Work::Mask) => {
            let mut masks = Masks::new(place)?;
            Ok(Box::new(move || masks.pass()))
        }
        (Arm::Ring, _) => {
            let mut ring = Ring::new(place)?;
            Ok(Box::new(move || ring.pass()))
        }
        _ => {
            let mut batch = Batch::new(place, named(arm.name())?)?;
            Ok(Box::new(move || batch.pass()))
        }
    }
}

/// All masks of a batch are its samples, encrypted (RFC 9001 §5.4.3).
struct Masks {
    backend: Arc<dyn Backend>,
    kind: Kind,
    key: Box<dyn Key>,
    samples: Vec<u8>,
    masks: Vec<u8>,
}

impl Masks {
    fn new(place: Place) -> Result<Self, AloneError> {
        let backend = named(Arm::Kernels.name())?;
        let algorithm = match place.suite.cipher_key_bytes() {
            16 => Algorithm::Aes128Ecb,
            _ => Algorithm::Aes256Ecb,
        };
        let material = material(place);
        let (header, ..) = parts(place, &material);
        let samples = text(place.batch * SAMPLE_BYTES);
        Ok(Self {
            kind: Kind::new(algorithm, Operation::Encrypt),
            key: backend.key(algorithm, &KeyMaterial::take(&mut header.to_vec()))?,
            masks: vec![0; samples.len()],
            samples,
            backend,
        })
    }

    fn pass(&mut self) -> Result<f64, AloneError> {
        let slices = Slices::plain(Data::apart(&self.samples, &mut self.masks));
        match process_slices(&*self.backend, &*self.key, self.kind, slices) {
            Status::Ok => Ok((self.samples.len() / SAMPLE_BYTES) as f64),
            status => Err(AloneError::Status(status)),
        }
    }

    /// Whether `ring` has the same.
    fn are_right(place: Place) -> Result<bool, AloneError> {
        let mut own = Self::new(place)?;
        own.pass()?;
        let ring = ring_header(place)?;
        let all = own
            .samples
            .chunks(SAMPLE_BYTES)
            .zip(own.masks.chunks(SAMPLE_BYTES));
        let mut all = all.map(|(sample, mask)| Ok((ring.new_mask(sample)?, mask)));
        let same = all.try_fold(true, |same, pair: Result<_, ring::error::Unspecified>| {
            pair.map(|(expected, mask)| same && mask.starts_with(&expected))
        });
        same.map_err(|_| AloneError::Refused("ring"))
    }
}

/// Packets side by side in one piece of memory, each from a cache line on.
struct Memory {
    bytes: Vec<u8>,
    begin: usize,
    stride: usize,
}

impl Memory {
    fn new(place: Place) -> Self {
        let stride = place.bytes.next_multiple_of(LINE) + LINE;
        let bytes = vec![0; place.batch * stride + LINE];
        let begin = bytes.as_ptr().align_offset(LINE).min(LINE);
        Self {
            bytes,
            begin,
            stride,
        }
    }

    /// The first `bytes` of each.
    fn packets(&mut self, bytes: usize) -> impl Iterator<Item = &mut [u8]> {
        let all = self.bytes[self.begin..].chunks_exact_mut(self.stride);
        all.map(move |packet| &mut packet[..bytes])
    }

    fn fill(&mut self, packets: &[Vec<u8>]) {
        for (to, packet) in self.packets(packets[0].len()).zip(packets) {
            to.copy_from_slice(packet);
        }
    }
}

/// Headers with their numbers, and payloads.
fn plain(place: Place) -> Vec<Vec<u8>> {
    let packet = |number: usize| {
        let mut packet = text(place.bytes - TAG_BYTES);
        packet[0] = 0x40 | (NUMBER_BYTES as u8 - 1);
        let end = (number as u16).to_be_bytes();
        packet[NUMBER_AT..HEADER_BYTES].copy_from_slice(&end);
        packet
    };
    (0..place.batch).map(packet).collect()
}

/// Sealed packets, or what opening gives.
fn made(
    place: Place,
    backend: &Arc<dyn Backend>,
    work: Work,
    from: &[Vec<u8>],
) -> Result<Vec<Vec<u8>>, AloneError> {
    let key = backend.key(Algorithm::Packets(place.suite), &material(place))?;
    let bytes = match work {
        Work::Open => from[0].len() - TAG_BYTES,
        _ => from[0].len() + TAG_BYTES,
    };
    let mut to = vec![vec![0; bytes]; from.len()];
    let mut all: Vec<_> = from
        .iter()
        .zip(&mut to)
        .enumerate()
        .map(|(number, (from, to))| slices(&*key, work, number, from, to))
        .collect();
    process_packets(&**backend, place.suite, work.operation(), &mut all);
    match all.iter().find(|one| one.status != Status::Ok) {
        Some(failed) => Err(AloneError::Status(failed.status)),
        None => Ok(to),
    }
}

fn slices<'b>(
    key: &'b dyn Key,
    work: Work,
    number: usize,
    source: &'b [u8],
    destination: &'b mut [u8],
) -> PacketSlices<'b> {
    PacketSlices {
        key,
        place: PacketPlace {
            // A packet that is opened is the next that is expected.
            number: number as u64,
            number_at: NUMBER_AT as u16,
            phase: (work == Work::Open).then_some(false),
        },
        source,
        destination,
        status: Status::Cancelled,
    }
}

/// A batch by a back-end, again and again.
struct Batch {
    place: Place,
    backend: Arc<dyn Backend>,
    key: Box<dyn Key>,
    from: Memory,
    to: Memory,
}

impl Batch {
    fn new(place: Place, backend: Arc<dyn Backend>) -> Result<Self, AloneError> {
        let plain = plain(place);
        let mut from = Memory::new(place);
        match place.work {
            Work::Open => from.fill(&made(place, &backend, Work::Seal, &plain)?),
            _ => from.fill(&plain),
        }
        Ok(Self {
            key: backend.key(Algorithm::Packets(place.suite), &material(place))?,
            place,
            backend,
            from,
            to: Memory::new(place),
        })
    }

    fn pass(&mut self) -> Result<f64, AloneError> {
        let place = self.place;
        let open = place.bytes - TAG_BYTES;
        let (from, to) = match place.work {
            Work::Open => (place.bytes, open),
            _ => (open, place.bytes),
        };
        let pairs = self.from.packets(from).zip(self.to.packets(to));
        let mut all: Vec<_> = pairs
            .enumerate()
            .map(|(number, (from, to))| slices(&*self.key, place.work, number, from, to))
            .collect();
        // A batch is much shorter than a list of it, which a program keeps.
        let passes = 64;
        for _ in 0..passes {
            process_packets(
                &*self.backend,
                place.suite,
                place.work.operation(),
                &mut all,
            );
        }
        match all.iter().find(|one| one.status != Status::Ok) {
            Some(failed) => Err(AloneError::Status(failed.status)),
            None => Ok((passes * place.batch) as f64),
        }
    }
}

/// `ring`, as QUIC stacks call it: in place, each packet sealed and then masked.
struct Ring {
    place: Place,
    key: LessSafeKey,
    header: quic::HeaderProtectionKey,
    iv: [u8; 12],
    memory: Memory,
}

impl Ring {
    fn new(place: Place) -> Result<Self, AloneError> {
        let refused = |_| AloneError::Refused("ring");
        let algorithm = match place.suite {
            crypto::Packets::Aes128Gcm => &ring::aead::AES_128_GCM,
            crypto::Packets::Aes256Gcm => &ring::aead::AES_256_GCM,
            crypto::Packets::ChaCha20Poly1305 => &ring::aead::CHACHA20_POLY1305,
        };
        let material = material(place);
        let (_, payload, iv) = parts(place, &material);
        let key = UnboundKey::new(algorithm, payload).map_err(refused)?;
        let mut memory = Memory::new(place);
        memory.fill(&plain(place));
        Ok(Self {
            place,
            key: LessSafeKey::new(key),
            header: ring_header(place)?,
            iv,
            memory,
        })
    }

    fn pass(&mut self) -> Result<f64, AloneError> {
        let refused = |_| AloneError::Refused("ring");
        for (number, packet) in self.memory.packets(self.place.bytes).enumerate() {
            let mut nonce = self.iv;
            for (byte, of_number) in nonce[4..].iter_mut().zip((number as u64).to_be_bytes()) {
                *byte ^= of_number;
            }
            let (header, rest) = packet.split_at_mut(HEADER_BYTES);
            let (text, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
            let nonce = Nonce::assume_unique_for_key(nonce);
            let sealed = self
                .key
                .seal_in_place_separate_tag(nonce, Aad::from(&*header), text);
            tag.copy_from_slice(sealed.map_err(refused)?.as_ref());
            let sample = &packet[NUMBER_AT + 4..][..SAMPLE_BYTES];
            let mask = self.header.new_mask(sample).map_err(refused)?;
            packet[0] ^= mask[0] & 0x1f;
            for (byte, mask) in packet[NUMBER_AT..HEADER_BYTES].iter_mut().zip(&mask[1..]) {
                *byte ^= mask;
            }
        }
        Ok(self.place.batch as f64)
    }
}

fn ring_header(place: Place) -> Result<quic::HeaderProtectionKey, AloneError> {
    let algorithm = match place.suite {
        crypto::Packets::Aes128Gcm => &quic::AES_128,
        crypto::Packets::Aes256Gcm => &quic::AES_256,
        crypto::Packets::ChaCha20Poly1305 => &quic::CHACHA20,
    };
    let material = material(place);
    let (header, ..) = parts(place, &material);
    quic::HeaderProtectionKey::new(algorithm, header).map_err(|_| AloneError::Refused("ring"))
}

/// That the host has the arm, and that it makes the packets that AWS-LC makes.
pub(super) fn check(place: Place, arm: Arm) -> Result<(), Stopped> {
    if arm == Arm::IpsecMb {
        let missing = |error: crypto::Unavailable| Stopped::NotSupported {
            what: "ipsec-mb".to_owned(),
            remedy: error.to_string(),
        };
        crypto::ipsec_mb().map(drop).map_err(missing)?;
    }
    let lacks = |backend: &Arc<dyn Backend>| {
        let kind = Kind::new(Algorithm::Packets(place.suite), place.work.operation());
        !backend.supports(kind)
    };
    if arm == Arm::Kernels && named(arm.name()).is_ok_and(|own| lacks(&own)) {
        return Err(Stopped::NotSupported {
            what: "packets by kernels".to_owned(),
            remedy: "measure where the CPU, or the tier, has AES instructions".to_owned(),
        });
    }
    let check = || {
        if place.work == Work::Mask {
            return Ok(place.suite == crypto::Packets::ChaCha20Poly1305 || Masks::are_right(place)?);
        }
        let plain = plain(place);
        let expected = made(place, &named("aws-lc")?, Work::Seal, &plain)?;
        if arm == Arm::Ring {
            let mut ring = Ring::new(place)?;
            ring.pass()?;
            let own: Vec<_> = ring
                .memory
                .packets(place.bytes)
                .map(|one| one.to_vec())
                .collect();
            return Ok(own == expected);
        }
        let own = named(arm.name())?;
        let is_sealed = made(place, &own, Work::Seal, &plain)? == expected;
        Ok(is_sealed && made(place, &own, Work::Open, &expected)? == plain)
    };
    match check().map_err(|error: AloneError| Stopped::failed(error))? {
        true => Ok(()),
        false => Err(Stopped::failed(Wrong(arm.name()))),
    }
}

fn named(backend: &'static str) -> Result<Arc<dyn Backend>, AloneError> {
    crypto::by_name(backend).map_err(|_| AloneError::Refused(backend))
}

fn material(place: Place) -> KeyMaterial {
    KeyMaterial::take(&mut text(place.suite.key_bytes()))
}

/// Of a header, of a payload, and the IV.
fn parts(place: Place, material: &KeyMaterial) -> (&[u8], &[u8], [u8; 12]) {
    let (header, rest) = material.expose().split_at(place.suite.cipher_key_bytes());
    let (payload, iv) = rest.split_at(place.suite.cipher_key_bytes());
    let iv = iv.try_into().expect("keys have their length");
    (header, payload, iv)
}

/// Bytes that differ; nothing is secret here.
fn text(bytes: usize) -> Vec<u8> {
    let byte = |at: usize| at.wrapping_mul(167).wrapping_add(at / 509) as u8;
    (0..bytes).map(byte).collect()
}
