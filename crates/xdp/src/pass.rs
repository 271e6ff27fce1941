//! A program that hands every frame to the kernel.

use sys::failure::Failure;

use crate::attached::{Entry, Path};
use crate::object::{Object, source};

/// Hands every frame of one port to the kernel. It turns NAPI on for a veth, so that
/// frames redirected to its peer arrive.
pub struct Pass {
    object: Object,
    ports: Vec<u32>,
}

impl Pass {
    pub fn load(ports: &[u32]) -> Result<Self, Failure> {
        let mut ports = ports.to_vec();
        ports.sort_unstable();
        ports.dedup();
        Ok(Self {
            object: Object::load(&source!("pass"), |_| Ok(()))?,
            ports,
        })
    }
}

impl Path for Pass {
    fn entries(&self) -> Vec<Entry<'_>> {
        let entry = |ifindex: &u32| Entry {
            ifindex: *ifindex,
            program: self.object.program("pass"),
        };
        self.ports.iter().map(entry).collect()
    }
}
