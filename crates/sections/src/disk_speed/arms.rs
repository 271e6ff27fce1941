//! What each arm does, and the proof that it does the same as another.

use std::sync::Arc;

use crypto::{
    Backend, BlockCipher, Ceiling, Data, KeyMaterial, RawLoop, Slices, Status, Workload,
    process_slices,
};
use disk::{Mode, SectorCipher, Spec};
use kit::load::alone::{Alone, AloneError, Slice, alone};
use kit::prelude::Stopped;

use super::{Arm, Place};

/// One message in bulk.
pub(super) const BULK_BYTES: usize = 64 << 10;
/// Messages that ipsec-mb has at once.
const MESSAGES: usize = 8;
/// Disks are read and written in whole pages.
const PAGE_BYTES: usize = 4096;

#[derive(Debug, thiserror::Error)]
#[error("{0}: '{1}' gives what nothing else gives; please report this")]
struct Wrong(Spec, &'static str);

type Step = Box<dyn FnMut() -> Result<f64, AloneError>>;
type Sectors = Box<dyn FnMut(&mut [u8]) -> Result<(), AloneError>>;

/// An arm at a place, with the bytes that it works on together.
#[derive(Clone, Copy)]
pub(super) struct Work {
    place: Place,
    arm: Arm,
    run_bytes: usize,
}

impl Work {
    pub fn new(place: Place, arm: Arm, run_bytes: usize) -> Self {
        match arm {
            // A message is a long sector.
            Arm::Bulk | Arm::BulkIpsecMb => Self {
                place: Place {
                    sector_bytes: BULK_BYTES,
                    ..place
                },
                arm,
                run_bytes: BULK_BYTES,
            },
            _ => Self {
                place,
                arm,
                run_bytes,
            },
        }
    }

    pub fn in_flight_bytes(&self) -> usize {
        match self.arm {
            Arm::Ceiling => 0,
            Arm::BulkIpsecMb => MESSAGES * self.run_bytes,
            _ => self.run_bytes,
        }
    }

    /// A trial whose requests are bytes.
    pub fn trial(&self, cpu: usize, slice: Slice<'_>) -> Result<Alone, Stopped> {
        alone(cpu, slice, || self.step()).map_err(Stopped::failed)
    }

    fn step(&self) -> Result<Step, AloneError> {
        let bytes = self.run_bytes;
        match self.arm {
            Arm::Ceiling => {
                let mut ceiling = self.ceiling().ok_or(AloneError::Refused("the CPU"))?;
                Ok(Box::new(move || Ok(ceiling.pass() as f64)))
            }
            Arm::BulkIpsecMb => {
                let (backend, kind) = (named(self.backend_name())?, self.kind());
                let workload = Workload::with_key(&backend, kind, bytes, self.material());
                let workload = workload.map_err(|_| AloneError::Refused("ipsec-mb"))?;
                let mut raw = RawLoop::new(backend, &workload, MESSAGES)?;
                Ok(Box::new(move || match raw.pass() {
                    Ok(done) => Ok((done * bytes) as f64),
                    Err(status) => Err(AloneError::Status(status)),
                }))
            }
            _ => {
                let (mut memory, mut sectors) =
                    (text(bytes + PAGE_BYTES), self.sectors(self.backend_name())?);
                let begin = memory.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
                Ok(Box::new(move || {
                    sectors(&mut memory[begin..][..bytes])?;
                    Ok(bytes as f64)
                }))
            }
        }
    }

    fn ceiling(&self) -> Option<Ceiling> {
        Ceiling::new(self.place.aes_bits() / 32 + 6)
    }

    fn backend_name(&self) -> &'static str {
        match self.arm {
            Arm::BulkIpsecMb => "ipsec-mb",
            _ => "aws-lc",
        }
    }

    fn kind(&self) -> crypto::Kind {
        self.place.kind().expect("an arm of libraries")
    }

    fn key(&self) -> Vec<u8> {
        text(self.place.key_bits / 8)
    }

    fn material(&self) -> KeyMaterial {
        KeyMaterial::take(&mut self.key())
    }

    /// What does a run, by that library if by one.
    fn sectors(&self, library: &'static str) -> Result<Sectors, AloneError> {
        let (is_write, bytes) = (self.place.is_write(), self.place.sector_bytes);
        // Of a long message the first IV is all that is needed.
        let cipher = SectorCipher::new(self.place.spec, &self.key(), bytes.min(PAGE_BYTES))?;
        let numbers = (0..self.run_bytes / disk::SECTOR_BYTES).step_by(bytes / disk::SECTOR_BYTES);
        let ivs: Vec<_> = numbers.map(|number| cipher.iv(number as u64)).collect();
        match self.arm {
            Arm::Run => Ok(Box::new(move |run| {
                match is_write {
                    true => cipher.encrypt(0, run),
                    false => cipher.decrypt(0, run),
                }
                Ok(())
            })),
            Arm::Block => {
                let blocks = Blocks::new(&self.place, &self.key());
                let blocks = blocks.ok_or(AloneError::Refused("AWS-LC"))?;
                Ok(Box::new(move |run| {
                    let sectors = run.chunks_exact_mut(bytes);
                    sectors
                        .zip(&ivs)
                        .for_each(|(sector, iv)| blocks.sector(*iv, sector));
                    Ok(())
                }))
            }
            _ => {
                let (backend, kind) = (named(library)?, self.kind());
                let key = backend.key(kind.algorithm, &self.material())?;
                let call = move |sector: &mut [u8], iv| {
                    let data = Slices::plain(Data::InPlace(sector));
                    match process_slices(&*backend, &*key, kind, Slices { iv, ..data }) {
                        Status::Ok => Ok(()),
                        status => Err(AloneError::Status(status)),
                    }
                };
                Ok(Box::new(move |run| {
                    let mut sectors = run.chunks_exact_mut(bytes).zip(&ivs);
                    sectors.try_for_each(|(sector, iv)| call(sector, *iv))
                }))
            }
        }
    }

    /// That the host has the arm, and that it makes of a text what another makes of it.
    pub fn check(&self) -> Result<(), Stopped> {
        let lacks = |what: &str, remedy: String| Stopped::NotSupported {
            what: what.to_owned(),
            remedy,
        };
        match self.arm {
            Arm::Ceiling if self.ceiling().is_none() => {
                let remedy = "measure where the CPU, or the tier, has them";
                return Err(lacks("AES instructions", remedy.to_owned()));
            }
            Arm::Ceiling => return Ok(()),
            Arm::BulkIpsecMb => {
                let missing = |error: crypto::Unavailable| lacks("ipsec-mb", error.to_string());
                crypto::ipsec_mb().map(drop).map_err(missing)?;
            }
            _ => {}
        }
        let (other, library) = match (self.arm, self.place.kind()) {
            (Arm::Bulk | Arm::BulkIpsecMb, _) => (self.arm, "kernels"),
            (Arm::Run, Some(_)) => (Arm::Call, self.backend_name()),
            (Arm::Run, None) => (Arm::Block, self.backend_name()),
            _ => (Arm::Run, self.backend_name()),
        };
        let made = |arm, library| {
            let mut run = text(self.run_bytes);
            Self { arm, ..*self }.sectors(library)?(&mut run).map(|()| run)
        };
        let [own, others] = [made(self.arm, self.backend_name()), made(other, library)];
        if own.map_err(Stopped::failed)? == others.map_err(Stopped::failed)? {
            return Ok(());
        }
        Err(Stopped::failed(Wrong(self.place.spec, self.arm.label())))
    }
}

