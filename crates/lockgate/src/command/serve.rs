//! `lockgate serve`

mod config;
mod confined;
mod lines;

use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow};
use crypto::{Backend, Kind};
use engine::{CryptoEngine, Governed, Governor};
use kit::load::piece::{self, Best};
use signal_hook::consts::SIGUSR1;
use sys::failure::with_causes;
use vhost::{Bound, Device, DeviceCounters, Notice, Notices, Supervisor};

use crate::cli::ServeArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::interrupt;
use crate::log_lines::LogLines;

use config::{Served, ServedFunction};
use confined::{Plan, Remover};
use lines::Line;

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(100);

pub fn serve(arguments: &ServeArguments, console: &Console) -> Result<Exit, Failure> {
    let path = arguments.file.display();
    let text = std::fs::read_to_string(&arguments.file);
    let text = text
        .with_context(|| format!("cannot read {path}"))
        .or_usage()?;
    let served = config::parse(&text);
    let served = served
        .map_err(|error| anyhow!("{path}: {error}"))
        .or_usage()?;
    let plan = Plan::of(arguments, &served)?;
    if !arguments.no_lines {
        console.print(&overview(&served, &plan))?;
    }
    if arguments.check {
        return Ok(Exit::Ok);
    }
    let remover = plan.remover(console)?;
    let stop = interrupt::flag().or_failed()?;
    let asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, Arc::clone(&asked)).or_failed()?;
    let server = Server::start(served, &plan, remover, console)?;
    console.notice("serving; SIGUSR1 prints the counters, SIGTERM, SIGHUP or Ctrl-C ends");
    let (mut failure, mut is_said) = (None, false);
    while failure.is_none() && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
        if !is_said && let Some(words) = confined::unlocked() {
            is_said = true;
            console.warning(&words);
        }
        if asked.swap(false, Ordering::Relaxed) {
            console.offer(&server.counters());
        }
        failure = server.failure();
    }
    console.notice("ending: what was taken is finished");
    let counters = server.end();
    console.offer(&counters);
    // Never half alive: whoever started this starts it again.
    failure.map_or(Ok(Exit::Ok), Err).or_failed()
}

/// Who is served and how, and what their guests take.
fn overview(served: &Served, plan: &Plan) -> String {
    let mut text = format!("{}\n\n", plan.in_words());
    for one in &served.functions {
        let line = Line {
            name: &one.name,
            socket: &one.device.socket.path,
            queues: one.device.queues,
        };
        let controller = one.controller.as_ref().map_or("none", |one| one.name());
        let _ = writeln!(
            text,
            "{}: {}, mode {:04o}; {}; weight {}, {}; interrupts: {controller}\n\nQEMU 7.2 or later, with memory of any size:\n{}\nlibvirt:\n{}",
            one.name,
            one.device.socket.path.display(),
            one.device.socket.mode,
            one.algorithms.join(", "),
            one.function.weight,
            one.quota,
            line.qemu(),
            line.libvirt()
        );
    }
    text.push_str(
        "Stock QEMU offers guests AES-CBC only on such a device. A guest that has one does not
migrate. When this program ends, the guest's device stops until its QEMU is started
again; give the chardev no `reconnect`, of which QEMU 7.2 and 10.0 die then. QEMU 7.2
without KVM needs `vectors=0` on the device.
",
    );
    text
}

struct Server {
    devices: Vec<(String, Device)>,
    governor: Option<Governor>,
    supervisor: Supervisor,
    _engine: CryptoEngine,
    /// Ends last.
    _remover: Option<Remover>,
}

impl Server {
    fn start(
        mut served: Served,
        plan: &Plan,
        remover: Option<Remover>,
        console: &Console,
    ) -> Result<Self, Failure> {
        let backend = probe::calibration::backend(&served.backend).or_usage()?;
        let mut pieces = Pieces::new(Arc::clone(&backend));
        for one in &mut served.functions {
            if let Some(kind) = one.piece_of {
                let best = pieces.best(kind).or_failed()?;
                console.notice(&format!("{}: {best}", one.name));
                one.device.piece_bytes = Some(best.bytes);
            }
        }
        let mut bound = Vec::new();
        for one in served.functions {
            let socket = Bound::new(one.device.clone());
            let socket = socket.with_context(|| format!("vf {:?}", one.name));
            bound.push((socket.or_failed()?, one));
        }
        // What is chosen from files, once, is chosen while they can be read.
        for kind in Kind::all() {
            backend.width(kind);
        }
        plan.enter(console)?;
        let engine = CryptoEngine::start(backend, &served.workers);
        let engine = engine.context("cannot start the workers").or_failed()?;
        let supervisor = Supervisor::start(engine.overseer(), served.limits);
        let supervisor = supervisor
            .context("cannot start the supervisor")
            .or_failed()?;
        let (mut devices, mut governed) = (Vec::new(), Vec::new());
        for (bound, one) in bound {
            let ServedFunction {
                name,
                function,
                controller,
                ..
            } = one;
            let function = engine.function(function);
            let function = function
                .with_context(|| format!("vf {name:?}"))
                .or_usage()?;
            if let Some(controller) = controller {
                let watch = function.watch();
                governed.push(Governed { controller, watch });
            }
            let device = bound.start(function, tell(&name, console.lines()), &supervisor);
            let device = device.with_context(|| format!("vf {name:?}")).or_failed()?;
            devices.push((name, device));
        }
        let governor = if governed.is_empty() {
            None
        } else {
            let governor = Governor::start(governed, None);
            Some(
                governor
                    .context("cannot start the controllers")
                    .or_failed()?,
            )
        };
        Ok(Self {
            devices,
            governor,
            supervisor,
            _engine: engine,
            _remover: remover,
        })
    }

