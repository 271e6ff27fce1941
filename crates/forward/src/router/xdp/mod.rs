//! XDP programs on the router's ports, with kernel routing behind them: what a
//! program does not forward, the kernel does.

mod describe;
mod helpers;
mod watch;

use sys::failure::Failure;
use xdp::path::{CpuMap, Fib, RouterOptions, RouterPort, Then, Wire};
use xdp::{Attached, Path, Reason};

use self::describe::Description;
use self::watch::{Listening, Watch};
use super::ports::Ports;
use super::{Counters, Cpu, Own, Router, RouterError, Task};
use crate::topology::{Topology, address};

pub struct Xdp<P> {
    name: &'static str,
    // First: who tells the program of changes ends before it.
    watch: Option<Watch>,
    attached: Attached<P>,
    ports: Ports,
    helpers: Vec<i32>,
    count: Count<P>,
}

type Count<P> = fn(&P) -> Result<xdp::Counters, Failure>;

impl Xdp<Wire> {
    /// Every frame leaves by the other port, as it came.
    pub fn devmap(topology: &Topology) -> Result<Self, RouterError> {
        let sides = topology.sides().each_ref();
        let indices = sides.map(|side| side.router_index);
        let load = || Wire::load(indices);
        Self::start("xdp-devmap", topology, load, Wire::counters)
    }
}

impl Xdp<Fib> {
    pub fn fib(topology: &Topology) -> Result<Self, RouterError> {
        Self::following("xdp-fib", topology, Fib::load)
    }

    /// The kernel's answers are kept, and forgotten within 100 ms of a change of a
    /// route, a rule, a neighbour, a link, an address or a setting.
    pub fn fib_cached(topology: &Topology) -> Result<Self, RouterError> {
        Self::following("xdp-fib-cached", topology, Fib::load_cached)
    }

    fn following(
        name: &'static str,
        topology: &Topology,
        load: fn(&[RouterPort], RouterOptions) -> Result<Fib, Failure>,
    ) -> Result<Self, RouterError> {
        let listening = listen(name, topology)?;
        let Description { ports, options } = listening.description().clone();
        let load = || load(&ports, options);
        let mut router = Self::start(name, topology, load, Fib::counters)?;
        let watch = listening.follow(router.attached.control());
        router.watch = Some(watch.map_err(RouterError::of(format!(
            "cannot follow what changes for the path {name}"
        )))?);
        Ok(router)
    }
}

impl Xdp<CpuMap> {
    /// Frames are spread over the router's CPUs by their addresses, and the
    /// kernel forwards them there.
    pub fn cpumap(topology: &Topology) -> Result<Self, RouterError> {
        let name = "xdp-cpumap";
        let listening = listen(name, topology)?;
        let ports = &listening.description().ports;
        let mut cpus = topology.spec().cpus.router.clone();
        cpus.sort_unstable();
        cpus.dedup();
        let load = || CpuMap::load(ports, &cpus, Then::Kernel);
        let mut router = Self::start(name, topology, load, CpuMap::counters)?;
        let context = "cannot find the threads that take frames on other CPUs";
        let threads = router.attached.threads();
        let ending = threads.map_err(RouterError::of(context))?;
        router.helpers = helpers::wait_for(&ending, cpus.len())?;
        Ok(router)
    }
}

fn listen(name: &str, topology: &Topology) -> Result<Listening, RouterError> {
    address::assign_router(topology)
        .map_err(RouterError::of("cannot set up the router's table"))?;
    Listening::begin(topology).map_err(RouterError::of(format!("cannot start the path {name}")))
}

impl<P: Path + Send> Xdp<P> {
    fn start<E>(
        name: &'static str,
        topology: &Topology,
        load: impl FnOnce() -> Result<P, E> + Send,
        count: Count<P>,
    ) -> Result<Self, RouterError>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let context = || format!("cannot start the path {name}");
        let start = || {
            let path = load().map_err(RouterError::of(context()))?;
            Attached::new(path).map_err(RouterError::of(context()))
        };
        let inside = topology.router().run(start);
        let attached = inside.map_err(RouterError::of(context()))??;
        Ok(Self {
            name,
            watch: None,
            attached,
            ports: Ports::of(topology)?,
            helpers: Vec::new(),
            count,
        })
    }
}

impl<P> Xdp<P> {
    pub fn program(&self) -> &P {
        &self.attached
    }
}

impl<P: Path + Send> Router for Xdp<P> {
    fn path(&self) -> &'static str {
        self.name
    }

    fn counters(&mut self) -> Result<Counters, RouterError> {
        if let Some(error) = self.watch.as_ref().and_then(Watch::failed) {
            let context = format!(
                "{} does not follow changes of its tables, and leaves all frames to the kernel",
                self.name
            );
            return Err(RouterError::of::<Failure>(context)(error));
        }
        let counted = (self.count)(&self.attached).map_err(RouterError::of(format!(
            "cannot read what the programs of the path {} counted",
            self.name
        )))?;
        Ok(Counters {
            unsure: counted.passed(Reason::Unwatched),
            own: Some(Own {
                forwarded: counted.forwarded,
                busy_ns: 0,
            }),
            ..self.ports.counters()?
        })
    }

    fn cpu(&mut self) -> Result<Cpu, RouterError> {
        let watch_ns = self.watch.as_mut().map_or(0, Watch::cpu_ns);
        Ok(Cpu {
            kernel_ns: self.ports.cpu_ns()? + helpers::cpu_ns(&self.helpers)?,
            own_ns: watch_ns,
        })
    }

    fn tasks(&self) -> Vec<Task> {
        self.helpers.iter().copied().map(Task::Process).collect()
    }
}
