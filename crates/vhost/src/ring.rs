//! One data queue of a device, served on its worker: requests of the guest become
//! requests of the engine, and their ends become used entries.

mod copied;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crypto::{Operation, Status};
use engine::{
    Call, CallError, CryptoLane, Intake, RegionId, Resident, SessionId, Span, SubmitError,
};
use policy::Turns;
use sys::clock::now_ns;
use wire::virtio_crypto as virtio;
use wire::virtio_crypto::{HEADER_BYTES, Header, Opcode};

use crate::chain::{Chain, Piece};
use crate::counters::{Counters, Refusal};
use crate::log::Log;
use crate::memory::{GuestMemory, Place};
use crate::notifiers::Notifiers;
use crate::queue::{ChainError, Queue};
use crate::session::{Known, Sessions, slot_of};

const IV_BYTES: usize = 16;

/// Of a digest or a signature, and of what is signed: copied by way of the lane's slab,
/// since it may lie in pieces.
pub(crate) const SMALL_BYTES: usize = 512;

/// Longest request whose pages are waited for before it is processed.
const TOUCHED_MAX: usize = 64 << 10;

/// Descriptors after which a look at the queue ends, so that other tenants wait for no
/// more than that.
const DESCRIPTORS_A_LOOK: u32 = 512;

/// What taking in a request and a descriptor costs the worker, ns: measured.
const REQUEST_NS: u64 = 60;
const DESCRIPTOR_NS: u64 = 15;

/// A request that was taken, in the order of the queue.
#[derive(Debug)]
struct Taken {
    head: u16,
    /// Where its status goes; none of a chain that has no room for one.
    status_at: Option<Place>,
    /// Bytes to be written to the guest, the status among them.
    written: u32,
    /// A result to be copied out of the slab.
    copied_out: Option<CopiedOut>,
    end: Option<virtio::Status>,
}

#[derive(Debug)]
struct CopiedOut {
    slab: usize,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Attached {
    id: u64,
    lane: SessionId,
    operation: Option<Operation>,
    is_public_key: bool,
}

/// What one queue needs of its device.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) memory: Arc<GuestMemory>,
    pub(crate) queue: Queue,
    pub(crate) kick: OwnedFd,
    pub(crate) notifiers: Arc<Notifiers>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) counters: Arc<Counters>,
    /// Entries up to here may have been begun by a device that is gone: what wrote over
    /// its own source then cannot be done again.
    pub(crate) doubtful_until: Option<u16>,
    pub(crate) log: Log,
}

pub(crate) struct Ring {
    lane: CryptoLane,
    parts: Parts,
    regions: Vec<RegionId>,
    attached: Vec<Option<Attached>>,
    taken: VecDeque<Taken>,
    /// The number of the first of them: requests carry theirs, since the engine completes
    /// them as they are done.
    first: u64,
    turns: Turns,
    /// Until when more of them are expected.
    expected_ns: u64,
    chain: Chain,
    spans: [Vec<Span>; 2],
    is_armed: bool,
    is_broken: bool,
}

/// Why a request is not done.
enum Refused {
    Message(Refusal, virtio::Status),
    /// Not now: the lane takes nothing.
    Later,
}

impl Ring {
    /// Registers the guest's memory with the lane.
    pub(crate) fn new(mut lane: CryptoLane, mut parts: Parts) -> Self {
        let memory = &parts.memory;
        let register = |region: usize| {
            let mapping = Arc::clone(memory.mapping(region));
            let registered = lane.register(mapping);
            registered.expect("a guest has fewer regions than a lane takes")
        };
        let regions = (0..memory.regions.len()).map(register).collect();
        let depth = lane.config().depth;
        let turns = Turns::new(parts.queue.standing());
        let mut ring = Self {
            lane,
            parts,
            regions,
            attached: Vec::new(),
            taken: VecDeque::with_capacity(depth),
            first: 0,
            turns,
            expected_ns: 0,
            chain: Chain::default(),
            spans: [Vec::new(), Vec::new()],
            is_armed: false,
            is_broken: false,
        };
        ring.parts.queue.disarm();
        // Of what was used before, by a queue that ended since or by a device that is
        // gone, the driver may not have been told.
        ring.parts.notifiers.mend();
        ring.parts.notifiers.call();
        ring
    }

    /// Where to go on: the entry after the last one that was used.
    pub(crate) fn base(&self) -> u16 {
        self.parts.queue.published()
    }

    /// All that this ring began is done. What is in doubt beyond stays so.
    pub(crate) fn end_log(&mut self) {
        if !self.is_doubtful() {
            self.parts.log.end();
        }
    }

