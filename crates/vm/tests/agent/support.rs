//! An agent that runs here.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lockgate_vm::Cache;
use lockgate_vm::protocol::{AGENT, Channel, ChannelError};

use tempfile::TempDir;

pub const LONG: Duration = Duration::from_secs(60);

pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub struct Agent {
    pub channel: Channel,
    pub process: Process,
    folder: TempDir,
    busybox: PathBuf,
}

impl Agent {
    pub fn path(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        path.to_str().unwrap().to_owned()
    }

    /// A second one over the same folder, in place of this.
    pub fn another(self) -> Self {
        let (channel, process) = start(&self.busybox, self.folder.path());
        Self {
            channel,
            process,
            ..self
        }
    }

    pub fn into_parts(self) -> (Process, Channel) {
        (self.process, self.channel)
    }

    pub fn children(&self) -> usize {
        let pid = self.process.0.id();
        let path = format!("/proc/{pid}/task/{pid}/children");
        let children = std::fs::read_to_string(path).unwrap();
        children.split_whitespace().count()
    }

    pub fn run(&mut self, script: &str) -> Result<(i32, Vec<u8>), ChannelError> {
        self.run_within(script, LONG, 100 << 20)
    }

    /// The next request is answered as if nothing had been.
    #[track_caller]
    pub fn goes_on(&mut self) {
        assert_eq!(self.run("echo on").unwrap(), (0, b"on\n".to_vec()));
    }

    pub fn run_within(
        &mut self,
        script: &str,
        limit: Duration,
        output_bytes_max: u64,
    ) -> Result<(i32, Vec<u8>), ChannelError> {
        let mut output = Vec::new();
        let mut live = |piece: &[u8]| output.extend_from_slice(piece);
        let status = self
            .channel
            .run(script.as_bytes(), limit, output_bytes_max, &mut live)?;
        Ok((status, output))
    }
}

fn busybox() -> Option<PathBuf> {
    let cached = Cache::open_default().map(|cache| cache.busybox().to_owned());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).map(|folder| folder.join("busybox"));
    cached
        .into_iter()
        .chain(installed)
        .find(|program| program.is_file())
}

/// An agent that has not yet said hello.
pub fn silent_agent() -> Option<Agent> {
    let Some(busybox) = busybox() else {
        testing::skipped("no busybox: `make setup-guests` unpacks one, or install busybox-static");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agent.sh"), AGENT).unwrap();
    let (channel, process) = start(&busybox, folder.path());
    Some(Agent {
        channel,
        process,
        folder,
        busybox,
    })
}

fn start(busybox: &Path, folder: &Path) -> (Channel, Process) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let process = Command::new(busybox)
        .arg("sh")
        .arg(folder.join("agent.sh"))
        .env("LOCKGATE_PORT", "0")
        .env("LOCKGATE_STATE", folder.join("state"))
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .unwrap();
    (Channel::new(ours), Process(process))
}

pub fn agent() -> Option<Agent> {
    let mut agent = silent_agent()?;
    agent.channel.hello(LONG).unwrap();
    Some(agent)
}
