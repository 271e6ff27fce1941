//! A router that asks the kernel's tables for every frame
//! (`bpf_fib_lookup`): `bpf/fib.bpf.c`.

use sys::failure::Failure;

use crate::attached::{Entry, Path};
use crate::counters::Counters;
use crate::object::{Map, Object, source};

use super::control::Control;
use super::ports::{RouterOptions, RouterPort};

/// Forwards plain frames as the kernel would, and leaves the rest to it. Unlike the
/// kernel's own routing it applies no firewall and no traffic control.
pub struct Fib {
    counters: Map,
    control: Control,
}

impl Fib {
    /// Loads it for these ports, in whose network namespace the calling thread must
    /// be. Until it is watched ([`Control::renew`]), every frame goes to the kernel.
    pub fn load(ports: &[RouterPort], options: RouterOptions) -> Result<Self, Failure> {
        let object = Object::load(&source!("fib"), |_| Ok(()))?;
        Ok(Self {
            counters: object.map("counters")?,
            control: Control::new(object, ports, options)?,
        })
    }

    pub fn control(&self) -> Control {
        self.control.clone()
    }

    pub fn counters(&self) -> Result<Counters, Failure> {
        Counters::read([&self.counters])
    }
}

impl Path for Fib {
    fn entries(&self) -> Vec<Entry<'_>> {
        self.control.entries("fib")
    }
}
