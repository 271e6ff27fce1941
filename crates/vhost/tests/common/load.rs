//! Requests at depth, each known and checked at its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use crypto::{Algorithm, Operation};
use lockgate_vhost::front::{
    Done, Driver, FrontEnd, FrontError, Request, SessionSpec, SharedMemory,
};
use wire::virtio_crypto::Status;

use super::{LONG, cipher, expected, pattern};

const TEXTS: usize = 3;
const IV: [u8; 16] = [5; 16];

/// What may become of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Apart,
    InPlace,
}

pub struct Load {
    pub driver: Driver,
    memory: Arc<SharedMemory>,
    base: usize,
    len: usize,
    depth: usize,
    pub session: u64,
    /// Text and its result.
    texts: Vec<(Vec<u8>, Vec<u8>)>,
    /// Where each in flight lies, by token.
    sent: BTreeMap<u64, (usize, Place)>,
    free: Vec<usize>,
    next: u64,
    pub right: u64,
    /// Ended with an error, by status.
    pub failed: BTreeMap<(u8, bool), u64>,
}

const KEY_SEED: u64 = 1;

pub fn key() -> Vec<u8> {
    pattern(16, KEY_SEED)
}

/// Bytes of data that a load needs.
pub const fn data_bytes(len: usize, depth: usize) -> usize {
    2 * len * depth
}

impl Load {
    pub fn new(front: &mut FrontEnd, driver: Driver, len: usize, depth: usize) -> Self {
        let session = open(front, 0);
        Self::with(front, driver, len, depth, session)
    }

    pub fn with(front: &FrontEnd, driver: Driver, len: usize, depth: usize, session: u64) -> Self {
        let text = |seed| {
            let text = pattern(len, seed as u64 + 10);
            let operation = Operation::Encrypt;
            let right = expected(Algorithm::Aes128Cbc, operation, &key(), IV, &text);
            (text, right)
        };
        Self {
            driver,
            memory: Arc::clone(front.memory()),
            base: front.data_at(),
            len,
            depth,
            session,
            texts: (0..TEXTS).map(text).collect(),
            sent: BTreeMap::new(),
            free: (0..depth).collect(),
            next: 0,
            right: 0,
            failed: BTreeMap::new(),
        }
    }

    /// Submits up to `count` more, as many as fit.
    pub fn fill(&mut self, count: usize) {
        for _ in 0..count.min(self.depth - self.driver.in_flight()) {
            let Some(slot) = self.free.pop() else { break };
            let token = self.next;
            self.next += 1;
            let place = if token.is_multiple_of(2) {
                Place::Apart
            } else {
                Place::InPlace
            };
            let from = self.base + slot * 2 * self.len;
            let to = if place == Place::Apart {
                from + self.len
            } else {
                from
            };
            // What a request before left there is no result of this one.
            self.memory.write(from + self.len, &vec![0xee; self.len]);
            self.memory
                .write(from, &self.texts[token as usize % TEXTS].0);
            let request = Request {
                header: cipher(self.session, true, self.len),
                iv: IV,
                source: &[(from, self.len)],
                destination: &[(to, self.len)],
            };
            self.driver.submit(&request, token).unwrap();
            self.sent.insert(token, (to, place));
        }
        self.driver.kick();
    }

    /// Takes what is done, and looks whether it is right or failed, and nothing else.
    pub fn reap(&mut self) {
        let Self {
            driver,
            memory,
            len,
            texts,
            sent,
            free,
            right,
            failed,
            base,
            ..
        } = self;
        driver.reap(
            |Done {
                 token,
                 status,
                 written,
             }| {
                let (to, place) = sent.remove(&token).expect("a request ends once");
                free.push((to - *base) / (2 * *len));
                let status = status.unwrap_or_else(|| panic!("{token} was forgotten"));
                if status == Status::Ok {
                    assert_eq!(written as usize, *len + 1);
                    let mut got = vec![0; *len];
                    memory.read(to, &mut got);
                    assert!(
                        got == texts[token as usize % TEXTS].1,
                        "{token} is wrong: {place:?}"
                    );
                    *right += 1;
                } else {
                    let is_in_place = place == Place::InPlace;
                    *failed.entry((status as u8, is_in_place)).or_default() += 1;
                }
            },
        );
    }

    pub fn turn(&mut self) {
        self.fill(usize::MAX);
        assert!(self.driver.wait(LONG), "{} hang", self.driver.in_flight());
        self.reap();
    }

    pub fn finish(&mut self) {
        while self.driver.in_flight() > 0 {
            assert!(self.driver.wait(LONG), "{} hang", self.driver.in_flight());
            self.reap();
        }
        assert!(self.sent.is_empty());
    }

    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Every request that was submitted has ended, once.
    pub fn is_complete(&self) {
        assert_eq!(self.right + self.failures(), self.next, "{:?}", self.failed);
    }
}

/// The load's session, by the number that it had.
pub fn open(front: &mut FrontEnd, former: u64) -> u64 {
    try_open(front, former).unwrap()
}

pub fn try_open(front: &mut FrontEnd, former: u64) -> Result<u64, FrontError> {
    let spec = SessionSpec::Cipher {
        encrypts: true,
        key: &key(),
    };
    front.open_session_again(&spec, former)
}
