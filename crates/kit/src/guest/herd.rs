//! Guests that are up at once, all paused but for those that are measured, so that
//! rounds go from one to the other.

use super::Shell;
use crate::spot::Spot;
use crate::subject::Stopped;

/// One of them.
pub struct Member<A> {
    pub arm: A,
    pub shell: Box<dyn Shell>,
    /// What setting it up printed.
    pub said: String,
    is_paused: bool,
}

/// By what they differ in.
pub struct Herd<A> {
    guests: Vec<Member<A>>,
    about: Spot,
}

impl<A> Default for Herd<A> {
    fn default() -> Self {
        Self {
            guests: Vec::new(),
            about: Spot::new(),
        }
    }
}

impl<A: Copy + PartialEq> Herd<A> {
    /// Takes in a guest that runs; the others are paused.
    pub fn add(&mut self, arm: A, (shell, about): (Box<dyn Shell>, Spot), said: String) {
        self.about = about;
        self.guests.push(Member {
            arm,
            shell,
            said,
            is_paused: false,
        });
    }

    /// Pauses all, or all but one.
    ///
    /// # Errors
    /// [`Stopped::Failed`]: a guest does not obey.
    pub fn pause_but(&mut self, arm: Option<A>) -> Result<(), Stopped> {
        self.pause_unless(|own| arm == Some(own))
    }

    fn pause_unless(&mut self, runs: impl Fn(A) -> bool) -> Result<(), Stopped> {
        for guest in &mut self.guests {
            let pauses = !runs(guest.arm);
            if guest.is_paused != pauses {
                guest.shell.pause(pauses).map_err(Stopped::failed)?;
                guest.is_paused = pauses;
            }
        }
        Ok(())
    }

    /// The guest of an arm, which alone runs. None where there is none.
    ///
    /// # Errors
    /// As [`Self::pause_but`].
    pub fn awake(&mut self, arm: A) -> Result<Option<&mut Member<A>>, Stopped> {
        self.pause_but(Some(arm))?;
        Ok(self.guests.iter_mut().find(|own| own.arm == arm))
    }

    /// The guests of these arms, in the order in which they were added; they alone run.
    ///
    /// # Errors
    /// As [`Self::pause_but`].
    pub fn awake_all(&mut self, arms: &[A]) -> Result<Vec<&mut Member<A>>, Stopped> {
        self.pause_unless(|own| arms.contains(&own))?;
        let own = self.guests.iter_mut();
        Ok(own.filter(|own| arms.contains(&own.arm)).collect())
    }

    /// What the last one is.
    #[must_use]
    pub fn about(&self) -> Spot {
        self.about.clone()
    }
}
