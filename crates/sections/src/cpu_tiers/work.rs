//! What is measured under each tier, and the process that does it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use cpu::{Numbers, Vectors};
use crypto::{Algorithm, Backend, Kind, Operation, RawLoop, SectorMode, Workload};
use disk::{Iv, SectorCipher, Spec};
use kit::words::{size, what};
use probe::tier;

/// Bytes of one run of sectors: with what else is touched within any L2.
pub(super) const RUN_BYTES: usize = 128 << 10;

/// One kind of work; its text is what a worker is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// So many requests at a time, of so many bytes.
    Crypto {
        kind: Kind,
        block_bytes: usize,
        depth: usize,
    },
    /// Sectors with the longest key of their mode.
    Sectors {
        mode: SectorMode,
        sector_bytes: usize,
        encrypt: bool,
    },
    Vector(Numbers),
}

impl Work {
    /// Input bytes of a request; none where they say nothing.
    pub(super) fn bytes(self) -> Option<usize> {
        match self {
            Self::Crypto { kind, .. } if kind.algorithm.is_public_key() => None,
            Self::Crypto { block_bytes, .. } => Some(block_bytes),
            Self::Sectors { sector_bytes, .. } => Some(sector_bytes),
            Self::Vector(_) => None,
        }
    }

    /// Whether a process takes long to make its key.
    pub(super) fn has_new_key(self) -> bool {
        matches!(self, Self::Crypto { kind, .. } if matches!(kind.algorithm, Algorithm::Rsa(..)))
    }

    /// Bytes that it works on again and again.
    pub(super) fn footprint_bytes(self) -> usize {
        match self {
            Self::Crypto {
                block_bytes, depth, ..
            } => block_bytes * depth,
            Self::Sectors { .. } => RUN_BYTES,
            Self::Vector(_) => 0,
        }
    }

    /// As people say it where its size goes without saying.
    pub(super) fn short(self) -> String {
        let words = self.words();
        words.split(',').next().unwrap_or_default().to_owned()
    }

    /// As people say it.
    pub(super) fn words(self) -> String {
        match self {
            Self::Crypto { kind, .. } if kind.algorithm.is_public_key() => what(kind),
            Self::Crypto {
                kind, block_bytes, ..
            } => {
                format!("{}, {}", what(kind), size(block_bytes))
            }
            Self::Sectors {
                mode,
                sector_bytes,
                encrypt,
            } => {
                let way = if encrypt { "write" } else { "read" };
                format!("disk {mode} {way}, {}", size(sector_bytes))
            }
            Self::Vector(Numbers::Integers) => "16-bit integers".to_owned(),
            Self::Vector(Numbers::Floats) => "32-bit floats".to_owned(),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Crypto {
                kind,
                block_bytes,
                depth,
            } => {
                let Kind {
                    algorithm,
                    operation,
                    ..
                } = kind;
                write!(f, "crypto {algorithm} {operation} {block_bytes} {depth}")
            }
            Self::Sectors {
                mode,
                sector_bytes,
                encrypt,
            } => {
                write!(f, "sectors {mode} {sector_bytes} {encrypt}")
            }
            Self::Vector(numbers) => write!(f, "vector {}", numbers == Numbers::Floats),
        }
    }
}

impl FromStr for Work {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        fn part<T: FromStr>(text: &str) -> Result<T, String> {
            text.parse()
                .map_err(|_| format!("'{text}' is not what a worker is asked for"))
        }
        let parts: Vec<_> = text.split(' ').collect();
        Ok(match parts[..] {
            ["crypto", algorithm, operation, bytes, depth] => Self::Crypto {
                kind: Kind::new(part::<Algorithm>(algorithm)?, part::<Operation>(operation)?),
                block_bytes: part(bytes)?,
                depth: part(depth)?,
            },
            ["sectors", mode, bytes, encrypt] => Self::Sectors {
                mode: part(mode)?,
                sector_bytes: part(bytes)?,
                encrypt: part(encrypt)?,
            },
            ["vector", "true"] => Self::Vector(Numbers::Floats),
            ["vector", "false"] => Self::Vector(Numbers::Integers),
            _ => return Err(format!("'{text}' is not what a worker is asked for")),
        })
    }
}

/// Does one request or several; how many.
type Loop = Box<dyn FnMut() -> Result<f64, String>>;

/// Answers a section that has started this process under a tier.
///
/// # Errors
/// From standard input and output.
pub fn serve() -> std::io::Result<()> {
    let mut made: Vec<(String, Loop)> = Vec::new();
    kit::apart::serve(|(work, backend): &(String, String), _: &[usize]| {
        let at = match made.iter().position(|(own, _)| own == work) {
            Some(at) => at,
            None => {
                made.push((work.clone(), prepared(work.parse()?, backend)?));
                made.len() - 1
            }
        };
        made[at].1()
    })
}

fn prepared(work: Work, backend: &str) -> Result<Loop, String> {
    match work {
        Work::Crypto {
            kind,
            block_bytes,
            depth,
        } => {
            let backend = probe::calibration::backend(backend).map_err(|one| one.to_string())?;
            crypto(&backend, kind, block_bytes, depth)
        }
        Work::Sectors {
            mode,
            sector_bytes,
            encrypt,
        } => {
            let cipher = cipher(mode, sector_bytes);
            let mut run = vec![0_u8; RUN_BYTES];
            Ok(Box::new(move || {
                match encrypt {
                    true => cipher.encrypt(0, &mut run),
                    false => cipher.decrypt(0, &mut run),
                }
                // Few runs are done in a trial without AES-NI.
                Ok((RUN_BYTES / sector_bytes) as f64)
            }))
        }
        Work::Vector(numbers) => {
            let tier = tier::in_force().map(|own| own.choice.reached());
            let vectors = tier.and_then(|tier| Vectors::new(numbers, tier));
            let mut vectors = vectors.ok_or("this process has no tier")?;
            Ok(Box::new(move || Ok(vectors.pass() as f64)))
        }
    }
}

fn crypto(
    backend: &Arc<dyn Backend>,
    kind: Kind,
    block_bytes: usize,
    depth: usize,
) -> Result<Loop, String> {
    let workload = Workload::new(backend, kind, block_bytes).map_err(|one| one.to_string())?;
    let raw = RawLoop::new(Arc::clone(backend), &workload, depth);
    let mut raw = raw.map_err(|one| one.to_string())?;
    Ok(Box::new(move || match raw.pass() {
        Ok(requests) => Ok(requests as f64),
        Err(status) => Err(format!("the back-end ended a request with {status:?}")),
    }))
}

/// As `cryptsetup` makes one, with a key of which every byte differs.
fn cipher(mode: SectorMode, sector_bytes: usize) -> SectorCipher {
    let iv = if mode == SectorMode::Ecb {
        Iv::Null
    } else {
        Iv::Plain64
    };
    let key: Vec<_> = (0..mode.key_bytes()[2] as u8).collect();
    SectorCipher::new(Spec { mode, iv }, &key, sector_bytes).expect("a length that the mode has")
}
