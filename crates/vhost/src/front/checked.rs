//! Requests at depth, each known and checked at its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crypto::{Algorithm, Data, KeyMaterial, Kind, Operation, Slices};
use wire::virtio_crypto::{Header, Opcode, Status};

use super::{Done, Driver, FrontEnd, FrontError, LoadError, Request, SessionSpec, SharedMemory};

const TEXTS: usize = 3;
const IV: [u8; 16] = [5; 16];
const KEY_SEED: u64 = 1;

/// Longest wait for one request.
const SILENT: Duration = Duration::from_secs(20);

/// The place where a request's result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Apart,
    InPlace,
}

#[derive(Debug)]
struct Sent {
    to: usize,
    place: Place,
    at: Instant,
}

/// A load of AES-128-CBC that compares results with a second library's.
#[derive(Debug)]
pub struct CheckedLoad {
    pub driver: Driver,
    pub session: u64,
    memory: Arc<SharedMemory>,
    base: usize,
    len: usize,
    depth: usize,
    /// One request in so many is compared; the others' status is looked at.
    every: u64,
    /// Text and its result.
    texts: Vec<(Vec<u8>, Vec<u8>)>,
    result: Vec<u8>,
    /// The requests in flight, by token.
    sent: BTreeMap<u64, Sent>,
    free: Vec<usize>,
    next: u64,
    /// Ended well, and wrongly.
    pub right: u64,
    pub wrong: Vec<String>,
    /// Ended with an error, by status and by whether it was in place.
    pub failed: BTreeMap<(u8, bool), u64>,
    longest: Duration,
}

impl CheckedLoad {
    /// Bytes of data that it needs.
    #[must_use]
    pub const fn data_bytes(len: usize, depth: usize) -> usize {
        2 * len * depth
    }

    /// The load's session, by the number that it had; 0 for a new one.
    ///
    /// # Errors
    /// [`FrontError`].
    pub fn open(front: &mut FrontEnd, former: u64) -> Result<u64, FrontError> {
        let spec = SessionSpec::Cipher {
            encrypts: true,
            key: &pattern(16, KEY_SEED),
        };
        front.open_session_again(&spec, former)
    }

    /// Begins with a new session; every request is compared.
    ///
    /// # Errors
    /// [`FrontError`].
    pub fn new(
        front: &mut FrontEnd,
        driver: Driver,
        len: usize,
        depth: usize,
    ) -> Result<Self, FrontError> {
        let session = Self::open(front, 0)?;
        Ok(Self::with(front, driver, len, depth, session))
    }

    /// Begins with that session.
    #[must_use]
    pub fn with(front: &FrontEnd, driver: Driver, len: usize, depth: usize, session: u64) -> Self {
        let key = pattern(16, KEY_SEED);
        let text = |seed| {
            let text = pattern(len, seed as u64 + 10);
            let right = expected(Algorithm::Aes128Cbc, Operation::Encrypt, &key, IV, &text);
            (text, right)
        };
        Self {
            driver,
            session,
            memory: Arc::clone(front.memory()),
            base: front.data_at(),
            len,
            depth,
            every: 1,
            texts: (0..TEXTS).map(text).collect(),
            result: vec![0; len],
            sent: BTreeMap::new(),
            free: (0..depth).collect(),
            next: 0,
            right: 0,
            wrong: Vec::new(),
            failed: BTreeMap::new(),
            longest: Duration::ZERO,
        }
    }

    /// One request of `every` is compared: a load that is measured.
    #[must_use]
    pub fn sampling(mut self, every: u64) -> Self {
        self.every = every.max(1);
        self
    }

    fn is_compared(&self, token: u64) -> bool {
        token.is_multiple_of(self.every)
    }

