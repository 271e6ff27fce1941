//! Routers that ask the kernel's tables (`bpf_fib_lookup`) for every frame,
//! `bpf/fib.bpf.c`, or keep the answers, `bpf/cached.bpf.c`.

use sys::failure::Failure;

use crate::attached::{Entry, Path};
use crate::counters::Counters;
use crate::object::{Map, Object, source};

use super::control::Control;
use super::ports::{RouterOptions, RouterPort};

/// Forwards plain frames as the kernel would, and leaves the rest to it. Unlike the
/// kernel's own routing it applies no firewall and no traffic control. Until it is
/// watched ([`Control::renew`]), every frame goes to the kernel.
pub struct Fib {
    program: &'static str,
    counters: Map,
    control: Control,
}

impl Fib {
    /// Loads it for these ports, in whose network namespace the calling thread must
    /// be.
    pub fn load(ports: &[RouterPort], options: RouterOptions) -> Result<Self, Failure> {
        let object = Object::load(&source!("fib"), |_| Ok(()))?;
        Ok(Self {
            program: "fib",
            counters: object.map("counters")?,
            control: Control::new(object, ports, options)?,
        })
    }

    /// As [`load`](Self::load), with a cache of 262,144 next hops, by destination and
    /// port, and of 65,536 sources that may send by a port. There is one for all
    /// addresses that [`Control::set_alike`] says go the same way. They are used until
    /// [`Control::forget`].
    pub fn load_cached(ports: &[RouterPort], options: RouterOptions) -> Result<Self, Failure> {
        let object = Object::load(&source!("cached"), |_| Ok(()))?;
        Ok(Self {
            program: "cached",
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

    /// Of the frames that came in by this interface, with any VLAN; `None` where the
    /// program is not on it. Where only VLANs on it are ports, they are in
    /// [`counters`](Self::counters) alone.
    pub fn counters_of(&self, ifindex: u32) -> Result<Option<Counters>, Failure> {
        let device = self.control.device(ifindex);
        device
            .map(|device| Counters::read_of(&self.counters, device))
            .transpose()
    }
}

impl Path for Fib {
    fn entries(&self) -> Vec<Entry<'_>> {
        self.control.entries(self.program)
    }
}
