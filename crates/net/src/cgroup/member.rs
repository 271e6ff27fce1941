//! Who was moved into a group, and where from.

use std::path::PathBuf;

use super::folder::{Folder, Task};
use super::{CgroupError, write};
use crate::journal::is_kernel_thread;

/// A task that was moved in, with the groups that it came from: one for each folder
/// that it is in now.
#[derive(Debug)]
pub(super) struct Member {
    pub task: Task,
    pub is_kernels: bool,
    homes: Vec<PathBuf>,
}

impl Member {
    pub(super) fn new(task: Task) -> Self {
        Self {
            task,
            is_kernels: is_kernel_thread(task.number()),
            homes: Vec::new(),
        }
    }

    pub(super) fn move_in(&mut self, folders: &[Folder]) -> Result<(), CgroupError> {
        for folder in folders {
            let home = folder.home_of(self.task)?;
            folder.take(self.task)?;
            self.homes.push(home);
        }
        Ok(())
    }

    pub(super) fn move_back(&self, folders: &[Folder]) {
        if self.is_kernels {
            let _ = sys::schedule::as_usual(self.task.number());
        }
        for (folder, home) in folders.iter().zip(&self.homes) {
            let door = home.join(self.task.door(folder.hierarchy.version));
            let _ = write(&door, &self.task.number().to_string());
        }
    }

    pub(super) fn lead_back(&self, folders: &[Folder]) {
        for (folder, home) in folders.iter().zip(&self.homes) {
            for process in folder.processes().unwrap_or_default() {
                let _ = write(&home.join("cgroup.procs"), &process.to_string());
            }
        }
    }
}
