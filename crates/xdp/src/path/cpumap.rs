//! Frames handed to other CPUs: `bpf/cpumap.bpf.c`.

use std::os::fd::{AsFd, AsRawFd};

use sys::failure::Failure;

use crate::attached::{Entry, Path};
use crate::counters::Counters;
use crate::object::{Map, Object, source};

use super::control::Control;
use super::ports::{RouterOptions, RouterPort};

/// The most CPUs that frames are spread over.
pub const CPUS_MAX: usize = 64;
/// Frames that wait for one CPU; more are dropped. The kernel's own RPS takes
/// 1,000 (`net.core.netdev_max_backlog`).
const QUEUE_FRAMES: u32 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Kernel,
    /// A program that asks the kernel's tables for each frame, as
    /// [`super::Fib`].
    Fib(RouterOptions),
}

#[derive(Debug, thiserror::Error)]
pub enum CpuMapError {
    #[error("frames go to 1 to {CPUS_MAX} CPUs below {possible}: not to {cpus:?}")]
    Cpus { cpus: Vec<usize>, possible: usize },
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Spreads IP frames over CPUs, all between two addresses to the same one, so that
/// their order stays. The kernel's thread `cpumap/<cpu>/map:<id>` receives them
/// there.
pub struct CpuMap {
    spread: Map,
    routed: Map,
    cpus: Map,
    control: Control,
}

impl CpuMap {
    /// Loads it for these ports, in whose network namespace the calling thread
    /// must be.
    pub fn load(ports: &[RouterPort], cpus: &[usize], then: Then) -> Result<Self, CpuMapError> {
        let possible = libbpf_rs::num_possible_cpus().unwrap_or(1);
        if !(1..=CPUS_MAX).contains(&cpus.len()) || cpus.iter().any(|cpu| *cpu >= possible) {
            return Err(CpuMapError::Cpus {
                cpus: cpus.to_vec(),
                possible,
            });
        }
        let object = Object::load(&source!("cpumap"), |open| {
            let mut maps = open.maps_mut();
            let map = maps.find(|map| map.name() == "cpus");
            map.map_or(Ok(()), |mut map| map.set_max_entries(number(possible)))
        })?;
        let options = match then {
            Then::Kernel => RouterOptions::default(),
            Then::Fib(options) => options,
        };
        let this = Self {
            spread: object.map("spread_counters")?,
            routed: object.map("counters")?,
            cpus: object.map("cpus")?,
            control: Control::new(object, ports, options)?,
        };
        this.write(cpus, then)?;
        Ok(this)
    }

    /// `struct cpu_queue` of each CPU, and `struct spread`.
    fn write(&self, cpus: &[usize], then: Then) -> Result<(), Failure> {
        let program = self.control.object().program("on_cpu");
        let program = match then {
            Then::Kernel => 0,
            Then::Fib(_) => program.as_fd().as_raw_fd(),
        };
        let queue = [QUEUE_FRAMES.to_ne_bytes(), program.to_ne_bytes()].concat();
        let mut spread = Vec::with_capacity(4 * (CPUS_MAX + 1));
        for cpu in cpus {
            self.cpus.write(number(*cpu), &queue)?;
            spread.extend(number(*cpu).to_ne_bytes());
        }
        spread.resize(4 * CPUS_MAX, 0);
        spread.extend(number(cpus.len()).to_ne_bytes());
        let map = self.control.object().map(".data.spread")?;
        map.write(0, &spread)
    }

    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Counts of the first program: `forwarded` frames were handed to a CPU, whose
    /// queue may have been full.
    pub fn counters(&self) -> Result<Counters, Failure> {
        Counters::read([&self.spread])
    }

    /// Counts of the second program, with [`Then::Fib`].
    pub fn routed(&self) -> Result<Counters, Failure> {
        Counters::read([&self.routed])
    }

    /// How the names of its threads end: `map:<id>`. The kernel makes one a CPU,
    /// called `cpumap/<cpu>/map:<id>`.
    pub fn threads(&self) -> Result<String, Failure> {
        Ok(format!("map:{}", self.cpus.id()?))
    }
}

fn number(value: usize) -> u32 {
    u32::try_from(value).expect("CPUs are counted in thousands")
}

impl Path for CpuMap {
    fn entries(&self) -> Vec<Entry<'_>> {
        self.control.entries("to_cpu")
    }
}
