//! A load on a device: a number of requests always in flight.

use std::path::Path;
use std::time::{Duration, Instant};

use crypto::{Algorithm, Kind, Operation};
use wire::virtio_crypto as virtio;
use wire::virtio_crypto::{Header, Opcode, Status};

use super::{Driver, DriverError, FrontConfig, FrontEnd, FrontError, Interrupts, Manner, Request};
use super::{SessionSpec, driver};

/// What is asked, and how the answers come.
#[derive(Clone, Copy, Debug)]
pub struct LoadConfig {
    /// AES-CBC, SHA or HMAC.
    pub kind: Kind,
    pub block_bytes: usize,
    /// Requests in flight: 1 to 1024.
    pub depth: usize,
    pub interrupts: Interrupts,
    /// Whether the driver asks to be told only when three quarters of what is in flight
    /// are done, as Linux's `virtqueue_enable_cb_delayed` does: moderation from inside
    /// the guest.
    pub delays: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{} {} is not a service that this front-end asks for", .0.algorithm, .0.operation)]
    Kind(Kind),
    #[error("{depth} requests in flight: give 1 to {}", driver::SIZE_MAX)]
    Depth { depth: usize },
    #[error("a request ended as {0:?}")]
    Status(Option<Status>),
    #[error("no request ended within {0:?}")]
    Silent(Duration),
    #[error(transparent)]
    Front(#[from] FrontError),
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadCounts {
    pub requests: u64,
    pub interrupts: u64,
    pub kicks: u64,
    pub seconds: f64,
}

/// Longest wait for one request.
const SILENT: Duration = Duration::from_secs(20);

/// Requests between two looks at the clock.
const LOOK: u64 = 256;

#[derive(Debug)]
pub struct Load {
    /// Keeps the connection.
    _front: FrontEnd,
    driver: Driver,
    config: LoadConfig,
    header: Header,
    source_at: usize,
    done: Vec<u64>,
}

impl Load {
    /// Connects, opens a session and fills the queue.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn start(socket: &Path, config: LoadConfig) -> Result<Self, LoadError> {
        let LoadConfig {
            kind,
            block_bytes,
            depth,
            ..
        } = config;
        if !(1..=usize::from(driver::SIZE_MAX)).contains(&depth) {
            return Err(LoadError::Depth { depth });
        }
        let (opcode, spec) = service(kind).ok_or(LoadError::Kind(kind))?;
        let mut front = FrontEnd::connect(
            socket,
            FrontConfig {
                manner: Manner::Strict,
                // No chain of a request is longer than its queue.
                queue_size: u16::try_from(depth.next_power_of_two().max(16)).expect("at most 1024"),
                data_bytes: depth * row(block_bytes),
                interrupts: config.interrupts,
                ..FrontConfig::default()
            },
        )?;
        let session = front.open_session(&spec)?;
        let destination = kind.destination_bytes(block_bytes).unwrap_or(block_bytes);
        let mut load = Self {
            driver: front.start(0)?,
            source_at: front.data_at(),
            _front: front,
            config,
            header: Header {
                opcode,
                session,
                iv_bytes: if kind.operation == Operation::Hash {
                    0
                } else {
                    16
                },
                source_bytes: block_bytes as u32,
                destination_bytes: destination as u32,
            },
            done: Vec::with_capacity(depth),
        };
        (0..depth as u64).try_for_each(|slot| load.submit(slot))?;
        load.driver.kick();
        Ok(load)
    }

    /// In place where the result is as long, else behind it.
    fn submit(&mut self, slot: u64) -> Result<(), LoadError> {
        let bytes = self.config.block_bytes;
        let at = self.source_at + slot as usize * row(bytes);
        let destination = self.header.destination_bytes as usize;
        let to = if destination == bytes { at } else { at + bytes };
        let request = Request {
            header: self.header,
            iv: [3; 16],
            source: &[(at, bytes)],
            destination: &[(to, destination)],
        };
        self.driver.submit(&request, slot)?;
        Ok(())
    }

    /// Keeps the queue full for that long, or as long as `go_on` says, which is asked
    /// now and then.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn run(
        &mut self,
        length: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<LoadCounts, LoadError> {
        let (interrupts, kicks) = (self.driver.interrupts(), self.driver.kicks());
        let (begin, mut requests, mut looked) = (Instant::now(), 0, 0);
        while requests < looked || (begin.elapsed() < length && go_on()) {
            if requests >= looked {
                looked = requests + LOOK.min(self.config.depth as u64);
            }
            requests += self.turn()?;
        }
        Ok(LoadCounts {
            requests,
            interrupts: self.driver.interrupts() - interrupts,
            kicks: self.driver.kicks() - kicks,
            seconds: begin.elapsed().as_secs_f64(),
        })
    }

    /// Waits for some, takes all that are done, and asks for as many.
    fn turn(&mut self) -> Result<u64, LoadError> {
        let more = match self.config.delays {
            true => self.driver.in_flight() * 3 / 4,
            false => 0,
        };
        if !self.driver.wait_for(more as u16, SILENT) {
            return Err(LoadError::Silent(SILENT));
        }
        let mut done = std::mem::take(&mut self.done);
        done.clear();
        let mut wrong = None;
        self.driver.reap(|end| {
            if end.status != Some(Status::Ok) {
                wrong = Some(end.status);
            }
            done.push(end.token);
        });
        if let Some(status) = wrong {
            return Err(LoadError::Status(status));
        }
        let submitted = done.iter().try_for_each(|slot| self.submit(*slot));
        self.driver.kick();
        let count = done.len() as u64;
        self.done = done;
        submitted.map(|()| count)
    }
}

/// A request's text and its digest, on cache lines of their own.
fn row(block_bytes: usize) -> usize {
    block_bytes.next_multiple_of(64) + 64
}

/// What asks for it, with a key that protects nothing.
fn service(kind: Kind) -> Option<(Opcode, SessionSpec<'static>)> {
    const KEY: [u8; 32] = [7; 32];
    let hash = |algorithm| (Opcode::Hash, SessionSpec::Hash { algorithm });
    let cipher = |bytes: usize| {
        let encrypts = kind.operation == Operation::Encrypt;
        let opcode = match encrypts {
            true => Opcode::CipherEncrypt,
            false => Opcode::CipherDecrypt,
        };
        let key = &KEY[..bytes];
        (opcode, SessionSpec::Cipher { encrypts, key })
    };
    Some(match kind.algorithm {
        Algorithm::Aes128Cbc => cipher(16),
        Algorithm::Aes192Cbc => cipher(24),
        Algorithm::Aes256Cbc => cipher(32),
        Algorithm::Sha1 => hash(virtio::HASH_SHA1),
        Algorithm::Sha256 => hash(virtio::HASH_SHA256),
        Algorithm::Sha384 => hash(virtio::HASH_SHA384),
        Algorithm::Sha512 => hash(virtio::HASH_SHA512),
        Algorithm::HmacSha256 => {
            let algorithm = virtio::MAC_HMAC_SHA256;
            (
                Opcode::Mac,
                SessionSpec::Mac {
                    algorithm,
                    key: &KEY,
                },
            )
        }
        _ => return None,
    })
}

/// Whether a load of that kind can be asked for.
pub fn takes(kind: Kind) -> bool {
    service(kind).is_some()
}
