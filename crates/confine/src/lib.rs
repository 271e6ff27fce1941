//! What a long-running process may still do, once all that it needs is open.
//!
//! ```text
//!  set-up, with all rights ─▶ Confinement::enter_process ─▶ threads ─▶ Confined::enter_thread
//!                             user, capabilities, network,            the calls of its role
//!                             files, calls of any role
//! ```
//!
//! Plain data in: a [`Confinement`]. It is entered while the process has one thread, and
//! later threads inherit it; each gives up more at its start, by its [`Role`].
//!
//! A call that no filter lists ends the process (SIGSYS; `sys::refusal` names it on
//! stderr). To return an error instead could leave a worker waiting for ever with its
//! guests, unseen. A process that ends is seen: front-ends that come back lose nothing,
//! and a supervisor starts it again. What libraries try and can do without, a file or its
//! status, gets EPERM: a panic's backtrace looks for `/proc/self/maps`.
#![forbid(unsafe_code)]

mod calls;
mod folders;
mod user;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use sys::role::Role;

pub use calls::{Calls, ThreadError};
use calls::{Filters, Kept};
use folders::Folders;
pub use rustix::thread::CapabilitySet as Capabilities;
pub use user::{User, UserError};

/// The rights that a process keeps.
#[derive(Clone, Debug)]
pub struct Confinement {
    /// The user it runs as; `None` is the user that started it.
    pub user: Option<User>,
    pub keep: Capabilities,
    /// `None`: files are not restricted. The kernel lets nobody mount whose files are.
    pub files: Option<Files>,
    /// Sockets that it makes lead somewhere. Sockets that are open stay.
    pub has_network: bool,
    /// Most open files. `None`: its limit stays.
    pub files_max: Option<u64>,
    pub calls: Calls,
}

