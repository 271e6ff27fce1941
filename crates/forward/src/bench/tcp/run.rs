//! `iperf3` in the namespaces of the tester's two ports.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::report::{REPORT_BYTES_MAX, Report, ReportError, parse};
use crate::topology::plan::{Side, tester_address};
use crate::topology::{Family, Topology};

const PROGRAM: &str = "iperf3";
const PORT: u16 = 5201;
const LISTEN_WAIT: Duration = Duration::from_secs(5);
/// Time that the client may need to connect and to exchange results.
const OVERTIME: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Tried in this order: the first is what most hosts use, the second is in
/// every kernel. A host's own default may differ from host to host.
const CONGESTION_CONTROLS: [&str; 2] = ["cubic", "reno"];

#[derive(Debug, thiserror::Error)]
pub enum TcpError {
    #[error("no '{PROGRAM}' here; install it (apt-get install iperf3)")]
    Absent,
    #[error(transparent)]
    Untrusted(#[from] sys::trusted::Untrusted),
    #[error("cannot {what} {PROGRAM}")]
    System {
        what: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("{PROGRAM}'s {end} took more than {} s; does a frame pass this router at all?", limit.as_secs())]
    TooLong { end: &'static str, limit: Duration },
    #[error("{PROGRAM} was interrupted")]
    Interrupted,
    #[error(transparent)]
    Report(#[from] ReportError),
}

/// Runs `iperf3` for at least `duration`, whole seconds, from port 0's namespace to
/// port 1's, and the other way too if `two_way`. Both ends are killed as soon as
/// `go_on`, asked a hundred times a second, returns false. The tester must have its
/// addresses.
///
/// # Errors
/// [`TcpError`]; no process is left.
pub fn run(
    topology: &Topology,
    two_way: bool,
    duration: Duration,
    go_on: &dyn Fn() -> bool,
) -> Result<Report, TcpError> {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    let seconds = seconds.max(1);
    let server = Killed(start_server(topology)?);
    wait_until_listening(&server, go_on)?;
    let mut client = Killed(start_client(topology, two_way, seconds)?);
    let limit = Duration::from_secs(seconds) + OVERTIME;
    let said = client.output(limit, go_on)?;
    Ok(parse(&said, two_way)?)
}

fn start_server(topology: &Topology) -> Result<Child, TcpError> {
    let mut command = program()?;
    let cpu = topology.spec().cpus.sink;
    command.args(["--server", "--one-off", "--port", &PORT.to_string()]);
    command.args(["--affinity", &cpu.to_string()]);
    command.stdout(Stdio::null());
    spawn(topology, Side::One, command)
}

fn start_client(topology: &Topology, two_way: bool, seconds: u64) -> Result<Child, TcpError> {
    let mut command = program()?;
    let cpu = topology.spec().cpus.generator;
    let address = |side| tester_address(side, Family::V4).to_string();
    command.args(["--client", &address(Side::One), "--port", &PORT.to_string()]);
    command.args(["--bind", &address(Side::Zero), "--json"]);
    command.args(["--time", &seconds.to_string()]);
    command.args(["--connect-timeout", "5000", "--affinity", &cpu.to_string()]);
    command.args(["--congestion", congestion_control(topology)]);
    if two_way {
        command.arg("--bidir");
    }
    command.stdout(Stdio::piped());
    spawn(topology, Side::Zero, command)
}

fn spawn(topology: &Topology, side: Side, mut command: Command) -> Result<Child, TcpError> {
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let spawned = topology.side(side).tester.spawn_process(command);
    spawned.map_err(system("start"))
}

fn program() -> Result<Command, TcpError> {
    let found = sys::program::find(PROGRAM, &[])?;
    Ok(Command::new(found.ok_or(TcpError::Absent)?))
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> TcpError {
    move |source| TcpError::System { what, source }
}

fn congestion_control(topology: &Topology) -> &'static str {
    let tester = &topology.side(Side::Zero).tester;
    let allowed = tester.sysctl("ipv4/tcp_available_congestion_control");
    let allowed = allowed.unwrap_or_default();
    let is_there = |name: &&str| allowed.split_whitespace().any(|word| word == *name);
    let [_, fallback] = CONGESTION_CONTROLS;
    CONGESTION_CONTROLS
        .into_iter()
        .find(is_there)
        .unwrap_or(fallback)
}

/// A process that is killed and waited for when dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Killed {
    fn output(&mut self, limit: Duration, go_on: &dyn Fn() -> bool) -> Result<Vec<u8>, TcpError> {
        let pipe = self.0.stdout.take().expect("its output is a pipe");
        let reader = thread::spawn(move || {
            let mut said = Vec::new();
            let read = pipe.take(REPORT_BYTES_MAX).read_to_end(&mut said);
            read.map(|_| said)
        });
        let deadline = Instant::now() + limit;
        while !reader.is_finished() {
            let end = "client";
            let ends = match go_on() {
                false => Some(TcpError::Interrupted),
                true => (Instant::now() > deadline).then_some(TcpError::TooLong { end, limit }),
            };
            if let Some(error) = ends {
                // The pipe closes, and the reader ends.
                let _ = self.0.kill();
                let _ = reader.join();
                return Err(error);
            }
            thread::sleep(LOOK_EVERY);
        }
        let said = reader
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        said.map_err(system("read what is said by"))
    }
}

fn wait_until_listening(server: &Killed, go_on: &dyn Fn() -> bool) -> Result<(), TcpError> {
    let deadline = Instant::now() + LISTEN_WAIT;
    let process = server.0.id();
    loop {
        let sockets = ["tcp", "tcp6"].map(|table| {
            std::fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default()
        });
        if sockets.iter().any(|text| is_listening(text, PORT)) {
            return Ok(());
        }
        if !go_on() {
            return Err(TcpError::Interrupted);
        }
        if Instant::now() > deadline {
            return Err(TcpError::TooLong {
                end: "server",
                limit: LISTEN_WAIT,
            });
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Whether `/proc/net/tcp` has a socket that listens on this port: fields are
/// number, local address and port, remote ones, state (0A: listening).
fn is_listening(sockets: &str, port: u16) -> bool {
    sockets.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace();
        let local = fields.nth(1).and_then(|local| local.rsplit_once(':'));
        let state = fields.nth(1);
        local.is_some_and(|(_, text)| u16::from_str_radix(text, 16) == Ok(port))
            && state == Some("0A")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_listens_when_the_kernel_says_so() {
        let text = "  sl  local_address rem_address   st tx_queue\n\
                    0: 00000000:1451 00000000:0000 0A 00000000:00000000\n";
        assert!(is_listening(text, 5201));
        assert!(!is_listening(text, 5202));
        assert!(!is_listening(&text.replace("0A", "01"), 5201));
        assert!(!is_listening("", 5201));
    }
}
