//! What is kept between the pieces of requests, by number.

use crypto::Between;

/// One worker's, of all its crew: a stand-in goes on with what another began. Each in a
/// box, so that none is copied when it is lent.
#[derive(Debug)]
pub(super) struct States {
    all: Vec<Option<Box<Between>>>,
    free: Vec<u16>,
}

/// States allocated at the start: what two lanes need at a time.
const FIRST: u16 = 64;

impl Default for States {
    fn default() -> Self {
        Self {
            all: (0..FIRST).map(|_| Some(Box::default())).collect(),
            free: (0..FIRST).collect(),
        }
    }
}

impl States {
    /// An unused one; `None` when all numbers are taken.
    pub(super) fn take(&mut self) -> Option<u16> {
        if let Some(number) = self.free.pop() {
            return Some(number);
        }
        let number = u16::try_from(self.all.len()).ok()?;
        self.all.push(Some(Box::default()));
        // So that giving back allocates nothing.
        self.free.reserve(self.all.len());
        Some(number)
    }

    /// Lends a state to the member that processes the next piece.
    pub(super) fn lend(&mut self, number: u16) -> Box<Between> {
        // One that a back-end's panic took along is new.
        self.all[usize::from(number)].take().unwrap_or_default()
    }

    pub(super) fn give_back(&mut self, number: u16, between: Box<Between>) {
        self.all[usize::from(number)] = Some(between);
    }

    pub(super) fn free(&mut self, number: u16) {
        if let Some(between) = &mut self.all[usize::from(number)] {
            between.end();
        }
        debug_assert!(!self.free.contains(&number), "a state is given back once");
        self.free.push(number);
    }
}
