//! XDP programs on the router's ports, with kernel routing behind them: what a
//! program does not forward, the kernel does.

mod describe;
mod helpers;
mod neighbours;
mod settings;
mod special;
mod tables;
mod watch;

use net::{Decider, Namespace};
use sys::failure::Failure;
use xdp::path::{CpuMap, Fib, RouterOptions, RouterPort, Then, Wire};
use xdp::{Attached, Path, Reason};

use self::describe::Description;
use self::watch::{Listening, Watch};
use super::ports::Ports;
use super::{Counters, Cpu, Firewall, Own, Router, RouterError, Task};
use crate::topology::plan::Side;
use crate::topology::{Topology, address};

/// Programs on links of a namespace, told of what changes there.
pub struct Standing<P> {
    // First: who tells the program of changes ends before it.
    watch: Option<Watch>,
    attached: Attached<P>,
}

impl Standing<Fib> {
    /// A FIB cache on those links. What its kernel's table says is what it forwards by,
    /// and what else decides about frames is obeyed, if so wanted.
    pub fn fib_cached(
        namespace: &Namespace,
        links: Vec<String>,
        firewall: Firewall,
    ) -> Result<Self, RouterError> {
        let name = "xdp-fib-cached";
        Self::following(name, namespace, links, firewall, Fib::load_cached)
    }

    fn following(
        name: &str,
        namespace: &Namespace,
        links: Vec<String>,
        firewall: Firewall,
        load: fn(&[RouterPort], RouterOptions) -> Result<Fib, Failure>,
    ) -> Result<Self, RouterError> {
        let listening = Listening::begin(namespace, links, firewall)
            .map_err(RouterError::of(format!("cannot start the path {name}")))?;
        let Description { ports, options, .. } = listening.description().clone();
        let attached = attach(name, namespace, || load(&ports, options))?;
        let watch = listening.follow(attached.control());
        let watch = watch.map_err(RouterError::of(format!(
            "cannot follow what changes for the path {name}"
        )))?;
        Ok(Self {
            watch: Some(watch),
            attached,
        })
    }

    /// # Errors
    /// Also when what changes is not followed any more: all frames are the kernel's then.
    pub fn counters(&self, name: &str) -> Result<xdp::Counters, RouterError> {
        self.check(name)?;
        self.attached.counters().map_err(unread(name))
    }

    /// What else decides about the frames of its links, as it was seen last: obeyed or
    /// not, it is named.
    pub fn deciders(&self) -> Vec<Decider> {
        self.watch.as_ref().map_or_else(Vec::new, Watch::deciders)
    }

    /// Of the frames that came in by that interface; `None` if it is none of its own.
    pub fn counters_of(&self, ifindex: u32) -> Result<Option<xdp::Counters>, Failure> {
        self.attached.counters_of(ifindex)
    }
}

impl<P> Standing<P> {
    fn check(&self, name: &str) -> Result<(), RouterError> {
        match self.watch.as_ref().and_then(Watch::failed) {
            None => Ok(()),
            Some(error) => {
                let context = format!(
                    "{name} does not follow changes of its tables, and leaves all frames to the kernel"
                );
                Err(RouterError::of::<Failure>(context)(error))
            }
        }
    }
}

fn unread(name: &str) -> impl FnOnce(Failure) -> RouterError {
    RouterError::of(format!(
        "cannot read what the programs of the path {name} counted"
    ))
}

/// Loads a path inside, and puts it on its ports.
fn attach<P: Path + Send, E>(
    name: &str,
    namespace: &Namespace,
    load: impl FnOnce() -> Result<P, E> + Send,
) -> Result<Attached<P>, RouterError>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let context = || format!("cannot start the path {name}");
    let start = || {
        let path = load().map_err(RouterError::of(context()))?;
        Attached::new(path).map_err(RouterError::of(context()))
    };
    let inside = namespace.run(start);
    inside.map_err(RouterError::of(context()))?
}

pub struct Xdp<P> {
    name: &'static str,
    standing: Standing<P>,
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
        let links = set_up(topology)?;
        let router = topology.router();
        let standing = Standing::following(name, router, links, Firewall::Obey, load)?;
        Self::over(name, topology, standing, Fib::counters)
    }
}

impl Xdp<CpuMap> {
    /// Frames are spread over the router's CPUs by their addresses, and the
    /// kernel forwards them there.
    pub fn cpumap(topology: &Topology) -> Result<Self, RouterError> {
        let name = "xdp-cpumap";
        let links = set_up(topology)?;
        let listening = Listening::begin(topology.router(), links, Firewall::Obey)
            .map_err(RouterError::of(format!("cannot start the path {name}")))?;
        let ports = &listening.description().ports;
        let mut cpus = topology.spec().cpus.router.clone();
        cpus.sort_unstable();
        cpus.dedup();
        let load = || CpuMap::load(ports, &cpus, Then::Kernel);
        let mut router = Self::start(name, topology, load, CpuMap::counters)?;
        let context = "cannot find the threads that take frames on other CPUs";
        let threads = router.standing.attached.threads();
        let ending = threads.map_err(RouterError::of(context))?;
        router.helpers = helpers::wait_for(&ending, cpus.len())?;
        Ok(router)
    }
}

/// Gives the router its addresses and routes; its links.
fn set_up(topology: &Topology) -> Result<Vec<String>, RouterError> {
    address::assign_router(topology)
        .map_err(RouterError::of("cannot set up the router's table"))?;
    let links = Side::BOTH.map(|side| topology.router_link(side).to_owned());
    Ok(links.to_vec())
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
        let attached = attach(name, topology.router(), load)?;
        let standing = Standing {
            watch: None,
            attached,
        };
        Self::over(name, topology, standing, count)
    }

    fn over(
        name: &'static str,
        topology: &Topology,
        standing: Standing<P>,
        count: Count<P>,
    ) -> Result<Self, RouterError> {
        Ok(Self {
            name,
            standing,
            ports: Ports::of(topology)?,
            helpers: Vec::new(),
            count,
        })
    }
}

impl<P> Xdp<P> {
    pub fn program(&self) -> &P {
        &self.standing.attached
    }
}

impl<P: Path + Send> Router for Xdp<P> {
    fn path(&self) -> &'static str {
        self.name
    }

    fn counters(&mut self) -> Result<Counters, RouterError> {
        self.standing.check(self.name)?;
        let counted = (self.count)(&self.standing.attached).map_err(unread(self.name))?;
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
        let watch_ns = self.standing.watch.as_mut().map_or(0, Watch::cpu_ns);
        Ok(Cpu {
            kernel_ns: self.ports.cpu_ns()? + helpers::cpu_ns(&self.helpers)?,
            own_ns: watch_ns,
        })
    }

    fn tasks(&self) -> Vec<Task> {
        self.helpers.iter().copied().map(Task::Process).collect()
    }
}
