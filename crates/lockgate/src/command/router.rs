//! `lockgate router`

mod desk;
mod keeper;
mod text;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use forward::plane::{self, Holder, Plan, RouterShown};
use rustix::process::{Pid, Signal, kill_process};

use crate::cli::{RouterArguments, RouterCommand};
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::interrupt;
use crate::measure;

use desk::{Answer, Desk, Request};

/// Of ip-netns(8).
const NAMESPACES: &str = "/run/netns";
/// A program that was killed is gone by then.
const DYING: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(20);
/// What a program that does not start says is shorter.
const SAID_BYTES_MAX: u64 = 1 << 20;

pub fn router(arguments: &RouterArguments, console: &Console) -> Result<Exit, Failure> {
    match &arguments.command {
        RouterCommand::Up {
            file,
            check,
            foreground,
            to_log,
        } => {
            let plan = read(file)?;
            if *check {
                console.print(&text::plan(&plan))?;
                return Ok(Exit::Ok);
            }
            need_root()?;
            let desk = Desk::of(file)?;
            if *foreground {
                return keeper::keep(&desk, &plan, *to_log, console);
            }
            up(&desk, &plan, console)
        }
        RouterCommand::Down { file: Some(file) } => {
            need_root()?;
            down(&Desk::of(file)?, console)
        }
        RouterCommand::Down { file: None } => {
            need_root()?;
            each(console, true, |desk| down(desk, console))
        }
        RouterCommand::Show {
            file: Some(file),
            json,
        } => {
            need_root()?;
            show(&shown(&Desk::of(file)?)?, *json, console)
        }
        RouterCommand::Show { file: None, json } => {
            need_root()?;
            if *json {
                let up = Desk::all()?.into_iter().filter(Desk::is_kept);
                let all = up.map(|desk| shown(&desk)).collect::<Result<Vec<_>, _>>()?;
                return show(&all.concat(), true, console);
            }
            each(console, false, |desk| show(&shown(desk)?, false, console))
        }
        RouterCommand::Reload { file } => {
            // What is wrong with it is said here, by name.
            read(file)?;
            need_root()?;
            match Desk::of(file)?.ask(Request::Reload)? {
                Answer::Changed(changes) => told(&changes, console),
                other => Err(other.into_failure()),
            }
        }
    }
}

/// Does that to the routers of every file, those too that a killed program kept where
/// `with_killed`. The first failure is told, after all were tried.
fn each(
    console: &Console,
    with_killed: bool,
    mut of: impl FnMut(&Desk) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let mut all = Desk::all()?;
    all.retain(|desk| with_killed || desk.is_kept());
    if all.is_empty() {
        console.print("no routers are up; `lockgate router up FILE` makes those of a file\n")?;
    }
    let mut ended = Ok(Exit::Ok);
    for desk in &all {
        console.print(&format!("{}:\n", desk.file().display()))?;
        let one = of(desk);
        ended = ended.and(one);
    }
    ended
}

fn shown(desk: &Desk) -> Result<Vec<RouterShown>, Failure> {
    match desk.ask(Request::Show)? {
        Answer::Shown(routers) => Ok(routers),
        other => Err(other.into_failure()),
    }
}

fn show(routers: &[RouterShown], json: bool, console: &Console) -> Result<Exit, Failure> {
    let text = match json {
        true => sys::plain::json(&serde_json::to_string_pretty(routers).or_failed()?) + "\n",
        false => text::shown(routers),
    };
    console.print(&text)?;
    Ok(Exit::Ok)
}

fn read(file: &Path) -> Result<Plan, Failure> {
    let path = file.display();
    let text = std::fs::read_to_string(file);
    let text = text
        .with_context(|| format!("cannot read {path}"))
        .or_usage()?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let folder = folder.canonicalize().or_usage()?;
    let plan = Plan::read(&text, &folder);
    plan.map_err(|error| anyhow!("{path}: {error}")).or_usage()
}

fn need_root() -> Result<(), Failure> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Missing,
        "routers need root: network namespaces and XDP programs; run with sudo",
    ))
}

fn told(changes: &[String], console: &Console) -> Result<Exit, Failure> {
    let text = match changes {
        [] => "nothing differs\n".to_owned(),
        changes => changes.join("\n") + "\n",
    };
    console.print(&text)?;
    Ok(Exit::Ok)
}

/// Starts a program that keeps them, and waits until they are up. It is one of its own:
/// neither the end of a terminal nor a Ctrl-C there reaches it.
fn up(desk: &Desk, plan: &Plan, console: &Console) -> Result<Exit, Failure> {
    let stop = interrupt::flag().or_failed()?;
    let mut starting = Starting::begin(desk, console.is_quiet())?;
    let is_up = starting.is_up(&stop);
    if is_up && !starting.is_told {
        console.relay(&starting.said());
        console.print(&text::plan(plan))?;
        console.print(&text::up(plan))?;
        if let Answer::Shown(routers) = desk.ask(Request::Show)? {
            for router in routers.iter().filter(|one| !one.deciders.is_empty()) {
                let deciders = text::deciders(router);
                console.print(&format!("{}:\n{deciders}", router.name))?;
            }
        }
        return Ok(Exit::Ok);
    }
    let ended = starting.child.wait().or_failed()?;
    let said = starting.said();
    // Its last words are why.
    let (before, reason) = match said.find("error:") {
        Some(at) => said.split_at(at),
        None => (&*said, ""),
    };
    console.relay(before);
    let exit = match ended.code() {
        Some(0 | 130) if starting.is_told => return Ok(Exit::Interrupted),
        Some(2) => Exit::Usage,
        Some(4) => Exit::Missing,
        _ => Exit::Failed,
    };
    let reason = match reason.trim_start_matches("error:").trim() {
        "" => format!("the program that keeps routers ended: {ended}"),
        reason => reason.to_owned(),
    };
    Err(Failure::new(exit, reason))
}

