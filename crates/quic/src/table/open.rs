//! Packets of many connections, opened together.
//!
//! First all are looked up, and what they need is asked for; then those of a suite are
//! opened by one call, as if all were of the present key phase; then each is judged in the
//! order of the batch. What the call could not know (a packet before it changed the phase,
//! or the largest number) makes a packet open once more, alone.

use crypto::{
    Backend, Key, Operation, PacketPlace, PacketSlices, Status, prefetch, process_packets,
};
use wire::quic::packet_number::{BYTES_MAX, Truncated};
use wire::quic::{FirstByte, SAMPLE_BYTES, TAG_BYTES};

use super::entry::{Entry, Repeated};
use super::error::Gone;
use super::index::Name;
use super::{Handle, OpenRequest, Opened, Outcome, Phase, Table};
use crate::Suite;

/// Packets that are looked up and opened together; longer batches are cut. As many misses
/// overlap as a core has room for, and their lines fit the first-level cache.
pub(crate) const BATCH_PACKETS: usize = 32;

/// A packet that was found to be of a connection, and what was assumed of that.
#[derive(Clone, Copy)]
struct Asked {
    entry: u32,
    expected: u64,
    is_phase_set: bool,
    suite: Suite,
    status: Status,
}

impl Asked {
    /// Of an entry that is not there yet: the rest is filled in when it is.
    fn of(entry: u32) -> Self {
        Self {
            entry,
            expected: 0,
            is_phase_set: false,
            suite: Suite::Aes128Gcm,
            status: Status::BackendFailed,
        }
    }
}

/// Which key opened a packet.
enum Used {
    Current,
    Previous,
    Next(Box<dyn Key>),
}

