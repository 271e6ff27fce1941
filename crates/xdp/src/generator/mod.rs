//! Sends test frames by live frames: the fastest a host can, with no network
//! card. `bpf/generator.bpf.c` is the program.

mod live;
mod plan;
mod template;
mod turns;
mod watch;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use sys::failure::Failure;

use crate::object::{Map, Object, number, source};
use crate::sink::Reached;

use plan::Image;
pub use plan::{ORDER_MAX, Plan, SIZES_MAX};
pub use turns::{GENERATORS_MAX, Turns};
use watch::Lookout;
pub use watch::{Phase, Watch};

#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error(transparent)]
    Failed(#[from] Failure),
    #[error(
        "the kernel does not send live frames; it needs Linux 5.18 or newer and root (or CAP_BPF and CAP_NET_ADMIN)"
    )]
    Refused(#[source] io::Error),
    #[error(
        "one plan for each of 1 to {GENERATORS_MAX} generators can be sent from one thread, not {plans} plans by {generators}"
    )]
    Turns { generators: usize, plans: usize },
    #[error(
        "streams that one thread sends must have frames of the same sizes and the same IP version; send them one after the other"
    )]
    Frames,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames that were due while it ran: at the stream's rate, or as many as
    /// were offered where it has none.
    pub due: u64,
    /// Frames handed to the port: loss is counted against these. Whether its peer had
    /// room for each is not known here.
    pub offered: u64,
    /// When the first frame was due, ns of `CLOCK_MONOTONIC`; 0 if none was.
    pub start_ns: u64,
    /// From then to the last frame's due time, ns.
    pub elapsed_ns: u64,
    /// Longest time by which a frame was behind its due time, ns.
    pub behind_ns_max: u64,
    /// Longest time between two looks at the clock, ns.
    pub gap_ns_max: u64,
    /// Frames counted as lost, where the number under way is limited: some of them
    /// were not heard of in time.
    pub given_up: u64,
    /// CPU time of the calling thread, ns. It never sleeps while it sends.
    pub cpu_ns: u64,
}

pub struct Generator {
    program: OwnedFd,
    plan: Map,
    progress: Map,
    sinks: Map,
    // Keeps the program's other map.
    _object: Object,
}

impl Generator {
    /// Loads a generator for the port, in whose network namespace the calling
    /// thread must be. Frames come out of the peer of the port; one that is a
    /// veth needs an XDP program or NAPI at that peer, else they vanish.
    pub fn load(ifindex: u32) -> Result<Self, Failure> {
        let object = Object::load(&source!("generator"), |_| Ok(()))?;
        object.map("port")?.write(0, &ifindex.to_ne_bytes())?;
        let program = object
            .program("generate")
            .as_fd()
            .try_clone_to_owned()
            .map_err(Failure::of(
                "the generator's program cannot be opened again; raise ulimit -n",
            ))?;
        Ok(Self {
            program,
            plan: object.map(".data.plan")?,
            progress: object.map(".data.progress")?,
            sinks: object.map("sinks")?,
            _object: object,
        })
    }

    /// From now on the limit of frames under way is kept by this sink's counts.
    pub fn follow(&mut self, sink: &Reached) -> Result<(), Failure> {
        self.sinks.write_map(0, &sink.0)
    }

    /// Sends from the calling thread, on its CPU, until the time is over or the
    /// watcher ends it. Takes about 25 ms more than the stream, partly before its
    /// first frame: the watcher hears when sending begins and when it is over.
    pub fn send<'a>(
        &mut self,
        plan: &Plan,
        watch: impl Into<Watch<'a>>,
    ) -> Result<Sent, SendError> {
        let image = plan.image()?;
        let cpu = sys::clock::thread_cpu();
        self.begin(&image)?;
        let what = (self.program.as_fd(), &image.page[..], image.batch);
        run(what, watch.into(), plan.duration, &|| self.phase())?;
        let mut sent = self.sent(&image, plan.duration)?;
        let cpu = sys::clock::thread_cpu().saturating_sub(cpu);
        sent.cpu_ns = u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX);
        Ok(sent)
    }

    fn begin(&self, image: &Image) -> Result<(), Failure> {
        self.plan.write(0, &image.plan)?;
        self.progress.write(0, &[0; PROGRESS_BYTES])
    }

    /// The stream's phase; `None` before its first frame. A map that cannot be read
    /// ends the stream: the error comes with the counts.
    fn phase(&self) -> Option<Phase> {
        match self.progress.read(0) {
            Ok(value) if number(&value, 7) >> 32 == 0 => {
                (number(&value, 1) != 0).then_some(Phase::Begun)
            }
            _ => Some(Phase::Over),
        }
    }

    /// From `struct progress`.
    fn sent(&self, image: &Image, duration: Duration) -> Result<Sent, SendError> {
        let value = self.progress.read(0)?;
        let [
            offered,
            start_ns,
            now_ns,
            _,
            last_ns,
            behind_ns_max,
            gap_ns_max,
        ] = std::array::from_fn(|index| number(&value, index));
        let run_ns = now_ns.saturating_sub(start_ns);
        let planned_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let due = if image.interval_ns > 0.0 {
            (run_ns.min(planned_ns) as f64 / image.interval_ns).ceil() as u64
        } else {
            offered
        };
        Ok(Sent {
            due: due.max(offered),
            offered,
            start_ns,
            elapsed_ns: last_ns.saturating_sub(start_ns),
            behind_ns_max,
            gap_ns_max,
            given_up: number(&value, 10),
            cpu_ns: 0,
        })
    }
}

/// Calls the kernel with a program, its frames and their batch until the stream is
/// over. Meanwhile another thread watches for its end or a stop, and interrupts the
/// call. `longest` is the stream's time.
fn run(
    (program, frame, batch): (BorrowedFd<'_>, &[u8], u32),
    watch: Watch<'_>,
    longest: Duration,
    phase: &(dyn Fn() -> Option<Phase> + Sync),
) -> Result<(), SendError> {
    let lookout = Lookout {
        watch,
        longest,
        phase,
        sender: live::Thread::this().map_err(no_watch())?,
        is_out: AtomicBool::new(false),
    };
    let cpus = watch::other_cpus();
    thread::scope(|scope| {
        let watcher = thread::Builder::new()
            .name("lockgate-watch".to_owned())
            .spawn_scoped(scope, || {
                watch::move_to(&cpus);
                lookout.look();
            })
            .map_err(no_watch())?;
        let mut ended = Ok(());
        while ended.is_ok() && !lookout.is_over() {
            ended = live::run(program, frame, batch);
        }
        lookout.is_out.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        ended.map_err(SendError::Refused)
    })
}

fn no_watch() -> impl FnOnce(io::Error) -> Failure {
    Failure::of("the sending thread could not be made to end in time")
}

/// `struct progress`.
const PROGRESS_BYTES: usize = 88;