fn named(library: &'static str) -> Result<Arc<dyn Backend>, AloneError> {
    crypto::by_name(library).map_err(|_| AloneError::Refused(library))
}

/// Bytes that differ; nothing is secret here.
fn text(bytes: usize) -> Vec<u8> {
    let byte = |at: usize| at.wrapping_mul(167).wrapping_add(at / 509) as u8;
    (0..bytes).map(byte).collect()
}

/// A mode that AWS-LC lacks, with its AES of one block.
struct Blocks {
    encrypt: bool,
    mode: Mode,
    cipher: BlockCipher,
    /// Of XTS: its second key.
    tweaks: Option<BlockCipher>,
    /// Of LRW: its second key times 1, 3, 7, 15 …
    steps: [u128; 128],
}

impl Blocks {
    fn new(place: &Place, key: &[u8]) -> Option<Self> {
        let (first, second) = key.split_at(place.aes_bits() / 8);
        let mut own = Self {
            encrypt: place.is_write(),
            mode: place.spec.mode,
            cipher: BlockCipher::new(first)?,
            tweaks: BlockCipher::new(second),
            steps: [0; 128],
        };
        let second = second.first_chunk().copied().unwrap_or_default();
        let (mut power, mut sum) = (u128::from_be_bytes(second), 0);
        for step in &mut own.steps {
            sum ^= power;
            *step = sum;
            power = times_x(power);
        }
        Some(own)
    }

    fn sector(&self, iv: [u8; 16], sector: &mut [u8]) {
        match self.mode {
            Mode::Lrw => {
                let mut number = u128::from_be_bytes(iv);
                let mut mask = self.product(number);
                self.whiten(sector, || {
                    let now = mask.to_be();
                    mask ^= self.steps[number.trailing_ones() as usize & 127];
                    number = number.wrapping_add(1);
                    now
                });
            }
            Mode::Xts => {
                let tweaks = self.tweaks.as_ref().expect("a second key");
                let mut tweak = u128::from_le(tweaks.run(true, u128::from_ne_bytes(iv)));
                self.whiten(sector, || {
                    let now = tweak.to_le();
                    tweak = times_x(tweak);
                    now
                });
            }
            _ => self.pcbc(u128::from_ne_bytes(iv), sector),
        }
    }

    /// A block's number times the second key of LRW: what changes on the way from 0.
    fn product(&self, mut number: u128) -> u128 {
        let mut product = 0;
        while number > 0 {
            let bits = 127 - number.leading_zeros();
            product ^= self.steps[bits as usize];
            number ^= u128::MAX >> number.leading_zeros();
        }
        product
    }

    fn whiten(&self, sector: &mut [u8], mut mask: impl FnMut() -> u128) {
        for block in sector.as_chunks_mut().0 {
            let mask = mask();
            let text = u128::from_ne_bytes(*block) ^ mask;
            *block = (self.cipher.run(self.encrypt, text) ^ mask).to_ne_bytes();
        }
    }

    fn pcbc(&self, mut chained: u128, sector: &mut [u8]) {
        for block in sector.as_chunks_mut().0 {
            let before = u128::from_ne_bytes(*block);
            let after = match self.encrypt {
                true => self.cipher.run(true, before ^ chained),
                false => self.cipher.run(false, before) ^ chained,
            };
            chained = before ^ after;
            *block = after.to_ne_bytes();
        }
    }
}

fn times_x(block: u128) -> u128 {
    (block << 1) ^ (0x87 & (block >> 127).wrapping_neg())
}
