//! Ways to moderate that are compared with each other.

pub use policy::Policy as Arm;

use crate::load::rig::Regime;

/// What a bench needs to know of an arm.
pub trait Moderated {
    /// The regime that a trial of it runs under.
    fn regime(&self) -> Regime;
}

impl Moderated for Arm {
    fn regime(&self) -> Regime {
        Regime::fixed(self.moderation, self.settings)
    }
}
