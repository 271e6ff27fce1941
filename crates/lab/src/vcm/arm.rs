//! Ways to moderate that are held against each other.

pub(crate) use policy::Policy as Arm;

use super::rig::Regime;

/// What a bench needs to know of an arm.
pub(crate) trait Moderated {
    /// The regime that a trial of it runs under.
    fn regime(&self) -> Regime;
}

impl Moderated for Arm {
    fn regime(&self) -> Regime {
        Regime::fixed(self.moderation, self.settings)
    }
}