impl Table {
    /// Opens packets; what became of each is in its `outcome`, as if they came one after
    /// the other. `backend` made the keys, and makes a next phase's when a packet needs
    /// it: that alone allocates.
    ///
    /// A packet that fails costs another attempt where one of its connection before it in
    /// the batch succeeded. Where its header tells the other key phase, it costs one with
    /// the previous keys and one with the next, which are set up for it.
    ///
    /// Time therefore tells packets of the other phase, forged ones too, from those of the
    /// present phase. RFC 9001 §6.3 lets keys be made so late, and says that it leaks; its
    /// rule that time must not tell an invalid key phase bit (§9.5) is **not** kept: who can
    /// time single packets learns that hidden bit. The price of keeping it is a second key
    /// object for every connection.
    pub fn open_batch(
        &mut self,
        backend: &dyn Backend,
        requests: &mut [OpenRequest<'_>],
        now_ns: u64,
    ) {
        for requests in requests.chunks_mut(BATCH_PACKETS) {
            let mut asked = self.look_up(requests);
            for suite in Suite::ALL {
                self.open_of(suite, backend, requests, &mut asked);
            }
            for (request, asked) in requests.iter_mut().zip(asked) {
                if let Some(asked) = asked {
                    request.outcome = self.conclude(backend, request, asked, now_ns);
                }
                if !matches!(request.outcome, Outcome::Opened(_)) {
                    request.destination.fill(0);
                }
            }
        }
    }

    /// Those that no connection is for get their outcome.
    fn look_up(&self, requests: &mut [OpenRequest<'_>]) -> [Option<Asked>; BATCH_PACKETS] {
        let mut hashes = [const { None }; BATCH_PACKETS];
        for (hash, request) in hashes.iter_mut().zip(&mut *requests) {
            request.outcome = Outcome::Malformed;
            *hash = request.name().map(|name| self.index.hash(&name));
            if let (Some(hash), true) = (&hash, self.prefetches) {
                self.index.prefetch(*hash);
            }
        }
        let mut all = [const { None }; BATCH_PACKETS];
        for ((asked, hash), request) in all.iter_mut().zip(hashes).zip(requests) {
            let Some(hash) = hash else {
                continue;
            };
            request.outcome = Outcome::Unknown;
            *asked = self.index.find(hash).map(Asked::of);
            if let (Some(asked), true) = (&asked, self.prefetches) {
                let entry = &self.entries[asked.entry as usize];
                prefetch(&entry.key);
                prefetch(&entry.failures);
                prefetch(&entry.ids);
            }
        }
        for asked in all.iter_mut().flatten() {
            let entry = &self.entries[asked.entry as usize];
            if self.prefetches {
                prefetch(entry.present());
            }
            asked.expected = entry.window.expected();
            (asked.is_phase_set, asked.suite) = (entry.is_phase_set(), entry.suite);
        }
        if self.prefetches {
            for one in all.iter().flatten() {
                self.entries[one.entry as usize].present().prefetch_parts();
            }
        }
        all
    }

    /// Opens those of a suite as packets of the present phase.
    fn open_of(
        &self,
        suite: Suite,
        backend: &dyn Backend,
        requests: &mut [OpenRequest<'_>],
        asked: &mut [Option<Asked>; BATCH_PACKETS],
    ) {
        if !asked.iter().flatten().any(|one| one.suite == suite) {
            return;
        }
        let mut slices: [PacketSlices<'_>; BATCH_PACKETS] =
            std::array::from_fn(|_| PacketSlices::none());
        let mut count = 0;
        for (request, asked) in requests.iter_mut().zip(&*asked) {
            let Some(asked) = asked.as_ref().filter(|one| one.suite == suite) else {
                continue;
            };
            let key = self.entries[asked.entry as usize].present();
            slices[count] = request.slices(key, asked.expected, Some(asked.is_phase_set));
            count += 1;
        }
        let slices = &mut slices[..count];
        process_packets(backend, suite.packets(), Operation::Decrypt, slices);
        let asked = asked.iter_mut().flatten().filter(|one| one.suite == suite);
        for (asked, one) in asked.zip(slices) {
            asked.status = one.status;
        }
    }

    /// A packet of the connection was opened without the table, after `updates` key
    /// updates, modulo 2^16. Its number counts from now on: without it the table would take
    /// what it does not know of for the future, and the short numbers of later packets for
    /// others than they are (RFC 9000 §A.3).
    ///
    /// # Errors
    /// [`Gone`].
    pub fn note(
        &mut self,
        backend: &dyn Backend,
        connection: Handle,
        (number, updates): (u64, u16),
        now_ns: u64,
    ) -> Result<(), Gone> {
        let place = self.place(connection)?;
        let entry = &mut self.entries[place as usize];
        if !entry.is_over && entry.note(backend, number, updates) {
            self.touch(place, now_ns);
        }
        Ok(())
    }

    fn conclude(
        &mut self,
        backend: &dyn Backend,
        request: &mut OpenRequest<'_>,
        asked: Asked,
        now_ns: u64,
    ) -> Outcome {
        let entry = &mut self.entries[asked.entry as usize];
        let connection = Handle {
            place: asked.entry,
            generation: entry.generation,
        };
        if entry.is_over {
            return Outcome::Over { connection };
        }
        let is_same_phase = entry.is_phase_set() == asked.is_phase_set;
        let is_same = is_same_phase && entry.window.expected() == asked.expected;
        let opened = match asked.status {
            Status::Ok if is_same_phase => Ok((Used::Current, asked.expected)),
            Status::Ok => Ok((Used::Previous, asked.expected)),
            Status::AuthenticationFailed if is_same => Err(Status::AuthenticationFailed),
            Status::AuthenticationFailed | Status::InvalidInput => {
                let expected = entry.window.expected();
                entry.open(backend, request).map(|used| (used, expected))
            }
            status => Err(status),
        };
        let outcome = match opened {
            Ok((used, expected)) => entry.accept(connection, request, used, expected),
            Err(Status::AuthenticationFailed) => {
                entry.failures += 1;
                let failures = entry.failures;
                entry.is_over = failures >= entry.suite.integrity_limit().min(self.failures_max);
                match entry.is_over {
                    true => Outcome::IntegrityLimit {
                        connection,
                        failures,
                    },
                    false => Outcome::Failed { connection },
                }
            }
            Err(status) => Outcome::Backend { connection, status },
        };
        if matches!(outcome, Outcome::Opened(_)) {
            self.touch(asked.entry, now_ns);
        }
        outcome
    }
}

impl OpenRequest<'_> {
    /// `None` where the packet cannot be opened.
    #[inline]
    fn name(&self) -> Option<Name> {
        let at = usize::from(self.number_at);
        let bytes = self.packet.len();
        let is_sound = bytes >= at + BYTES_MAX + SAMPLE_BYTES
            && self.destination.len() + TAG_BYTES == bytes
            && !FirstByte(self.packet[0]).is_long();
        Name::new(self.packet.get(1..at).filter(|_| is_sound)?, &self.path)
    }

    fn slices<'s>(
        &'s mut self,
        key: &'s dyn Key,
        number: u64,
        phase: Option<bool>,
    ) -> PacketSlices<'s> {
        PacketSlices {
            key,
            place: PacketPlace {
                number,
                number_at: self.number_at,
                phase,
            },
            source: self.packet,
            destination: &mut *self.destination,
            status: Status::BackendFailed,
        }
    }
}

impl Entry {
    fn present(&self) -> &dyn Key {
        &**self.key.as_ref().expect("the index names no vacant entry")
    }

