//! Neighbours of the victim, in a process of their own: told on stdin what to play and for
//! how long, they say on stdout when it begins and what came of it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use vhost::front::{Attack, CheckedLoad, FrontConfig, FrontEnd};

use crate::BENCH;

/// Requests in flight of the victim and of its fair neighbour, and their bytes.
pub const DEPTH: usize = 8;
pub const BYTES: usize = 4096;
/// Of so many answers one is compared; of the others the status is looked at.
const COMPARED: u64 = 16;

/// Who plays, in the place of an attack's name.
pub const FAIR: &str = "fair";

/// Nice value of an attacker that has no CPU for itself: what it takes of the victim's CPU
/// is not the daemon's doing. Not so nice that what else a host does keeps it from harming.
const NICE: i32 = 5;

/// The load of the victim, and of a fair neighbour.
pub struct Tenant {
    _front: FrontEnd,
    pub load: CheckedLoad,
}

impl Tenant {
    pub fn connect(socket: &Path) -> anyhow::Result<Self> {
        let config = FrontConfig {
            data_bytes: CheckedLoad::data_bytes(BYTES, DEPTH),
            queue_size: 32,
            ..FrontConfig::default()
        };
        let mut front = FrontEnd::connect(socket, config)?;
        let driver = front.start(0)?;
        let load = CheckedLoad::new(&mut front, driver, BYTES, DEPTH)?.sampling(COMPARED);
        Ok(Self {
            _front: front,
            load,
        })
    }
}

/// Of the CPUs of this process: the worker's, the victim's, and the neighbour's.
pub fn cpus() -> anyhow::Result<[usize; 3]> {
    let all = sys::affinity::process_cpus()?;
    Ok([0, 1, 2].map(|place: usize| all[place.min(all.len() - 1)]))
}

/// Plays what it is told, line by line, until its input ends.
pub fn serve(is_nice: bool) -> anyhow::Result<()> {
    let [_, victim, own] = cpus()?;
    sys::affinity::keep_to(&[own])?;
    if is_nice && victim == own {
        sys::schedule::be_nice(NICE)?;
    }
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let mut words = line.splitn(3, ' ');
        let (Some(name), Some(ms), Some(socket)) = (words.next(), words.next(), words.next())
        else {
            bail!("{line:?} is no name, time and socket");
        };
        let (length, socket) = (Duration::from_millis(ms.parse()?), Path::new(socket));
        let said = match play(name, length, socket) {
            Ok(turns) => format!("ended {turns}"),
            Err(error) => format!("failed {error:#}"),
        };
        say(&said)?;
    }
    Ok(())
}

fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn play(name: &str, length: Duration, socket: &Path) -> anyhow::Result<u64> {
    let attack = Attack::by_name(name);
    let Some(attack) = attack else {
        let mut tenant = Tenant::connect(socket)?;
        tenant.load.turn()?;
        say("begun")?;
        let begin = Instant::now();
        while begin.elapsed() < length {
            tenant.load.turn()?;
        }
        tenant.load.finish()?;
        let (wrong, failed) = (&tenant.load.wrong, &tenant.load.failed);
        if !wrong.is_empty() || !failed.is_empty() {
            bail!("the fair neighbour's answers are wrong: {wrong:?}, {failed:?}");
        }
        return Ok(tenant.load.right);
    };
    say("begun")?;
    let begin = Instant::now();
    let turns = attack.play(socket, &|| begin.elapsed() < length)?;
    Ok(turns.turns)
}

/// Such a process, of the one that measures.
pub struct Player {
    child: Child,
    input: ChildStdin,
    said: Receiver<String>,
}

impl Drop for Player {
    fn drop(&mut self) {
        // One that has ended is no more there to be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Player {
    pub fn start(is_nice: bool) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([BENCH, "--play", if is_nice { "nice" } else { "usual" }]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = sys::process::spawn_dying_with_us(command)?;
        let input = child.stdin.take().context("it was piped")?;
        let output = child.stdout.take().context("it was piped")?;
        let (sender, said) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            for line in lines {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, input, said })
    }

    pub fn begin(&mut self, name: &str, length: Duration, socket: &Path) -> anyhow::Result<()> {
        let (ms, socket) = (length.as_millis(), socket.display());
        writeln!(self.input, "{name} {ms} {socket}")?;
        Ok(())
    }

    /// What it said since, if anything.
    pub fn said(&self) -> anyhow::Result<Option<String>> {
        match self.said.try_recv() {
            Ok(line) => match line.strip_prefix("failed ") {
                Some(why) => Err(anyhow!("the neighbour: {why}")),
                None => Ok(Some(line)),
            },
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => bail!("the neighbour's process has ended"),
        }
    }
}
