//! A router that asks the kernel's tables for every frame
//! (`bpf_fib_lookup`): `bpf/fib.bpf.c`.

use crate::attached::{Entry, Path};
use crate::counters::Counters;
use crate::object::{LoadError, Map, Object, source};

use super::ports::{Ports, RouterError, RouterOptions, RouterPort};

/// Forwards what is plain, as the kernel would, and leaves the rest to it.
///
/// Two things the kernel does for its own routes it does not do for these: it
/// looks at no firewall and no traffic control, and it does not count a
/// neighbour as used. Whoever runs it for long tells the kernel so (`NTF_USE`
/// when a neighbour becomes stale).
pub struct Fib {
    object: Object,
    counters: Map,
    ports: Ports,
}

impl Fib {
    /// Loads it for these ports, in whose network namespace the calling thread
    /// must be.
    ///
    /// # Errors
    /// [`RouterError`].
    pub fn load(ports: &[RouterPort], options: RouterOptions) -> Result<Self, RouterError> {
        let object = Object::load(&source!("fib"), |_| Ok(()))?;
        Ok(Self {
            ports: Ports::new(&object, ports, options)?,
            counters: object.map("counters")?,
            object,
        })
    }

    /// Says anew what its ports are, e.g. after an address changed. The
    /// interfaces that carry them must stay the same.
    ///
    /// # Errors
    /// [`RouterError`].
    pub fn update(&self, ports: &[RouterPort], options: RouterOptions) -> Result<(), RouterError> {
        self.ports.write(ports, options)
    }

    /// What it counted.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn counters(&self) -> Result<Counters, LoadError> {
        Counters::read([&self.counters])
    }
}

impl Path for Fib {
    fn entries(&self) -> Vec<Entry<'_>> {
        let entry = |ifindex: &u32| Entry {
            ifindex: *ifindex,
            program: self.object.program("fib"),
        };
        self.ports.carriers().iter().map(entry).collect()
    }
}
