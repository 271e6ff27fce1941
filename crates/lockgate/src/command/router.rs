//! `lockgate router`

mod desk;
mod keeper;
mod text;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use forward::plane::{Plan, RouterShown};

use crate::cli::{RouterArguments, RouterCommand};
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::measure;

use desk::{Answer, Desk, Request};

/// Of ip-netns(8).
const NAMESPACES: &str = "/run/netns";
/// A program that was killed is gone by then.
const DYING: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(20);

pub fn router(arguments: &RouterArguments, console: &Console) -> Result<Exit, Failure> {
    match &arguments.command {
        RouterCommand::Up {
            file,
            check,
            foreground,
        } => {
            let plan = read(file)?;
            if *check {
                console.print(&text::plan(&plan))?;
                return Ok(Exit::Ok);
            }
            need_root()?;
            let desk = Desk::of(file)?;
            if *foreground {
                return keeper::keep(&desk, &plan, console);
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

/// Starts a program that keeps them, and waits until they are up.
fn up(desk: &Desk, plan: &Plan, console: &Console) -> Result<Exit, Failure> {
    if desk.is_kept() {
        return Err(Failure::new(
            Exit::Failed,
            format!(
                "the routers of {} are up; `lockgate router reload` changes what differs, `down` takes them away",
                desk.file().display()
            ),
        ));
    }
    measure::sweep(console);
    let log = File::create(desk.log())
        .with_context(|| format!("cannot write {}", desk.log().display()))
        .or_failed()?;
    let program = std::env::current_exe().or_failed()?;
    let mut command = Command::new(program);
    command
        .args(["router", "up", "--foreground"])
        .arg(desk.file())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .current_dir("/")
        // Ctrl-C here is not for it.
        .process_group(0);
    let mut child = command
        .spawn()
        .context("cannot start the program that keeps routers")
        .or_failed()?;
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        // Until it is up, or its end.
        BufReader::new(stdout).read_line(&mut said).or_failed()?;
    }
    if said.trim() == keeper::UP {
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
    let ended = child.wait().or_failed()?;
    let said = std::fs::read_to_string(desk.log()).unwrap_or_default();
    let exit = match ended.code() {
        Some(2) => Exit::Usage,
        Some(4) => Exit::Missing,
        _ => Exit::Failed,
    };
    let reason = said.trim().trim_start_matches("error:").trim();
    Err(Failure::new(exit, reason.to_owned()))
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
    let left = || {
        let mut names = plan.routers.keys();
        names.find(|name| {
            Path::new(NAMESPACES)
                .join(format!("lockgate-{name}"))
                .exists()
        })
    };
    let deadline = Instant::now() + DYING;
    loop {
        measure::sweep(console);
        match left() {
            None => break,
            Some(name) if Instant::now() > deadline => {
                return Err(Failure::new(
                    Exit::Failed,
                    format!(
                        "the namespace lockgate-{name} stays: another file's router, or somebody else's; 'ip netns delete lockgate-{name}' removes it"
                    ),
                ));
            }
            Some(_) => std::thread::sleep(LOOK),
        }
    }
    desk.tidy();
    console.notice("they are not up; nothing of them is left");
    Ok(Exit::Ok)
}
