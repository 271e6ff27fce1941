//! Tickets: which requests are in flight, each exactly once.

/// The in-flight table of one lane: `depth` tickets, each free or held by one
/// request with the client's token.
#[derive(Debug)]
pub(crate) struct Tickets {
    free: Vec<u32>,
    tokens: Box<[Option<u64>]>,
}

impl Tickets {
    pub(crate) fn new(depth: u32) -> Self {
        Self {
            // Reversed, so that low tickets (and their segment rows) are
            // used first and stay warm.
            free: (0..depth).rev().collect(),
            tokens: vec![None; depth as usize].into_boxed_slice(),
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.tokens.len() - self.free.len()
    }

    /// The ticket that `take` will give.
    pub(crate) fn next(&self) -> Option<u32> {
        self.free.last().copied()
    }

    pub(crate) fn take(&mut self, token: u64) -> Option<u32> {
        let ticket = self.free.pop()?;
        self.tokens[ticket as usize] = Some(token);
        Some(ticket)
    }

    /// Ends a request and returns its token.
    ///
    /// # Panics
    /// When the ticket is not in flight: a request would complete twice.
    pub(crate) fn give_back(&mut self, ticket: u32) -> u64 {
        let token = self.tokens[ticket as usize]
            .take()
            .expect("a request completes exactly once: its ticket is in flight until then");
        self.free.push(ticket);
        token
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = u32> + '_ {
        self.tokens
            .iter()
            .zip(0u32..)
            .filter(|(token, _)| token.is_some())
            .map(|(_, ticket)| ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ticket_is_given_once() {
        let mut tickets = Tickets::new(4);
        let taken: Vec<_> = (0..4).map(|token| tickets.take(token).unwrap()).collect();
        assert_eq!((tickets.take(9), tickets.in_flight()), (None, 4));
        assert_eq!(tickets.give_back(taken[2]), 2);
        assert_eq!(tickets.held().count(), 3);
        assert_eq!(tickets.take(7), Some(taken[2]));
    }

    #[test]
    #[should_panic(expected = "exactly once")]
    fn a_second_completion_is_caught() {
        let mut tickets = Tickets::new(1);
        let ticket = tickets.take(0).unwrap();
        tickets.give_back(ticket);
        tickets.give_back(ticket);
    }
}
