//! What a thread is for, so that a program may confine each kind by itself.
//!
//! Threads that serve strangers say at their start what they are: [`enter`]. Nothing
//! comes of that unless the program has said what should: [`on_enter`], once. So engine
//! and devices know nothing of how, and threads that are made later are confined too.

use std::sync::OnceLock;

/// Kinds of threads, by what they ask of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Starts the others and ends them; removes sockets at the end.
    Main,
    /// Speaks with front-ends: takes connections, files and memory; starts threads.
    Control,
    /// Processes requests: it sleeps, wakes and frees.
    Worker,
    /// Reads counters and changes settings.
    Governor,
    /// Writes what others have to tell.
    Console,
}

impl Role {
    pub const ALL: [Self; 5] = [
        Self::Main,
        Self::Control,
        Self::Worker,
        Self::Governor,
        Self::Console,
    ];
}

type Hook = Box<dyn Fn(Role) + Send + Sync>;

static HOOK: OnceLock<Hook> = OnceLock::new();

/// From now on each thread that enters a role runs `hook`; `false` if one was set before,
/// which stays.
pub fn on_enter(hook: impl Fn(Role) + Send + Sync + 'static) -> bool {
    HOOK.set(Box::new(hook)).is_ok()
}

/// The calling thread is set up and does nothing from now on but what its role asks for.
pub fn enter(role: Role) {
    if let Some(hook) = HOOK.get() {
        hook(role);
    }
}