/// The program that keeps routers, until they are up.
struct Starting {
    child: Child,
    first_line: Receiver<String>,
    said: Option<JoinHandle<String>>,
    /// To end.
    is_told: bool,
}

impl Starting {
    fn begin(desk: &Desk, is_quiet: bool) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe().or_failed()?);
        command
            .args(is_quiet.then_some("--quiet"))
            .args(["router", "up", "--to-log", "--foreground"])
            .arg(desk.file())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .current_dir("/");
        sys::process::detach(&mut command);
        let mut child = command
            .spawn()
            .context("cannot start the program that keeps routers")
            .or_failed()?;
        let pipes = child.stdout.take().zip(child.stderr.take());
        let (output, errors) = pipes.expect("both are piped");
        let (line_to, first_line) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = BufReader::new(output.take(SAID_BYTES_MAX)).read_line(&mut line);
            let _ = line_to.send(line);
        });
        let said = std::thread::spawn(move || {
            let mut said = Vec::new();
            let _ = errors.take(SAID_BYTES_MAX).read_to_end(&mut said);
            String::from_utf8_lossy(&said).into_owned()
        });
        Ok(Self {
            child,
            first_line,
            said: Some(said),
            is_told: false,
        })
    }

    /// Once it says so, or has ended; where `stop` comes first it is told to end.
    fn is_up(&mut self, stop: &AtomicBool) -> bool {
        loop {
            match self.first_line.recv_timeout(LOOK) {
                Ok(line) => return line.trim() == keeper::UP,
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if stop.load(Ordering::Relaxed) && !self.is_told {
                self.is_told = true;
                // It is waited for later: the number is its own.
                let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            }
        }
    }

    /// What it said on stderr, until it was up or ended.
    fn said(&mut self) -> String {
        let said = self.said.take().map(JoinHandle::join);
        said.and_then(Result::ok).unwrap_or_default()
    }
}

fn down(desk: &Desk, console: &Console) -> Result<Exit, Failure> {
    // Also of a file that cannot be read any more.
    let plan = read(desk.file()).unwrap_or_default();
    if desk.is_kept() {
        match desk.ask(Request::Down) {
            Ok(Answer::Changed(changes)) => {
                desk.wait_until_gone()?;
                return told(&changes, console);
            }
            Ok(other) => return Err(other.into_failure()),
            Err(error) if desk.is_still_kept() => return Err(error),
            // It was killed meanwhile.
            Err(_) => {}
        }
    }
    // What a killed one left. One that is just dying still holds it.
    let deadline = Instant::now() + DYING;
    let others = loop {
        measure::sweep(console);
        match left(desk, &plan)? {
            Left::Nothing { others } => break others,
            Left::Stays(what) if Instant::now() > deadline => {
                return Err(Failure::new(Exit::Failed, what));
            }
            Left::Stays(_) => std::thread::sleep(LOOK),
        }
    };
    others.iter().for_each(|other| console.notice(other));
    console.notice("they are not up; nothing of them is left");
    Ok(Exit::Ok)
}

enum Left {
    Nothing {
        /// What stays, being another file's.
        others: Vec<String>,
    },
    /// And why.
    Stays(String),
}

fn left(desk: &Desk, plan: &Plan) -> Result<Left, Failure> {
    let file = desk.file().display();
    let folder = desk.folder();
    if let Some(by) = plane::holder_of_folder(&folder).or_failed()? {
        return Ok(Left::Stays(format!(
            "the routers of {file} are just coming or going: they are kept by {by}; try again, or end it"
        )));
    }
    if folder.exists() {
        let folder = folder.display();
        return Ok(Left::Stays(format!(
            "{folder} stays: no journal names it; 'rm -r {folder}' removes it"
        )));
    }
    let mut others = Vec::new();
    for name in plan.routers.keys() {
        let namespace = format!("lockgate-{name}");
        if !Path::new(NAMESPACES).join(&namespace).exists() {
            continue;
        }
        match plane::holder_of_router(name).or_failed()? {
            Some(Holder::Process(number)) => others.push(format!(
                "the namespace {namespace} stays: it is not of {file}, but of the process {number}"
            )),
            Some(Holder::Ending) => {
                return Ok(Left::Stays(format!(
                    "the namespace {namespace} is held by {}",
                    Holder::Ending
                )));
            }
            None => {
                return Ok(Left::Stays(format!(
                    "the namespace {namespace} stays: no program that runs made it; 'ip netns delete {namespace}' removes it"
                )));
            }
        }
    }
    Ok(Left::Nothing { others })
}
