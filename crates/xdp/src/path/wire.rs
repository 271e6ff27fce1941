//! Two ports as the ends of a wire: devmap redirect, `bpf/devmap.bpf.c`.

use sys::failure::Failure;

use crate::attached::{Entry, Path};
use crate::counters::Counters;
use crate::object::{Map, Object, source};

struct Direction {
    from: u32,
    object: Object,
    counters: Map,
}

/// Every frame leaves by the other port unchanged.
pub struct Wire {
    directions: [Direction; 2],
}

impl Wire {
    /// Loads it for two interfaces, in whose network namespace the calling
    /// thread must be.
    pub fn load(ports: [u32; 2]) -> Result<Self, Failure> {
        let [low, high] = [ports[0].min(ports[1]), ports[0].max(ports[1])];
        Ok(Self {
            directions: [direction(low, high)?, direction(high, low)?],
        })
    }

    pub fn counters(&self) -> Result<Counters, Failure> {
        Counters::read(self.directions.iter().map(|direction| &direction.counters))
    }
}

fn direction(from: u32, to: u32) -> Result<Direction, Failure> {
    let object = Object::load(&source!("devmap"), |_| Ok(()))?;
    object.map("other")?.write(0, &to.to_ne_bytes())?;
    Ok(Direction {
        from,
        counters: object.map("counters")?,
        object,
    })
}

impl Direction {
    fn entry(&self) -> Entry<'_> {
        Entry {
            ifindex: self.from,
            program: self.object.program("wire"),
        }
    }
}

impl Path for Wire {
    fn entries(&self) -> Vec<Entry<'_>> {
        self.directions.iter().map(Direction::entry).collect()
    }
}
