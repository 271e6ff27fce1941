//! A guest that harms as it can: what its neighbours must bear.

use std::path::Path;
use std::time::Duration;

use wire::virtio_crypto::{Header, Opcode};

use super::driver::{DESCRIPTOR_BYTES, INDIRECT, NEXT, SIZE_MAX};
use super::{Driver, FrontConfig, FrontEnd, FrontError, Interrupts, Request, SessionSpec};
use crate::backend::REQUEST_BYTES_MAX;

/// What it does, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hostility {
    /// Requests of a session that there is not.
    WrongSession,
    /// Chains that lead to themselves.
    Endless,
    /// As many descriptors as a queue has, which come to nothing.
    Long,
    /// Tables that are none.
    NoTable,
    /// Kicks, and nothing to do.
    Kicks,
    /// Sessions that come and go.
    Sessions,
    /// As many sessions as it gets, then none.
    Keys,
    /// The largest requests, as many as the queue takes.
    Work,
}

impl Hostility {
    pub const ALL: [Self; 8] = [
        Self::WrongSession,
        Self::Endless,
        Self::Long,
        Self::NoTable,
        Self::Kicks,
        Self::Sessions,
        Self::Keys,
        Self::Work,
    ];
}

/// A front-end that is nothing but hostile. Its device allows AES-128-CBC.
#[derive(Debug)]
pub struct Hostile {
    front: FrontEnd,
    driver: Driver,
    session: u64,
    how: Hostility,
}

const KEY: [u8; 16] = [9; 16];

/// Longest sleep of one whose queue is full: it leaves the CPU to its neighbours, since
/// the worker is what it is after.
const NAP: Duration = Duration::from_millis(1);

/// As many as the queue has.
const TABLE_BYTES: usize = SIZE_MAX as usize * DESCRIPTOR_BYTES;

/// A table of this many bytes is no whole number of descriptors.
const BROKEN_BYTES: u32 = DESCRIPTOR_BYTES as u32 + 1;

/// The bytes of every request come first, then the table.
const TABLE_AT: usize = REQUEST_BYTES_MAX;

impl Hostile {
    /// Connects, and opens a session.
    ///
    /// # Errors
    /// [`FrontError`].
    pub fn start(socket: &Path, how: Hostility) -> Result<Self, FrontError> {
        let config = FrontConfig {
            queue_size: SIZE_MAX,
            data_bytes: TABLE_AT + TABLE_BYTES,
            interrupts: Interrupts::EventIndex,
            ..FrontConfig::default()
        };
        let mut front = FrontEnd::connect(socket, config)?;
        let (driver, session) = (front.start(0)?, open(&mut front)?);
        let (at, here) = (front.data_at(), front.memory().guest(front.data_at()));
        let mut table = Vec::with_capacity(TABLE_BYTES);
        for next in 1..=SIZE_MAX {
            table.extend(here.to_le_bytes());
            table.extend(1_u32.to_le_bytes());
            table.extend([NEXT, next].map(u16::to_le_bytes).as_flattened());
        }
        front.memory().write(at + TABLE_AT, &table);
        Ok(Self {
            front,
            driver,
            session,
            how,
        })
    }

    /// Does it once; of requests, as many as the queue has room for.
    ///
    /// # Errors
    /// [`FrontError`]: the device hung up.
    pub fn turn(&mut self) -> Result<(), FrontError> {
        match self.how {
            Hostility::Kicks => self.driver.kick_anyway(),
            Hostility::Sessions => {
                let session = open(&mut self.front)?;
                self.front.close_session(session)?;
            }
            Hostility::Keys => self.hoard()?,
            _ => self.fill(),
        }
        Ok(())
    }

    fn hoard(&mut self) -> Result<(), FrontError> {
        let mut sessions = Vec::new();
        loop {
            match open(&mut self.front) {
                Ok(session) => sessions.push(session),
                Err(FrontError::Session) => break,
                Err(error) => return Err(error),
            }
        }
        let mut sessions = sessions.into_iter();
        sessions.try_for_each(|session| self.front.close_session(session))
    }

    fn fill(&mut self) {
        while let Some(head) = self.driver.next_head() {
            self.put(head);
        }
        self.driver.wait(NAP);
        self.driver.reap(|_| {});
    }

    fn put(&mut self, head: u16) {
        let at = self.front.data_at();
        let here = self.front.memory().guest(at);
        let (address, bytes, flags, next) = match self.how {
            Hostility::Endless => (here, 8, NEXT, head),
            Hostility::Long => {
                let table = self.front.memory().guest(at + TABLE_AT);
                (table, TABLE_BYTES as u32, INDIRECT, 0)
            }
            Hostility::NoTable => (here, BROKEN_BYTES, INDIRECT, 0),
            _ => return self.ask(at),
        };
        self.driver
            .put_descriptor(head, address, bytes, flags, next);
        self.driver.enter(head, 0);
    }

    fn ask(&mut self, at: usize) {
        let is_work = self.how == Hostility::Work;
        let request = Request {
            header: Header {
                opcode: Opcode::CipherEncrypt,
                session: if is_work { self.session } else { !self.session },
                iv_bytes: 16,
                source_bytes: REQUEST_BYTES_MAX as u32,
                destination_bytes: REQUEST_BYTES_MAX as u32,
            },
            iv: [0; 16],
            source: &[(at, REQUEST_BYTES_MAX)],
            destination: &[(at, REQUEST_BYTES_MAX)],
        };
        let asked = self.driver.submit(&request, 0);
        asked.expect("there is a head, and the request is in two pieces");
    }
}

fn open(front: &mut FrontEnd) -> Result<u64, FrontError> {
    front.open_session(&SessionSpec::Cipher {
        encrypts: true,
        key: &KEY,
    })
}
