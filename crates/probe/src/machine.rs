//! What readers of facts look at.

use crate::Host;
use crate::cpu::Context;
use crate::pci::{self, Device};
use crate::ticks::Ticks;

pub(crate) struct Machine {
    pub(crate) host: Host,
    pub(crate) cpu: Context,
    pub(crate) devices: Vec<Device>,
    /// Two samples, the second one once the window of steal is over.
    pub(crate) ticks: Option<(Ticks, Ticks)>,
}

impl Machine {
    pub(crate) fn read(host: &Host) -> Self {
        Self {
            host: host.clone(),
            cpu: Context::read(host),
            devices: pci::devices(host),
            ticks: None,
        }
    }
}
