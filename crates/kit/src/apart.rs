//! Trials in processes of their own, one a tier: libraries look at the CPU once,
//! when they are loaded, so that one process cannot measure two tiers.
//!
//! ```text
//!   section ── Ask, a line of JSON ──▶ lockgate --tier avx2 worker SECTION
//!           ◀── Did or an error ─────
//! ```

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use probe::tier::{self, Choice};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sys::affinity::pin_to;
use sys::clock::now_ns;
use sys::failure::Failure;

use crate::load::alone::{Alone, Slice, WARM_UP};
use crate::observe::{CpuTimes, step_ns};
use crate::subject::Stopped;

/// The command of the program that serves a section's trials.
pub const COMMAND: &str = "worker";
/// Starting one, with the questions to its libraries what they see, seconds.
pub const START_S: f64 = 0.04;
/// What a trial takes besides: warm-up, a look at the core's clock, seconds.
pub const OVERHEAD_S: f64 = 0.008;
const PROGRAM: &str = "lockgate";
/// One that has not started or answered by then never will.
const PATIENCE: Duration = Duration::from_secs(20);
/// So often a trial is asked whether it is still wanted.
const STEP: Duration = Duration::from_millis(100);

/// A trial that a worker is asked for.
#[derive(Serialize, Deserialize)]
struct Ask<W> {
    work: W,
    /// Its own first, then those of threads that it starts.
    cpus: Vec<usize>,
    slice_ns: u64,
}

/// What it did.
#[derive(Serialize, Deserialize)]
struct Did {
    requests: f64,
    seconds: f64,
    cpu_ns: u64,
}

/// Whether the program that runs is lockgate, and not a test of the library.
#[must_use]
pub fn is_lockgate() -> bool {
    let own = std::env::current_exe();
    own.is_ok_and(|path| path.file_name().is_some_and(|name| name == PROGRAM))
}

/// One process a tier, started anew after every round: where its memory lies is part of
/// its speed, and would otherwise be a difference between tiers that no round shows.
pub struct Workers {
    section: String,
    all: Vec<(Choice, Worker)>,
}

impl Workers {
    /// Starts a process for each tier, of which all have read back their masks; a round
    /// asks each for as many trials as stand beside it.
    ///
    /// # Errors
    /// [`Stopped`] where one cannot start, or a library sees more than its tier.
    pub fn start(
        section: &str,
        choices: impl IntoIterator<Item = (Choice, usize)>,
    ) -> Result<Self, Stopped> {
        let start = |(choice, trials)| Ok((choice, Worker::start(section, choice, trials)?));
        // All at once: each takes a while to ask its libraries.
        let started = choices.into_iter().map(start);
        let mut all = started.collect::<Result<Vec<_>, Stopped>>()?;
        for (choice, worker) in &mut all {
            let _: String = worker.reply(*choice, Slice::whole(Duration::ZERO))?;
        }
        let section = section.to_owned();
        Ok(Self { section, all })
    }

    /// One trial on these CPUs, one a thread, with the evidence of what disturbed it.
    ///
    /// # Errors
    /// [`Stopped`] with what the worker said, or that it ended.
    ///
    /// # Panics
    /// Where none was started for that tier.
    pub fn trial(
        &mut self,
        choice: Choice,
        work: &impl Serialize,
        cpus: &[usize],
        slice: Slice<'_>,
    ) -> Result<Alone, Stopped> {
        let mut all = self.all.iter_mut();
        let (_, worker) = all
            .find(|(own, _)| *own == choice)
            .expect("there is one for each tier");
        if worker.left == 0 {
            // Its memory is given back first.
            worker.end();
            *worker = Worker::start(&self.section, choice, worker.trials)?;
            let _: String = worker.reply(choice, slice)?;
        }
        worker.left -= 1;
        if !(slice.go_on)() {
            return Err(Stopped::Interrupted);
        }
        let slice_ns = slice.length.as_nanos() as u64;
        let ask = Ask {
            work,
            cpus: cpus.to_vec(),
            slice_ns,
        };
        let (step_ns, before) = (step_ns(cpus[0]), CpuTimes::now(cpus));
        worker.send(&ask).map_err(Stopped::failed)?;
        let did: Did = worker.reply(choice, slice)?;
        Ok(Alone {
            requests: did.requests,
            seconds: did.seconds,
            cpu: Duration::from_nanos(did.cpu_ns),
            times: CpuTimes::now(cpus).since(before),
            step_ns,
        })
    }
}

struct Worker {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// Of a round, and how many are left of it.
    trials: usize,
    left: usize,
}

