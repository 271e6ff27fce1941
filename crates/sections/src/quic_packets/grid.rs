//! What is measured: packets of a suite, a size and a batch, and who does them.

use crypto::{Operation, Packets};
use kit::spot::Spot;
use kit::words::size;

/// A cipher suite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suite(pub Packets);

impl Suite {
    const ALL: [Self; 3] = [
        Self(Packets::Aes128Gcm),
        Self(Packets::Aes256Gcm),
        Self(Packets::ChaCha20Poly1305),
    ];

    const fn name(self) -> &'static str {
        self.0.aead().name()
    }
}

kit::named!(Suite, "cipher suite");

/// What becomes of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    Seal,
    Open,
    /// The masks of their headers alone.
    Mask,
}

impl Work {
    pub(super) const ALL: [Self; 3] = [Self::Seal, Self::Open, Self::Mask];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Seal => "seal",
            Self::Open => "open",
            Self::Mask => "mask",
        }
    }

    pub(super) const fn operation(self) -> Operation {
        match self {
            Self::Seal | Self::Mask => Operation::Encrypt,
            Self::Open => Operation::Decrypt,
        }
    }
}

kit::named!(Work, "work");

/// Who does it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arm {
    /// Ours: texts, tags and masks of a batch together.
    Kernels,
    /// A packet after the other, a mask each.
    AwsLc,
    IpsecMb,
    Ring,
}

use Arm::{AwsLc, IpsecMb, Kernels, Ring};

impl Arm {
    pub(super) const ALL: [Self; 4] = [Kernels, AwsLc, IpsecMb, Ring];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Kernels => "kernels",
            AwsLc => "aws-lc",
            IpsecMb => "ipsec-mb",
            Ring => "ring",
        }
    }
}

/// Which packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub(super) suite: Packets,
    pub(super) work: Work,
    /// Of a UDP payload; of a mask a sample's 16.
    pub(super) bytes: usize,
    pub(super) batch: usize,
}

impl Place {
    /// Our kernels have AES only; what `ring` opens it destroys, so that it would have to
    /// copy each packet first; and masks in batches are those of kernels alone.
    pub(super) fn arms(self) -> impl Iterator<Item = Arm> {
        Arm::ALL.into_iter().filter(move |arm| match arm {
            Kernels => self.suite != Packets::ChaCha20Poly1305,
            Ring => self.work != Work::Open,
            AwsLc | IpsecMb => self.work != Work::Mask,
        })
    }

    /// What kernels should reach of it.
    pub(super) fn target(self, reference: Arm) -> Option<f64> {
        let is_full = self.batch == 32;
        match (self.work, reference, self.bytes) {
            (Work::Mask, Ring, _) if self.batch == 64 => Some(10.0),
            (Work::Seal, Ring, 1200) if is_full => Some(1.8),
            (Work::Seal | Work::Open, IpsecMb, 1200) if is_full => Some(1.0),
            _ => None,
        }
    }

    /// First what claims rest on.
    pub(super) fn rank(self) -> u8 {
        let is_claim = Arm::ALL.into_iter().any(|arm| self.target(arm).is_some());
        let is_first = self.suite == Packets::Aes128Gcm;
        u8::from(!is_first) + 2 * u8::from(!is_claim)
    }

    pub(super) fn spot(self, arm: Arm) -> Spot {
        let batch = match self.batch {
            1 => "one at a time".to_owned(),
            many => format!("batch {many}"),
        };
        Spot::new()
            .named("suite", Suite(self.suite))
            .named("work", self.work)
            .with("packet_bytes", self.bytes as u64, size(self.bytes))
            .with("batch", self.batch as u64, batch)
            .named("arm", arm.name())
    }
}