    /// What has ended that should not have.
    fn failure(&self) -> Option<anyhow::Error> {
        let governor = self.governor.as_ref();
        if governor.is_some_and(Governor::has_failed) {
            return Some(anyhow!(
                "the thread of the controllers has ended by a panic"
            ));
        }
        self.supervisor.failure().map(Into::into)
    }

    fn counters(&self) -> String {
        let all = self.devices.iter();
        table(all.map(|(name, device)| (name.as_str(), device.counters())))
    }

    fn end(mut self) -> String {
        drop(self.governor.take());
        let ended = self.devices.drain(..).map(|(name, device)| {
            let shown = device.end();
            (name, shown)
        });
        let ended: Vec<_> = ended.collect();
        table(
            ended
                .iter()
                .map(|(name, counters)| (name.as_str(), counters.clone())),
        )
    }
}

/// The best piece of each kind, measured once.
struct Pieces {
    backend: Arc<dyn Backend>,
    known: Vec<(Kind, Best)>,
}

impl Pieces {
    fn new(backend: Arc<dyn Backend>) -> Self {
        let known = Vec::new();
        Self { backend, known }
    }

    fn best(&mut self, kind: Kind) -> Result<&Best, anyhow::Error> {
        let at = match self.known.iter().position(|(known, _)| *known == kind) {
            Some(at) => at,
            None => {
                let best = piece::best(Arc::clone(&self.backend), kind);
                let best = best.with_context(|| {
                    format!(
                        "cannot measure the best piece of {}; give `piece` a size",
                        kind.algorithm
                    )
                })?;
                self.known.push((kind, best));
                self.known.len() - 1
            }
        };
        Ok(&self.known[at].1)
    }
}

/// What a device says, with its name. Its own threads say it: they must not wait.
fn tell(name: &str, lines: &LogLines) -> Notices {
    let (name, lines) = (name.to_owned(), lines.clone());
    Arc::new(move |notice| {
        let broken_queue;
        let (about, error): (_, Option<&dyn Error>) = match notice {
            Notice::Connected => ("a guest connects", None),
            Notice::Disconnected(None) => ("its guest leaves", None),
            Notice::Disconnected(Some(error)) => ("its guest is cut off", Some(error)),
            Notice::SessionRefused(error) => ("a session is refused", Some(error)),
            Notice::QueueBroken { broken, .. } => {
                broken_queue = broken;
                (
                    "a queue takes nothing more until its driver is reset",
                    Some(&broken_queue),
                )
            }
            Notice::Quarantined { .. } => (
                "its memory held its worker up: it is on a worker for such guests",
                None,
            ),
            Notice::Returned => ("it is back among the others", None),
            Notice::Panicked => ("its thread panicked, and was started again", None),
        };
        lines.tell(&name, about, || match error {
            None => format!("{name}: {about}"),
            Some(error) => format!("{name}: {about}: {}", with_causes(error)),
        });
    })
}

fn table<'a>(rows: impl Iterator<Item = (&'a str, DeviceCounters)>) -> String {
    let mut text = format!(
        "{:<16} {:>12} {:>15} {:>12} {:>9} {:>9}  refused\n",
        "vf", "requests", "bytes", "interrupts", "sessions", "throttled"
    );
    for (name, counters) in rows {
        let function = counters.function;
        let refused: Vec<String> = counters
            .refused
            .iter()
            .map(|(why, count)| format!("{count} {}", why.in_words()))
            .chain(
                counters
                    .broken
                    .map(|broken| format!("a queue broke: {broken}")),
            )
            .chain((counters.stalls > 0).then(|| format!("{} stalls", counters.stalls)))
            .chain(counters.is_quarantined.then(|| "in quarantine".to_owned()))
            .chain((counters.made_bytes > 0).then(|| format!("{} bytes made", counters.made_bytes)))
            .chain(
                (counters.repeated_calls > 0)
                    .then(|| format!("{} interrupts repeated", counters.repeated_calls)),
            )
            .chain((counters.panics > 0).then(|| format!("{} panics", counters.panics)))
            .collect();
        let refused = if refused.is_empty() {
            "none".to_owned()
        } else {
            refused.join("; ")
        };
        let _ = writeln!(
            text,
            "{name:<16} {:>12} {:>15} {:>12} {:>9} {:>9}  {refused}",
            function.requests,
            function.bytes,
            function.notifications,
            counters.sessions,
            function.throttled
        );
    }
    text
}
