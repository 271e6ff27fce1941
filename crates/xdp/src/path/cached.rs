//! A router that keeps the answers of the kernel's tables:
//! `bpf/cached.bpf.c`.

use sys::failure::Failure;

use crate::attached::{Entry, Path};
use crate::counters::Counters;
use crate::object::{Map, Object, source};

use super::control::Control;
use super::ports::{RouterOptions, RouterPort};

/// As [`super::Fib`], with a cache of 262,144 answers, by addresses, type of service
/// and port. There is one for all addresses that [`Control::set_alike`] says go the
/// same way. They are used until [`Control::forget`].
pub struct FibCached {
    counters: Map,
    control: Control,
}

impl FibCached {
    /// Loads it for these ports, in whose network namespace the calling thread must
    /// be. Until it is watched ([`Control::renew`]), every frame goes to the kernel.
    pub fn load(ports: &[RouterPort], options: RouterOptions) -> Result<Self, Failure> {
        let object = Object::load(&source!("cached"), |_| Ok(()))?;
        Ok(Self {
            counters: object.map("counters")?,
            control: Control::with_cache(object, ports, options)?,
        })
    }

    pub fn control(&self) -> Control {
        self.control.clone()
    }

    pub fn counters(&self) -> Result<Counters, Failure> {
        Counters::read([&self.counters])
    }
}

impl Path for FibCached {
    fn entries(&self) -> Vec<Entry<'_>> {
        self.control.entries("cached")
    }
}