    /// Submits up to `count` more, as many as fit.
    pub fn fill(&mut self, count: usize) {
        for _ in 0..count.min(self.depth - self.driver.in_flight()) {
            let Some(slot) = self.free.pop() else { break };
            let token = self.next;
            self.next += 1;
            let from = self.base + slot * 2 * self.len;
            let place = match self.is_compared(token) && (token / self.every) % 2 == 1 {
                true => Place::InPlace,
                false => Place::Apart,
            };
            let to = match place {
                Place::Apart => from + self.len,
                Place::InPlace => from,
            };
            if self.is_compared(token) {
                // What a request before left there is no result of this one.
                self.result.fill(0xee);
                self.memory.write(from + self.len, &self.result);
                self.memory
                    .write(from, &self.texts[token as usize % TEXTS].0);
            }
            let request = Request {
                header: Header {
                    opcode: Opcode::CipherEncrypt,
                    session: self.session,
                    iv_bytes: 16,
                    source_bytes: self.len as u32,
                    destination_bytes: self.len as u32,
                },
                iv: IV,
                source: &[(from, self.len)],
                destination: &[(to, self.len)],
            };
            let submitted = self.driver.submit(&request, token);
            submitted.expect("the queue has room for the load's depth, and it is in few pieces");
            let at = Instant::now();
            self.sent.insert(token, Sent { to, place, at });
        }
        self.driver.kick();
    }

    /// Takes what is done, and looks whether it is right or failed, and nothing else.
    pub fn reap(&mut self) {
        let mut done = Vec::new();
        self.driver.reap(|one| done.push(one));
        let now = Instant::now();
        for one in done {
            self.take(one, now);
        }
    }

    fn take(&mut self, done: Done, now: Instant) {
        let token = done.token;
        let sent = self.sent.remove(&token);
        let Some(Sent { to, place, at }) = sent else {
            return self.wrong.push(format!("{token} ended twice"));
        };
        self.free.push((to - self.base) / (2 * self.len));
        self.longest = self.longest.max(now.saturating_duration_since(at));
        match done.status {
            None => self.wrong.push(format!("{token} was forgotten")),
            Some(Status::Ok) => {
                self.memory.read(to, &mut self.result);
                let text = &self.texts[token as usize % TEXTS];
                if done.written as usize != self.len + 1 {
                    let written = done.written;
                    self.wrong.push(format!("{token}: {written} bytes written"));
                } else if self.is_compared(token) && self.result != text.1 {
                    self.wrong.push(format!("{token} is wrong: {place:?}"));
                } else {
                    self.right += 1;
                }
            }
            Some(status) => {
                let is_in_place = place == Place::InPlace;
                *self.failed.entry((status as u8, is_in_place)).or_default() += 1;
            }
        }
    }

    /// Fills the queue, waits for some, and takes them.
    ///
    /// # Errors
    /// [`LoadError::Silent`].
    pub fn turn(&mut self) -> Result<(), LoadError> {
        self.fill(usize::MAX);
        self.wait()
    }

    fn wait(&mut self) -> Result<(), LoadError> {
        if !self.driver.wait(SILENT) {
            self.longest = self.longest.max(SILENT);
            return Err(LoadError::Silent(SILENT));
        }
        self.reap();
        Ok(())
    }

    /// Waits for all that is in flight.
    ///
    /// # Errors
    /// [`LoadError::Silent`].
    pub fn finish(&mut self) -> Result<(), LoadError> {
        while self.driver.in_flight() > 0 {
            self.wait()?;
        }
        Ok(())
    }

    /// Requests that ended with an error.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// The longest that a request took since this was asked last.
    pub fn take_longest(&mut self) -> Duration {
        std::mem::take(&mut self.longest)
    }

    /// # Panics
    /// Unless every request that was submitted has ended, once and rightly or as failed.
    pub fn is_complete(&self) {
        assert_eq!(self.wrong, [""; 0]);
        assert!(self.sent.is_empty());
        assert_eq!(self.right + self.failures(), self.next, "{:?}", self.failed);
    }
}

/// Bytes that differ from place to place.
#[must_use]
pub fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// The result of a second library.
///
/// # Panics
/// For what is no request: a caller's key and text are its own constants.
#[must_use]
pub fn expected(
    algorithm: Algorithm,
    operation: Operation,
    key: &[u8],
    iv: [u8; 16],
    source: &[u8],
) -> Vec<u8> {
    let portable = crypto::by_name("portable").expect("it is always there");
    let key = KeyMaterial::take(&mut key.to_vec());
    let key = portable.key(algorithm, &key).expect("a key of that kind");
    let kind = Kind::new(algorithm, operation);
    let bytes = kind.destination_bytes(source.len());
    let mut destination = vec![0; bytes.expect("a text of a length that there is")];
    let slices = Slices {
        iv,
        ..Slices::plain(Data::apart(source, &mut destination))
    };
    let status = crypto::process_slices(&*portable, &*key, kind, slices);
    assert_eq!(status, crypto::Status::Ok);
    destination
}