    /// Opens one packet by the key of its phase.
    fn open(&self, backend: &dyn Backend, request: &mut OpenRequest<'_>) -> Result<Used, Status> {
        let mut by = |key: &dyn Key, phase| {
            let slices = request.slices(key, self.window.expected(), phase);
            let (mut slices, packets) = ([slices], self.suite.packets());
            process_packets(backend, packets, Operation::Decrypt, &mut slices);
            slices[0].status
        };
        match by(self.present(), Some(self.is_phase_set())) {
            Status::Ok => return Ok(Used::Current),
            Status::InvalidInput => {}
            failed => return Err(failed),
        }
        // Its number is hidden until a key opens it, so it cannot choose between the two.
        if let Some(previous) = &self.previous {
            match by(&**previous, None) {
                Status::Ok => return Ok(Used::Previous),
                Status::AuthenticationFailed => {}
                failed => return Err(failed),
            }
        }
        if self.next.is_none() {
            return Err(Status::AuthenticationFailed);
        }
        let next = self.next.key(backend, self.suite);
        let next = next.map_err(|_| Status::BackendFailed)?;
        match by(&*next, None) {
            Status::Ok => Ok(Used::Next(next)),
            failed => Err(failed),
        }
    }

    /// Whether it was new here. What must not be is the caller's to judge.
    fn note(&mut self, backend: &dyn Backend, number: u64, updates: u16) -> bool {
        let is_previous = updates == self.updates.wrapping_sub(1) && self.previous.is_some();
        if updates == self.updates {
            self.first_of_phase = self.first_of_phase.min(number);
        } else if updates == self.updates.wrapping_add(1) {
            if self.next.is_none() || self.window.largest() >= Some(number) {
                return false;
            }
            let Ok(key) = self.next.key(backend, self.suite) else {
                return false;
            };
            self.advance(key, number);
        } else if !is_previous || number >= self.first_of_phase {
            return false;
        }
        self.window.note(number).is_ok()
    }

    /// Judges a packet that opened, when `expected` was the next number.
    fn accept(
        &mut self,
        connection: Handle,
        request: &OpenRequest<'_>,
        used: Used,
        expected: u64,
    ) -> Outcome {
        let shown = &*request.destination;
        let (first, at) = (FirstByte(shown[0]), usize::from(request.number_at));
        let header_bytes = at + first.packet_number_bytes();
        let truncated = Truncated::of_bytes(&shown[at..header_bytes]).expect("one to four bytes");
        let number = truncated.expand(expected.checked_sub(1));
        let is_late = match used {
            Used::Current => false,
            Used::Previous => number >= self.first_of_phase,
            Used::Next(_) => self.window.largest() >= Some(number),
        };
        if !first.is_reserved_clear() || is_late {
            self.is_over = true;
            return match is_late {
                true => Outcome::KeyUpdateError { connection, number },
                false => Outcome::ReservedBits { connection, number },
            };
        }
        let is_largest = match self.window.note(number) {
            Ok(is_largest) => is_largest,
            Err(Repeated::Duplicate) => return Outcome::Duplicate { connection, number },
            Err(Repeated::Old) => return Outcome::Old { connection, number },
        };
        let phase = match used {
            Used::Current => Phase::Current,
            Used::Previous => Phase::Previous,
            Used::Next(_) => Phase::Next,
        };
        match used {
            Used::Next(key) => self.advance(key, number),
            Used::Current => self.first_of_phase = self.first_of_phase.min(number),
            Used::Previous => {}
        }
        Outcome::Opened(Opened {
            connection,
            number,
            header_bytes: header_bytes as u16,
            phase,
            updates: self
                .updates
                .wrapping_sub(u16::from(phase == Phase::Previous)),
            is_largest,
            is_other_path: self.path != request.path,
        })
    }
}
