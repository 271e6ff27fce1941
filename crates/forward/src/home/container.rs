//! What containers of all runtimes have in common: a folder, a first process
//! whose input we hold, and an entry in the journal.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use net::journal::{Entry, Journal, Record, Runtime};

use super::error::HomeError;
use super::root;

/// How long a container may take to start: about a hundred times the time on an idle
/// host.
pub const START_WAIT: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Bytes of a runtime's output, from the end, that an error shows.
const SAID_BYTES_MAX: u64 = 2000;

/// The folder of one container:
/// `/run/lockgate/lockgate-…/{root,said,<name>/…}`. Gone when dropped.
#[derive(Debug)]
pub struct Folder {
    name: String,
    path: PathBuf,
    _record: Record,
}

impl Folder {
    pub fn make(journal: &Journal, name: &str) -> Result<Self, HomeError> {
        let path = Path::new(net::journal::FOLDER).join(name);
        let record = journal.record(Entry::Folder { path: path.clone() })?;
        let folder = Self {
            name: name.to_owned(),
            path,
            _record: record,
        };
        let made = std::fs::DirBuilder::new()
            .mode(0o755)
            .create(&folder.path)
            .and_then(|()| root::make(&folder.root()));
        made.map_err(folder.failed("make the folder of"))?;
        Ok(folder)
    }

    pub fn root(&self) -> PathBuf {
        self.path.join("root")
    }

    /// Where the runtime keeps its state of this container. The runtime is given
    /// [`path`](Self::path), and adds the name itself. Not made yet.
    pub fn state(&self) -> PathBuf {
        self.path.join(&self.name)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn failed(&self, what: &'static str) -> impl FnOnce(io::Error) -> HomeError + use<> {
        let name = self.name.clone();
        move |source| HomeError::System { what, name, source }
    }

    /// Starts the runtime. Its input is a pipe that this process holds, so that the
    /// container's first process ends with it; its output goes to a file.
    pub fn run(&self, mut command: Command) -> Result<(Child, ChildStdin), HomeError> {
        let what = "start";
        let said = File::create(self.said()).map_err(self.failed(what))?;
        let errors = said.try_clone().map_err(self.failed(what))?;
        command.stdin(Stdio::piped()).stdout(said).stderr(errors);
        let mut child = sys::process::spawn_dying_with_us(command).map_err(self.failed(what))?;
        let input = child.stdin.take().expect("its input is a pipe");
        Ok((child, input))
    }

    /// Polls until `found` returns the first process, as long as the runtime has not
    /// failed.
    pub fn wait(
        &self,
        program: &'static str,
        runtime: &mut Child,
        found: &dyn Fn() -> Option<u32>,
    ) -> Result<u32, HomeError> {
        let deadline = Instant::now() + START_WAIT;
        loop {
            if let Some(process) = found() {
                return Ok(process);
            }
            let ended = runtime.try_wait().map_err(self.failed("wait for"))?;
            let failed = ended.is_some_and(|status| !status.success());
            if failed || Instant::now() > deadline {
                let _ = runtime.kill();
                let _ = runtime.wait();
                return Err(HomeError::NotStarted {
                    program,
                    name: self.name.clone(),
                    seconds: START_WAIT.as_secs(),
                    said: self.last_said(),
                });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn said(&self) -> PathBuf {
        self.path.join("said")
    }

    fn last_said(&self) -> String {
        let read = || {
            let mut file = File::open(self.said())?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(SAID_BYTES_MAX)))?;
            let mut bytes = Vec::new();
            file.take(SAID_BYTES_MAX).read_to_end(&mut bytes)?;
            Ok::<_, io::Error>(String::from_utf8_lossy(&bytes).trim().to_owned())
        };
        match read() {
            Ok(said) if said.is_empty() => "it said nothing".to_owned(),
            Ok(said) => said,
            Err(error) => format!("what it said cannot be read: {error}"),
        }
    }

    pub fn entry(&self, runtime: Runtime) -> Entry {
        Entry::Container {
            runtime,
            name: self.name.clone(),
            folder: self.path.clone(),
        }
    }
}

#[derive(Debug)]
pub struct Container {
    process: u32,
    // In the order in which they go: the first process reads the end of its
    // input and ends, the runtime's own cleaning is done, then ours.
    input: Option<ChildStdin>,
    runtime: Child,
    _records: Vec<Record>,
    _folder: Folder,
}

impl Container {
    pub fn new(
        process: u32,
        input: ChildStdin,
        runtime: Child,
        records: Vec<Record>,
        folder: Folder,
    ) -> Self {
        Self {
            process,
            input: Some(input),
            runtime,
            _records: records,
            _folder: folder,
        }
    }

    pub fn process(&self) -> u32 {
        self.process
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.input = None;
        let deadline = Instant::now() + START_WAIT;
        // The runtime in the foreground (LXC's) ends after the first process,
        // and clears away what it made.
        while Instant::now() < deadline && matches!(self.runtime.try_wait(), Ok(None)) {
            std::thread::sleep(LOOK_EVERY);
        }
        let _ = self.runtime.kill();
        let _ = self.runtime.wait();
    }
}