    /// Takes one entry; `false` if there is none, or no room for it.
    fn take(&mut self) -> Option<u32> {
        if !self.has_room() {
            return None;
        }
        if self.parts.queue.waiting() == 0 {
            self.look_if_broken();
            return None;
        }
        let is_doubtful = self.is_doubtful();
        let Some(head) = self.parts.queue.take() else {
            self.look_if_broken();
            return None;
        };
        let followed = (self.parts.queue).follow(&self.parts.memory, head, &mut self.chain);
        let descriptors = self.chain.descriptors;
        let mut taken = Taken {
            head,
            status_at: self.chain.last_byte(),
            written: 1,
            copied_out: None,
            end: None,
        };
        let submitted = match followed {
            Ok(()) => self.submit(&mut taken, is_doubtful),
            Err(error) => {
                // Nothing else that it names can be trusted.
                let is_known = match error {
                    ChainError::Table(_) => true,
                    ChainError::Unwritten => {
                        let memory = &self.parts.memory;
                        taken.status_at.is_some_and(|at| memory.admits(at, 1))
                    }
                    _ => false,
                };
                if !is_known {
                    taken.status_at = None;
                }
                Err(Refused::Message(error.into(), virtio::Status::BadMessage))
            }
        };
        match submitted {
            Ok(()) => self.taken.push_back(taken),
            Err(Refused::Message(why, status)) => {
                self.parts.counters.refused(why);
                taken.end = Some(status);
                taken.written = 1;
                self.taken.push_back(taken);
                // The worker looks after others before it takes more of this.
                return Some(DESCRIPTORS_A_LOOK);
            }
            Err(Refused::Later) => {
                self.parts.queue.give_back();
                return None;
            }
        }
        Some(descriptors)
    }

    fn has_room(&self) -> bool {
        let depth = self.lane.config().depth;
        self.lane.is_open() && self.lane.room() > 0 && self.taken.len() < depth
    }

    fn is_doubtful(&mut self) -> bool {
        let Some(until) = self.parts.doubtful_until else {
            return false;
        };
        let is_over = until == self.parts.queue.next();
        if is_over {
            self.parts.doubtful_until = None;
        }
        !is_over
    }

    fn arm_for(&mut self, count: u16) -> bool {
        self.is_armed = true;
        let is_any = self.parts.queue.arm(count);
        self.look_if_broken();
        is_any && self.has_room()
    }

    fn look_if_broken(&mut self) {
        if let Some(broken) = self.parts.queue.broken
            && !self.is_broken
        {
            self.is_broken = true;
            // Of memory that was taken away nothing is the driver's.
            if !self.parts.memory.is_lost() {
                self.parts.counters.note_broken(broken);
                self.parts.notifiers.broke(broken);
            }
        }
    }

    fn submit(&mut self, taken: &mut Taken, is_doubtful: bool) -> Result<(), Refused> {
        let refuse = Refused::Message;
        if taken.status_at.is_none() {
            return Err(refuse(Refusal::NoStatus, virtio::Status::BadMessage));
        }
        if is_doubtful && self.chain.writes_what_it_reads() {
            return Err(refuse(Refusal::Doubtful, virtio::Status::Failed));
        }
        let header = self.header()?;
        let attached = self.attached(header.session)?;
        let is_right = match attached.operation {
            Some(operation) => operation_of(header.opcode) == Some(operation),
            None => attached.is_public_key,
        };
        if !is_right {
            return Err(refuse(Refusal::Operation, virtio::Status::InvalidSession));
        }
        if attached.is_public_key {
            return self.submit_public_key(taken, &header, attached.lane);
        }
        let (source, destination) = (bytes(header.source_bytes), bytes(header.destination_bytes));
        let iv_bytes = bytes(header.iv_bytes);
        let is_cipher = attached.operation != Some(Operation::Hash);
        if is_cipher && (iv_bytes != IV_BYTES || source != destination) {
            return Err(refuse(Refusal::Lengths, virtio::Status::BadMessage));
        }
        let mut iv = [0; IV_BYTES];
        let (memory, readable) = (&self.parts.memory, &self.chain.readable);
        let is_there = copy_in(memory, readable, HEADER_BYTES, &mut iv[..iv_bytes])
            && self.list(0, HEADER_BYTES + iv_bytes, source)
            && self.list(1, 0, destination)
            && total(&self.chain.writable) > destination;
        if !is_there {
            return Err(refuse(Refusal::Short, virtio::Status::BadMessage));
        }
        taken.written = header.destination_bytes.saturating_add(1);
        let [source, destination] = &self.spans;
        let call = Call {
            session: attached.lane,
            operation: attached.operation.unwrap_or(Operation::Hash),
            source,
            destination,
            iv,
            aad: Span::EMPTY,
            tag: Span::EMPTY,
        };
        let number = self.first + self.taken.len() as u64;
        submit(&mut self.lane, &call, number)
    }

