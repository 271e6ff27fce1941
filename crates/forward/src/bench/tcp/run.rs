//! `iperf3` in the namespaces of two ports.

use std::io::{self, Read};
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use net::Namespace;

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
    let [zero, one] = Side::BOTH.map(|side| &topology.side(side).tester);
    let cpus = &topology.spec().cpus;
    let server = Killed::server(one, Some(cpus.sink))?;
    wait_until_listening(&server, go_on)?;
    let [from, to] = Side::BOTH.map(|side| tester_address(side, Family::V4));
    let mut command = client(zero, (from, to), seconds)?;
    command.args(["--json", "--affinity", &cpus.generator.to_string()]);
    if two_way {
        command.arg("--bidir");
    }
    command.stdout(Stdio::piped());
    let mut client = Killed::spawn(zero, command)?;
    let limit = Duration::from_secs(seconds) + OVERTIME;
    let said = client.output(limit, go_on)?;
    Ok(parse(&said, two_way)?)
}

/// A connection that sends as fast as it can, until this is dropped.
#[derive(Debug)]
pub struct Filling {
    client: Killed,
    // Ends after its client.
    _server: Killed,
}

impl Filling {
    /// Starts both ends; `addresses` are the sender's and the receiver's.
    ///
    /// # Errors
    /// [`TcpError`]; no process is left.
    pub fn start(
        (sender, receiver): (&Namespace, &Namespace),
        addresses: (IpAddr, IpAddr),
        go_on: &dyn Fn() -> bool,
    ) -> Result<Self, TcpError> {
        let server = Killed::server(receiver, None)?;
        wait_until_listening(&server, go_on)?;
        // 0: until it is killed.
        let mut command = client(sender, addresses, 0)?;
        command.stdout(Stdio::null());
        Ok(Self {
            client: Killed::spawn(sender, command)?,
            _server: server,
        })
    }

    /// Whether it still sends.
    pub fn is_running(&mut self) -> bool {
        matches!(self.client.0.try_wait(), Ok(None))
    }
}

/// A client that sends for so many seconds, with the usual congestion control.
fn client(
    inside: &Namespace,
    (from, to): (IpAddr, IpAddr),
    seconds: u64,
) -> Result<Command, TcpError> {
    let mut command = program()?;
    command.args(["--client", &to.to_string(), "--port", &PORT.to_string()]);
    command.args(["--bind", &from.to_string()]);
    command.args(["--time", &seconds.to_string()]);
    command.args(["--connect-timeout", "5000"]);
    command.args(["--congestion", congestion_control(inside)]);
    Ok(command)
}

fn program() -> Result<Command, TcpError> {
    let found = sys::program::find(PROGRAM, &[])?;
    Ok(Command::new(found.ok_or(TcpError::Absent)?))
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> TcpError {
    move |source| TcpError::System { what, source }
}

fn congestion_control(inside: &Namespace) -> &'static str {
    let allowed = inside.sysctl("ipv4/tcp_available_congestion_control");
    let allowed = allowed.unwrap_or_default();
    let is_there = |name: &&str| allowed.split_whitespace().any(|word| word == *name);
    let [_, fallback] = CONGESTION_CONTROLS;
    CONGESTION_CONTROLS
        .into_iter()
        .find(is_there)
        .unwrap_or(fallback)
}

/// A process that is killed and waited for when dropped.
#[derive(Debug)]
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Killed {
    fn spawn(inside: &Namespace, mut command: Command) -> Result<Self, TcpError> {
        command.stdin(Stdio::null()).stderr(Stdio::null());
        inside
            .spawn_process(command)
            .map(Self)
            .map_err(system("start"))
    }

    /// An end that takes one connection.
    fn server(inside: &Namespace, cpu: Option<usize>) -> Result<Self, TcpError> {
        let mut command = program()?;
        command.args(["--server", "--one-off", "--port", &PORT.to_string()]);
        if let Some(cpu) = cpu {
            command.args(["--affinity", &cpu.to_string()]);
        }
        command.stdout(Stdio::null());
        Self::spawn(inside, command)
    }

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
