//! Ctrl-C, SIGTERM and SIGHUP while a guest runs.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use vm::Killer;

use crate::exit::{Exit, Failure, OrExit};
use crate::interrupt;

const LOOK: Duration = Duration::from_millis(50);

/// Once its guest is killed the program ends within this time, or is ended: it may be
/// writing to a reader that does not read.
const END_LIMIT: Duration = Duration::from_secs(5);

pub(in crate::command) struct Interrupt {
    flag: Arc<AtomicBool>,
    guest: Arc<Mutex<Option<Killer>>>,
}

impl Interrupt {
    /// Starts to watch. While no guest is up the program ends at once, and QEMU with
    /// it.
    pub(in crate::command) fn watch() -> Result<Self, Failure> {
        let flag = interrupt::flag().or_failed()?;
        let guest = Arc::new(Mutex::new(None));
        let own = Self {
            flag: Arc::clone(&flag),
            guest: Arc::clone(&guest),
        };
        let watcher = move || {
            while !flag.load(Ordering::SeqCst) {
                thread::sleep(LOOK);
            }
            let guest = guest.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(killer) = &*guest {
                Killer::kill(killer);
                thread::sleep(END_LIMIT);
            }
            process::exit(Exit::Interrupted as i32);
        };
        thread::Builder::new()
            .name("lockgate-interrupt".to_owned())
            .spawn(watcher)
            .or_failed()?;
        Ok(own)
    }

    pub(in crate::command) fn kills(&self, guest: Killer) {
        *self.guest.lock().unwrap_or_else(PoisonError::into_inner) = Some(guest);
    }

    pub(in crate::command) fn came(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }
}