    fn header(&self) -> Result<Header, Refused> {
        let mut bytes = [0; HEADER_BYTES];
        // Once, and checked then: what the guest changes later changes nothing.
        if !copy_in(&self.parts.memory, &self.chain.readable, 0, &mut bytes) {
            let status = virtio::Status::BadMessage;
            return Err(Refused::Message(Refusal::Short, status));
        }
        let status = virtio::Status::NotSupported;
        Header::parse(&bytes).map_err(|_| Refused::Message(Refusal::Header, status))
    }

    fn attached(&mut self, id: u64) -> Result<Attached, Refused> {
        let slot = slot_of(id);
        if let Some(Some(attached)) = self.attached.get(slot)
            && attached.id == id
        {
            return Ok(*attached);
        }
        let unknown = || Refused::Message(Refusal::Session, virtio::Status::InvalidSession);
        let known = self.parts.sessions.find(id).ok_or_else(unknown)?;
        self.attach(slot, id, &known).ok_or_else(unknown)
    }

    #[cold]
    fn attach(&mut self, slot: usize, id: u64, known: &Known) -> Option<Attached> {
        if self.attached.len() <= slot {
            self.attached.resize(slot + 1, None);
        }
        if let Some(gone) = self.attached[slot].take() {
            self.lane.detach(gone.lane).ok()?;
        }
        let attached = Attached {
            id,
            lane: self.lane.attach(&known.session).ok()?,
            operation: known.operation,
            is_public_key: known.session.algorithm().is_public_key(),
        };
        self.attached[slot] = Some(attached);
        Some(attached)
    }

    /// Lists `bytes` of one side of the chain from `begin` on as spans; whether they are
    /// there.
    ///
    /// Pages that are on their way are waited for here, where nobody else waits: requests
    /// of others are processed with these. Longer ones are not.
    fn list(&mut self, side: usize, begin: usize, bytes: usize) -> bool {
        let pieces = [&self.chain.readable, &self.chain.writable][side];
        let spans = &mut self.spans[side];
        spans.clear();
        let (mut skip, mut left) = (begin, bytes);
        for piece in pieces {
            if left == 0 {
                break;
            }
            let skipped = skip.min(piece.bytes);
            let len = left.min(piece.bytes - skipped);
            (skip, left) = (skip - skipped, left - len);
            if len > 0 {
                let (region, offset) = (piece.place.region, piece.place.offset + skipped);
                if bytes <= TOUCHED_MAX {
                    let touched = self.parts.memory.mapping(region).touch(offset, len);
                    touched.expect("the chain's bytes lie in the memory");
                }
                spans.push(Span {
                    region: self.regions[region],
                    offset,
                    len,
                });
            }
        }
        left == 0
    }

    /// Writes the status of whatever is done, in order, and shows the driver.
    fn carry_out(&mut self) {
        while let Some(taken) = self.taken.front()
            && let Some(status) = taken.end
        {
            let taken = self.taken.pop_front().expect("it was looked at");
            self.first += 1;
            let mut written = taken.written;
            if status != virtio::Status::Ok {
                written = 1;
            } else if let Some(out) = &taken.copied_out {
                self.copy_out(out);
            }
            match taken.status_at {
                Some(at) => {
                    let mapping = self.parts.memory.mapping(at.region);
                    let put = mapping.write(at.offset, &[status as u8]);
                    put.expect("the chain's bytes lie in the memory");
                }
                None => written = 0,
            }
            self.parts.queue.put_used(taken.head, written);
        }
        self.parts.queue.publish();
    }
}