/// The folders whose files it may touch.
#[derive(Clone, Debug, Default)]
pub struct Files {
    pub removed_in: Vec<PathBuf>,
    /// Threads that have no role of their own yet may read here.
    pub read_in: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    #[error("cannot become user {user}; start it as root, or as that user")]
    User {
        user: User,
        #[source]
        source: io::Error,
    },
    #[error("cannot give capabilities up")]
    Capabilities(#[source] io::Error),
    #[error("cannot set {0}")]
    Setting(&'static str, #[source] io::Error),
    #[error("cannot restrict itself to its folders: {0}")]
    Folders(String),
    #[error(transparent)]
    Thread(#[from] ThreadError),
}

/// A process that is confined, and what of it the kernel lacks.
#[derive(Debug)]
pub struct Confined {
    /// The restrictions that hold, in words.
    pub holds: Vec<String>,
    /// The restrictions that do not hold, each with its remedy.
    pub lacks: Vec<String>,
    filters: Option<Filters>,
}

/// Longest wait for a thread that was joined and is listed still.
const LEAVES_WITHIN: Duration = Duration::from_millis(10);

impl Confinement {
    /// Confines the calling thread, and all that it starts. There should be no other yet.
    ///
    /// # Errors
    /// [`ConfineError`]. What the kernel does not have is no error: see
    /// [`Confined::lacks`]. The process is in between then, and should end.
    pub fn enter_process(&self) -> Result<Confined, ConfineError> {
        let (mut holds, mut lacks) = (Vec::new(), Vec::new());
        let filters = Filters::new(&self.calls)?;
        let others = sys::process::other_threads(LEAVES_WITHIN).unwrap_or(0);
        if others > 0 {
            lacks.push(format!(
                "{others} threads that run already stay as they were: a fault of this program's; report it"
            ));
        }
        self.limit()?;
        // Files are looked up while they can be.
        let folders = self.files.as_ref().map(Folders::open).transpose()?;
        if !self.has_network {
            match sys::process::leave_network() {
                Ok(()) => holds.push("no network".to_owned()),
                Err(error) => lacks.push(format!(
                    "it stays in its network namespace ({error}); start it as root"
                )),
            }
        }
        self.leave_bounds()?;
        let own = rustix::process::geteuid().as_raw();
        match &self.user {
            Some(user) => {
                user.become_it()?;
                holds.insert(0, format!("user {user}"));
            }
            None if own == 0 => holds.insert(0, "user root".to_owned()),
            None => holds.insert(0, format!("user {own}")),
        }
        self.give_up()?;
        holds.push(match self.keep.is_empty() {
            true => "no capability".to_owned(),
            false => format!("capabilities {}", names(self.keep)),
        });
        rustix::thread::set_no_new_privs(true)
            .map_err(|error| ConfineError::Setting("no_new_privs", error.into()))?;
        // After the change of user, which sets it as well.
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|error| ConfineError::Setting("that memory is not dumped", error.into()))?;
        holds.push("no new privileges, no core dumps".to_owned());
        if let Some(folders) = folders {
            match folders.enter()? {
                Ok(words) => holds.push(words),
                Err(lack) => lacks.push(lack),
            }
        }
        let filters = match filters.enter_process()? {
            Kept::Holds => {
                holds.push(self.calls.in_words().to_owned());
                Some(filters)
            }
            Kept::Lacks(lack) => {
                lacks.push(lack);
                None
            }
        };
        Ok(Confined {
            holds,
            lacks,
            filters,
        })
    }

    fn limit(&self) -> Result<(), ConfineError> {
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        let set = |resource, to, words| {
            let set = setrlimit(resource, to);
            set.map_err(|error| ConfineError::Setting(words, error.into()))
        };
        set(Resource::Core, none, "the size of core dumps")?;
        if let Some(most) = self.files_max {
            let most = getrlimit(Resource::Nofile)
                .maximum
                .unwrap_or(most)
                .min(most);
            let most = Rlimit {
                current: Some(most),
                maximum: Some(most),
            };
            set(Resource::Nofile, most, "the limit of open files")?;
        }
        Ok(())
    }

    /// Removes what no program that is started may have.
    fn leave_bounds(&self) -> Result<(), ConfineError> {
        let held = rustix::thread::capabilities(None);
        let held = held.map_err(|error| ConfineError::Capabilities(error.into()))?;
        let ambient = rustix::thread::clear_ambient_capability_set();
        ambient.map_err(|error| ConfineError::Capabilities(error.into()))?;
        if !held.effective.contains(CapabilitySet::SETPCAP) {
            // `no_new_privs` has the same effect.
            return Ok(());
        }
        for bit in 0..u64::BITS {
            let one = CapabilitySet::from_bits_retain(1 << bit);
            let is_there = rustix::thread::capability_is_in_bounding_set(one);
            if self.keep.contains(one) || !is_there.unwrap_or(false) {
                continue;
            }
            let left = rustix::thread::remove_capability_from_bounding_set(one);
            left.map_err(|error| ConfineError::Capabilities(error.into()))?;
        }
        Ok(())
    }

    fn give_up(&self) -> Result<(), ConfineError> {
        let failed = |error: rustix::io::Errno| ConfineError::Capabilities(error.into());
        let held = rustix::thread::capabilities(None).map_err(failed)?;
        let kept = CapabilitySets {
            effective: held.permitted & self.keep,
            permitted: held.permitted & self.keep,
            inheritable: CapabilitySet::empty(),
        };
        rustix::thread::set_capabilities(None, kept).map_err(failed)
    }
}

impl Confined {
    /// The calling thread keeps the calls of its role alone.
    ///
    /// # Errors
    /// [`ThreadError`]: it should do nothing then.
    pub fn enter_thread(&self, role: Role) -> Result<(), ThreadError> {
        match &self.filters {
            Some(filters) => filters.enter_thread(role),
            None => Ok(()),
        }
    }

    pub fn in_words(&self) -> String {
        self.holds.join(", ")
    }
}

/// The names of capabilities(7), in lower case.
fn names(set: CapabilitySet) -> String {
    let names: Vec<String> = set
        .iter_names()
        .map(|(name, _)| name.to_ascii_lowercase())
        .collect();
    names.join(", ")
}