impl Worker {
    fn start(section: &str, choice: Choice, trials: usize) -> Result<Self, Stopped> {
        let own = std::env::current_exe().map_err(Stopped::failed)?;
        let mut command = Command::new(own);
        let name = choice.to_string();
        command.args(["--quiet", "--tier", &name, COMMAND, section]);
        // Otherwise it would start itself again for them.
        for (variable, value) in tier::environment(choice).map_err(Stopped::failed)? {
            match value {
                Some(value) => command.env(variable, value),
                None => command.env_remove(variable),
            };
        }
        let pipes = [Stdio::piped(), Stdio::piped(), Stdio::piped()];
        let [to, from, errors] = pipes;
        command.stdin(to).stdout(from).stderr(errors);
        let mut child = sys::process::spawn_dying_with_us(command).map_err(Stopped::failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (to, from) = pipes.expect("both were asked for");
        let from = BufReader::new(from);
        Ok(Self {
            child,
            to,
            from,
            trials,
            left: trials,
        })
    }

    fn send(&mut self, ask: &impl Serialize) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(ask)?;
        line.push(b'\n');
        self.to.write_all(&line)
    }

    fn reply<A: DeserializeOwned>(
        &mut self,
        choice: Choice,
        slice: Slice<'_>,
    ) -> Result<A, Stopped> {
        let from = self.from.get_ref().as_fd();
        let until = Instant::now() + PATIENCE + slice.length;
        let mut is_there = false;
        while !is_there && Instant::now() < until {
            if !(slice.go_on)() {
                return Err(Stopped::Interrupted);
            }
            is_there = sys::readable::any(&[from], STEP).map_err(Stopped::failed)?;
        }
        let mut line = String::new();
        if is_there {
            self.from.read_line(&mut line).map_err(Stopped::failed)?;
        }
        let error = |what: String| Stopped::failed(Failure::new(what));
        if line.is_empty() {
            return Err(error(self.ending(choice)));
        }
        let reply: Result<A, String> = serde_json::from_str(&line).map_err(Stopped::failed)?;
        reply.map_err(|what| error(format!("under tier {choice}: {what}")))
    }

    /// Why it says nothing more.
    fn ending(&mut self, choice: Choice) -> String {
        self.end();
        let mut said = String::new();
        if let Some(errors) = &mut self.child.stderr {
            let _ = errors.take(4096).read_to_string(&mut said);
        }
        let said = said.trim();
        format!("the process under tier {choice} ended or stood still: {said}")
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}

/// The other end: answers until the section goes away. `run` does the work once on
/// these CPUs, of which it has the first, or says why not; what it sets up it keeps.
/// What it returns are requests.
///
/// # Errors
/// From standard input and output.
pub fn serve<W: DeserializeOwned>(
    mut run: impl FnMut(&W, &[usize]) -> Result<f64, String>,
) -> std::io::Result<()> {
    let mut to = std::io::stdout().lock();
    let mut say = |reply: &Result<serde_json::Value, String>| {
        let mut line = serde_json::to_vec(reply)?;
        line.push(b'\n');
        to.write_all(&line)?;
        to.flush()
    };
    say(&Ok("ready".into()))?;
    for line in std::io::stdin().lines() {
        let ask = serde_json::from_str(&line?).map_err(|error| error.to_string());
        let did = ask.and_then(|ask: Ask<W>| measured(&ask, &mut run));
        say(&did.map(|did| serde_json::json!(did)))?;
    }
    Ok(())
}

fn measured<W>(
    ask: &Ask<W>,
    run: &mut impl FnMut(&W, &[usize]) -> Result<f64, String>,
) -> Result<Did, String> {
    let cpu = ask.cpus.first().ok_or("it was given no CPU")?;
    pin_to(*cpu).map_err(|error| error.to_string())?;
    // Setting up is no part of the warm-up, and may take longer.
    run(&ask.work, &ask.cpus)?;
    let mut until = |end_ns: u64| {
        // A host that is busy may let a slice pass before the first: that one counts.
        let mut requests = run(&ask.work, &ask.cpus)?;
        while now_ns() < end_ns {
            requests += run(&ask.work, &ask.cpus)?;
        }
        Ok::<_, String>(requests)
    };
    until(now_ns() + WARM_UP.as_nanos() as u64)?;
    let (begin_ns, cpu) = (now_ns(), process_cpu_ns());
    let requests = until(begin_ns + ask.slice_ns)?;
    Ok(Did {
        requests,
        seconds: (now_ns() - begin_ns) as f64 / 1e9,
        cpu_ns: process_cpu_ns() - cpu,
    })
}

/// Of all its threads.
fn process_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_did_is_counted_and_its_failure_told() {
        let cpu = sys::affinity::allowed_cpus().unwrap()[0];
        let slice_ns = 2_000_000;
        let ask = Ask {
            work: 3.0,
            cpus: vec![cpu],
            slice_ns,
        };
        let did = measured(&ask, &mut |work: &f64, _: &[usize]| Ok(*work)).unwrap();
        assert!(did.requests >= 3.0 && did.seconds >= 0.002);
        let refused = measured(&ask, &mut |_: &f64, _: &[usize]| {
            Err("no such work".to_owned())
        });
        assert_eq!(refused.err().as_deref(), Some("no such work"));
    }
}
