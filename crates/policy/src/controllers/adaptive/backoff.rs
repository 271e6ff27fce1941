//! When something is tried or checked again.

/// Looks until a trial that did not help is repeated, first and maximum: 0.4 to 60 s
/// of looks of 10 ms.
const PAUSE_LOOKS: (u32, u32) = (40, 6000);
/// Looks until the next is tried after one that helped.
const AFTER_SUCCESS_LOOKS: u32 = 6;
/// Looks until the next after two that were interrupted; doubled each time.
const INTERRUPTED_LOOKS: u32 = 10;
const INTERRUPTED_MAX: u32 = 8;
/// Looks until the next search for something to try.
const NOTHING_TO_TRY_LOOKS: u32 = 50;
/// Looks until what helps is checked again, first and last: 1 to 60 s.
const CHECK_LOOKS: (u32, u32) = (100, 6000);

/// Counts looks until the next trial and the next check. The pauses grow while trials
/// fail and checks succeed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    pause: u32,
    pause_next: u32,
    check: u32,
    check_next: u32,
    interrupted: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            pause: 0,
            pause_next: PAUSE_LOOKS.0,
            check: 0,
            check_next: CHECK_LOOKS.0,
            interrupted: 0,
        }
    }
}

impl Backoff {
    pub(super) fn pass(&mut self) {
        self.pause = self.pause.saturating_sub(1);
        self.check = self.check.saturating_sub(1);
    }

    pub(super) fn may_try(&self) -> bool {
        self.pause == 0
    }

    pub(super) fn may_check(&self) -> bool {
        self.check == 0
    }

    pub(super) fn helped(&mut self) {
        self.interrupted = 0;
        self.pause = AFTER_SUCCESS_LOOKS;
        self.pause_next = PAUSE_LOOKS.0;
        self.check = self.check_next;
    }

    pub(super) fn failed(&mut self) {
        self.interrupted = 0;
        self.wait();
    }

    fn wait(&mut self) {
        self.pause = self.pause_next;
        self.pause_next = (self.pause_next * 2).min(PAUSE_LOOKS.1);
    }

    pub(super) fn found_nothing(&mut self) {
        self.pause = NOTHING_TO_TRY_LOOKS;
    }

    pub(super) fn confirmed(&mut self) {
        self.check_next = (self.check_next * 2).min(CHECK_LOOKS.1);
        self.check = self.check_next;
    }

    pub(super) fn refuted(&mut self) {
        self.check_next = CHECK_LOOKS.0;
        self.wait();
    }

    /// Other tenants came or left: trials may help now, but those that did not are
    /// repeated no more often.
    pub(super) fn begin_again(&mut self) {
        self.pause = 0;
    }

    /// The same in the middle of a trial. The trial itself may look like that, so it
    /// must not be repeated without end.
    pub(super) fn interrupted(&mut self) {
        self.pause = (INTERRUPTED_LOOKS << self.interrupted) - INTERRUPTED_LOOKS;
        self.interrupted = (self.interrupted + 1).min(INTERRUPTED_MAX);
    }

    pub(super) fn begin_anew(&mut self) {
        self.pause_next = PAUSE_LOOKS.0;
        self.check_next = CHECK_LOOKS.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks_until_trial(backoff: &mut Backoff) -> u32 {
        (0..)
            .find(|_| {
                let may_try = backoff.may_try();
                backoff.pass();
                may_try
            })
            .unwrap()
    }

    #[test]
    fn failures_are_repeated_ever_less_often() {
        let mut backoff = Backoff::default();
        let mut waits = vec![looks_until_trial(&mut backoff)];
        for _ in 0..10 {
            backoff.failed();
            waits.push(looks_until_trial(&mut backoff));
        }
        assert_eq!(waits[..4], [0, 40, 80, 160]);
        assert_eq!(waits[10], PAUSE_LOOKS.1);
        backoff.begin_anew();
        backoff.begin_again();
        assert!(backoff.may_try());
        backoff.failed();
        assert_eq!(looks_until_trial(&mut backoff), 40);
    }

    #[test]
    fn the_first_interruption_costs_no_time() {
        let mut backoff = Backoff::default();
        let waits = [(); 4].map(|()| {
            backoff.interrupted();
            looks_until_trial(&mut backoff)
        });
        assert_eq!(waits, [0, 10, 30, 70]);
        (0..100).for_each(|_| backoff.interrupted());
        assert!(looks_until_trial(&mut backoff) <= 2560);
    }

    #[test]
    fn checks_that_confirm_grow_rare() {
        let mut backoff = Backoff::default();
        backoff.helped();
        assert!(!backoff.may_check());
        (0..20).for_each(|_| backoff.confirmed());
        assert_eq!(backoff.check, CHECK_LOOKS.1);
    }
}
