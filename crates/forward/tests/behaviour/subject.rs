//! Paths that a DUT can forward on.

use std::any::Any;

use xdp::Attached;
use xdp::path::Wire;

use crate::rig::Rig;

/// Which path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The kernel's own.
    Kernel,
    /// Every frame out of the other port as it came: no router.
    Wire,
}

/// What runs on a DUT as long as it lives.
pub type Running = Box<dyn Any>;

impl Rig {
    /// Puts a path on the DUT's ports, in place of the one there.
    pub fn start(&mut self, subject: Subject) {
        self.path = None;
        let ports = self.links.each_ref().map(|(_, index)| *index);
        self.path = match subject {
            Subject::Kernel => None,
            Subject::Wire => {
                let attach = || Attached::new(Wire::load(ports).unwrap()).unwrap();
                Some(Box::new(self.dut.run(attach).unwrap()))
            }
        };
    }
}
