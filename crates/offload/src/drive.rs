//! Packets that quinn built and did not seal, between their building and their sending.
//!
//! A connection's turn builds packets and sends them, on one thread, without a pause. So
//! what is to be sealed later is noted for the thread, and the socket that sends it takes
//! the notes. A key leaves a packet unsealed only where all of this holds: the turn is one
//! that [our runtime](crate::runtime) runs, and in this turn [our socket](crate::socket)
//! said that it takes what follows. Nothing else can be the next to see the packet.

use std::cell::RefCell;
use std::sync::Arc;

use wire::quic::TAG_BYTES;

use crate::keys::SealKey;
use crate::mark::Mark;

/// Packets of one turn, at most. quinn builds 20 datagrams in a turn, or ten more.
const PACKETS_MAX: usize = 64;

/// A packet that is to be sealed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unsealed {
    pub number: u64,
    /// Bytes in front of its number; 0 until its header was to be hidden.
    pub number_at: u16,
    /// With its tag.
    pub bytes: usize,
}

impl Unsealed {
    /// What stands in place of the tag: it finds the packet's end, and says nothing else.
    pub(crate) fn mark(&self) -> [u8; TAG_BYTES] {
        Mark::Unsealed.of(self.number)
    }
}

#[derive(Default)]
struct Turn {
    is_ours: bool,
    takes: bool,
    key: Option<Arc<SealKey>>,
    packets: Vec<Unsealed>,
}

thread_local! {
    static TURN: RefCell<Turn> = const { RefCell::new(Turn { is_ours: false, takes: false, key: None, packets: Vec::new() }) };
}

/// Runs a turn of a connection or an endpoint.
pub(crate) fn turn<T>(run: impl FnOnce() -> T) -> T {
    /// Also where `run` panics.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            TURN.with_borrow_mut(|turn| {
                debug_assert!(turn.packets.is_empty() || std::thread::panicking());
                (turn.is_ours, turn.takes, turn.key) = (false, false, None);
                turn.packets.clear();
            });
        }
    }
    TURN.with_borrow_mut(|turn| turn.is_ours = true);
    let _end = End;
    run()
}

/// A socket of ours takes what is built from now on, until the turn's end.
pub(crate) fn take_from_now(takes: bool) {
    TURN.with_borrow_mut(|turn| turn.takes = turn.is_ours && takes);
}

/// Whether a socket of ours has said so.
pub(crate) fn is_taken() -> bool {
    TURN.with_borrow(|turn| turn.takes)
}

/// Notes a packet that a key leaves unsealed; `false` where it must be sealed now.
pub(crate) fn leave(key: &Arc<SealKey>, packet: Unsealed) -> bool {
    TURN.with_borrow_mut(|turn| {
        let is_of_key = |of: &Arc<SealKey>| Arc::ptr_eq(of, key);
        let fits = turn.takes
            && turn.packets.len() < PACKETS_MAX
            && turn.key.as_ref().is_none_or(is_of_key);
        if fits {
            turn.key.get_or_insert_with(|| key.clone());
            turn.packets.push(packet);
        }
        fits
    })
}

/// Notes where the last packet has its number; `false` where that was sealed.
pub(crate) fn place(number_at: usize) -> bool {
    TURN.with_borrow_mut(|turn| {
        let last = turn.packets.last_mut().filter(|one| one.number_at == 0);
        last.map(|one| one.number_at = number_at as u16).is_some()
    })
}

/// Hands the notes over to the socket that sends their packets, and takes the empty ones
/// back afterwards.
pub(crate) fn taken<T>(run: impl FnOnce(Option<&Arc<SealKey>>, &[Unsealed]) -> T) -> T {
    let (key, mut packets) =
        TURN.with_borrow_mut(|turn| (turn.key.take(), std::mem::take(&mut turn.packets)));
    let result = run(key.as_ref(), &packets);
    packets.clear();
    TURN.with_borrow_mut(|turn| turn.packets = packets);
    result
}