impl Resident for Ring {
    fn kick(&self) -> BorrowedFd<'_> {
        self.parts.kick.as_fd()
    }

    fn inhale(&mut self) -> Intake {
        let (mut requests, mut descriptors) = (0, 0);
        while descriptors < DESCRIPTORS_A_LOOK
            && let Some(more) = self.take()
        {
            requests += 1;
            descriptors += more;
        }
        if requests == 0 {
            return Intake::default();
        }
        if std::mem::take(&mut self.is_armed) {
            self.parts.queue.disarm();
        }
        // What is in doubt stays so until it is passed, whoever is killed before.
        let begun = self.parts.doubtful_until;
        self.parts
            .log
            .note(begun.unwrap_or(self.parts.queue.next()));
        self.turns.look(self.parts.queue.standing(), now_ns());
        self.lane.show_here();
        if self.taken.front().is_some_and(|taken| taken.end.is_some()) {
            // Refused, with nothing before it that is still to be done.
            self.carry_out();
            self.tell();
        }
        Intake {
            is_some: true,
            work_ns: requests * REQUEST_NS + u64::from(descriptors) * DESCRIPTOR_NS,
        }
    }

    fn exhale(&mut self) {
        let (first, taken) = (self.first, &mut self.taken);
        self.lane.reap(usize::MAX, |completion| {
            let at = usize::try_from(completion.token - first).expect("it is in flight");
            taken[at].end = Some(status_of(completion.status));
        });
        self.carry_out();
    }

    fn arm(&mut self) -> bool {
        self.arm_for(1)
    }

    fn arm_late(&mut self) -> bool {
        let missing = self.turns.missing().min(self.parts.queue.size().into());
        self.arm_for(u16::try_from(missing).expect("no more than the queue's size"))
    }

    fn unreaped(&mut self) -> u32 {
        self.parts.queue.unreaped().into()
    }

    fn depth(&self) -> u32 {
        self.turns.depth()
    }

    fn due_ns(&mut self, now_ns: u64) -> u64 {
        self.turns.look(self.parts.queue.standing(), now_ns);
        let due_ns = self.turns.due_ns(now_ns);
        self.expected_ns = if due_ns > now_ns { due_ns } else { 0 };
        due_ns
    }

    fn expected_ns(&self) -> u64 {
        self.expected_ns
    }

    fn is_awaited(&mut self) -> bool {
        self.parts.queue.is_awaited()
    }

    fn tell(&mut self) -> bool {
        let is_awaited = self.parts.queue.is_awaited();
        self.parts.queue.tell();
        // One that does not ask looks by itself.
        self.turns.told();
        if is_awaited {
            self.parts.notifiers.call();
        }
        is_awaited
    }
}

impl Chain {
    /// The status is the last byte of all that the device may write: the driver maps whole
    /// lists.
    fn last_byte(&self) -> Option<Place> {
        let last = self.writable.iter().rev().find(|piece| piece.bytes > 0)?;
        let Place { region, offset } = last.place;
        let offset = offset + last.bytes - 1;
        Some(Place { region, offset })
    }
}

fn submit(lane: &mut CryptoLane, call: &Call<'_>, number: u64) -> Result<(), Refused> {
    let refuse = |why, status| Err(Refused::Message(why, status));
    match lane.enqueue(call, number) {
        Ok(()) => Ok(()),
        Err(CallError::Submit(SubmitError::Full | SubmitError::Draining)) => Err(Refused::Later),
        Err(CallError::SessionEnded | CallError::UnknownSession(_)) => {
            refuse(Refusal::Session, virtio::Status::InvalidSession)
        }
        Err(CallError::TooLong { .. } | CallError::Segments { .. }) => {
            refuse(Refusal::TooLong, virtio::Status::Failed)
        }
        Err(_) => refuse(Refusal::Engine, virtio::Status::Failed),
    }
}

fn operation_of(opcode: Opcode) -> Option<Operation> {
    Some(match opcode {
        Opcode::CipherEncrypt => Operation::Encrypt,
        Opcode::CipherDecrypt => Operation::Decrypt,
        Opcode::Hash | Opcode::Mac => Operation::Hash,
        _ => return None,
    })
}

fn status_of(status: Status) -> virtio::Status {
    match status {
        Status::Ok => virtio::Status::Ok,
        Status::AuthenticationFailed => virtio::Status::KeyRejected,
        Status::BadLength | Status::BadSegment | Status::InvalidInput => virtio::Status::BadMessage,
        Status::Unsupported => virtio::Status::NotSupported,
        Status::BackendFailed | Status::Cancelled | Status::WorkerFailed => virtio::Status::Failed,
    }
}

impl From<ChainError> for Refusal {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::Unwritten => Self::Unwritten,
            _ => Self::Chain,
        }
    }
}

fn bytes(field: u32) -> usize {
    usize::try_from(field).unwrap_or(usize::MAX)
}

fn total(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| piece.bytes).sum()
}

/// Copies bytes of a list from `begin` on; whether there are as many.
pub(crate) fn copy_in(
    memory: &GuestMemory,
    pieces: &[Piece],
    begin: usize,
    into: &mut [u8],
) -> bool {
    let (mut skip, mut at) = (begin, 0);
    for piece in pieces {
        let skipped = skip.min(piece.bytes);
        skip -= skipped;
        let len = (piece.bytes - skipped).min(into.len() - at);
        let Place { region, offset } = piece.place;
        let part = &mut into[at..at + len];
        let read = memory.mapping(region).read(offset + skipped, part);
        read.expect("the chain's bytes lie in the memory");
        at += len;
        if at == into.len() {
            return true;
        }
    }
    at == into.len()
}
