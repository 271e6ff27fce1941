//! What is measured: ciphers with their keys, sectors and directions, and the ways.

use std::fmt;
use std::str::FromStr;

use crypto::{Kind, Operation};
use disk::{Iv, Mode, Spec, SpecError};
use kit::config::choices::Direction;
use kit::config::value::Choice;
use kit::spot::Spot;
use kit::words::size;

/// A cipher of dm-crypt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cipher(pub Spec);

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Cipher {
    type Err = SpecError;

    fn from_str(name: &str) -> Result<Self, SpecError> {
        name.parse().map(Self)
    }
}

impl Choice for Cipher {
    fn known() -> Vec<String> {
        let of = |mode| Iv::ALL.map(|iv| Spec { mode, iv }.to_string());
        Mode::ALL.into_iter().flat_map(of).collect()
    }

    fn described() -> Vec<String> {
        let modes = Mode::ALL.map(Mode::name).join(", ");
        vec![format!(
            "aes-MODE-IV with MODE {modes} and IV {}",
            Iv::ALL.map(Iv::name).join(", ")
        )]
    }
}

/// A way to do it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arm {
    /// Ours, over a run of sectors.
    Run,
    /// The same mode in AWS-LC over one long message: of CBC encryption a single stream.
    Bulk,
    /// The same in ipsec-mb, eight long messages at once.
    BulkIpsecMb,
    /// One call of AWS-LC a sector, the IVs being there already.
    Call,
    /// Where AWS-LC has no such mode, what a program would write: AES of AWS-LC a block
    /// at a time, tweaks made as Linux makes them, one addition a block.
    Block,
    /// AES rounds on registers: no memory, no mode.
    Ceiling,
}

use Arm::{Block, Bulk, BulkIpsecMb, Call, Ceiling, Run};

impl Arm {
    /// What [`Run`] is compared with.
    pub(super) const REFERENCES: [Self; 5] = [Bulk, BulkIpsecMb, Call, Block, Ceiling];

    /// As points have it, and for people.
    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Run => ("run", "runs"),
            Bulk => ("bulk", "AWS-LC in bulk"),
            BulkIpsecMb => ("bulk-ipsec-mb", "ipsec-mb in bulk"),
            Call => ("call", "a call a sector"),
            Block => ("block", "a block at a time"),
            Ceiling => ("ceiling", "AES ceiling"),
        }
    }

    pub(super) const fn label(self) -> &'static str {
        self.texts().1
    }
}

/// What sectors are encrypted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub(super) spec: Spec,
    pub(super) key_bits: usize,
    pub(super) sector_bytes: usize,
    pub(super) direction: Direction,
}

impl Place {
    pub(super) fn is_write(&self) -> bool {
        self.direction == Direction::Write
    }

    /// Of its AES key.
    pub(super) fn aes_bits(&self) -> usize {
        match self.spec.mode {
            Mode::Xts => self.key_bits / 2,
            Mode::Lrw => self.key_bits - 128,
            _ => self.key_bits,
        }
    }

    /// The same of libraries, where they have it.
    pub(super) fn kind(&self) -> Option<Kind> {
        // AES-128-XTS AWS-LC lacks.
        let is_there = self.spec.mode != Mode::Xts || self.key_bits == 512;
        let name = format!("aes-{}-{}", self.aes_bits(), self.spec.mode.name());
        let algorithm = name.parse().ok().filter(|_| is_there)?;
        let operation = match self.direction {
            Direction::Write => Operation::Encrypt,
            Direction::Read => Operation::Decrypt,
        };
        Some(Kind::new(algorithm, operation))
    }

    pub(super) fn arms(&self) -> Vec<Arm> {
        match (self.kind(), self.spec.mode) {
            (None, _) => vec![Run, Block, Ceiling],
            (_, Mode::Xts) => vec![Run, Bulk, Call, Ceiling],
            _ => vec![Run, Bulk, BulkIpsecMb, Call, Ceiling],
        }
    }

    /// What a run should reach of it.
    pub(super) fn target(&self, reference: Arm) -> Option<f64> {
        let is_large = self.sector_bytes == 4096;
        match (self.spec.mode, reference) {
            (Mode::Xts, Bulk) => Some(0.9),
            (Mode::Ctr, Bulk | BulkIpsecMb) if is_large => Some(0.9),
            (Mode::Xts, Call) if self.sector_bytes == 512 => Some(1.8),
            (Mode::Cbc, Bulk) if self.is_write() => Some(5.0),
            (Mode::Lrw, Block) => Some(4.0),
            _ => None,
        }
    }

    /// First what claims rest on, last the shorter keys.
    pub(super) fn rank(&self, arm: Arm) -> u8 {
        let is_claim = |reference| self.target(reference).is_some();
        let own = match arm {
            Run => self.arms().into_iter().any(is_claim),
            _ => is_claim(arm),
        };
        let late = if self.aes_bits() == 256 { 0 } else { 3 };
        late + if own { 0 } else { 1 + u8::from(arm == Ceiling) }
    }

    pub(super) fn spot(&self, arm: Arm) -> Spot {
        let (bits, bytes) = (self.key_bits, self.sector_bytes);
        let (name, label) = arm.texts();
        Spot::new()
            .named("cipher", self.spec)
            .with("key_bits", bits as u64, format!("{bits} bits"))
            .with("sector_bytes", bytes as u64, size(bytes))
            .named("direction", self.direction)
            .with("arm", name, label)
    }
}
