//! A guest moves from one QEMU to another while it runs.
//!
//! Source: QEMU, docs/devel/migration. The stream passes over a socket pair, as all of
//! a guest's channels do: nothing has a name.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::arguments::Start;
use super::boot::{Boot, Incoming};
use super::error::GuestError;
use super::{Guest, pin};
use crate::{Kernel, Qemu, Shape};

/// A small guest has moved within this time, also emulated.
const LIMIT: Duration = Duration::from_secs(120);
/// The target runs within this time once it has all.
const RESUME_LIMIT: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);
/// The guest may stand still for so long, ms.
const DOWNTIME_MS: u64 = 300;

/// What became of a guest that was to move.
#[derive(Debug)]
pub enum Migration {
    /// It runs on the target; the source has ended.
    Moved {
        guest: Box<Guest>,
        /// From the command to the guest running on.
        took: Duration,
        /// How long it stood still, as the source says.
        downtime: Duration,
    },
    /// It runs where it was: the target did not start, or did not take it.
    Stayed { guest: Box<Guest>, reason: String },
}

impl Guest {
    /// Moves this guest to a new process of `qemu`, started as `shape` says: with the
    /// same kernel, image and devices, and perhaps another CPU.
    ///
    /// # Errors
    /// [`GuestError`] where the guest was lost: neither end runs it.
    pub fn migrate(
        mut self,
        qemu: &Qemu,
        kernel: &Kernel,
        image: &[u8],
        shape: &Shape,
    ) -> Result<Migration, GuestError> {
        let stayed = |guest: Self, reason: String| {
            let guest = Box::new(guest);
            Ok(Migration::Stayed { guest, reason })
        };
        let boot = Boot {
            qemu,
            kernel,
            image,
            shape,
            ready_limit: RESUME_LIMIT,
        };
        let start = self.start(qemu, shape);
        let (from, to) = match UnixStream::pair() {
            Ok(pair) => pair,
            Err(error) => return stayed(self, format!("no socket pair: {error}")),
        };
        let mut target = match boot.incoming(&start, to.into()) {
            Ok(target) => target,
            Err(error) => return stayed(self, first_line(&error)),
        };
        let began = Instant::now();
        if let Err(error) = self.send(from.into()) {
            return stayed(self, first_line(&error));
        }
        let sent = self.sent();
        let lost = |target: &mut Incoming| {
            // What it said of the stream it did not take.
            let ending = target.machine.ended_within(RESUME_LIMIT);
            let words = target.machine.errors.tail();
            match (ending, words.trim()) {
                (None, "") => "the target does not run on".to_owned(),
                (Some(ending), "") => format!("the target ended ({})", ending.status),
                (_, words) => words.to_owned(),
            }
        };
        let downtime = match sent {
            Ok(downtime) => downtime,
            Err(reason) => {
                let words = lost(&mut target);
                return match self.go_on() {
                    Ok(()) => stayed(self, format!("{reason}: {words}")),
                    Err(error) => Err(error),
                };
            }
        };
        if !target.is_running(RESUME_LIMIT) {
            let reason = lost(&mut target);
            return match self.go_on() {
                Ok(()) => stayed(self, reason),
                Err(error) => Err(error),
            };
        }
        let took = began.elapsed();
        let mut moved = Self {
            accelerator: start.accelerator,
            vcpu_threads: pin::threads(&mut target.qmp)?,
            qmp: target.qmp,
            channel: self.channel.moved(target.control),
            machine: target.machine,
            hello: self.hello,
            ready_in: self.ready_in,
            accelerator_reason: self.accelerator_reason,
            kernel_arguments: self.kernel_arguments,
            notes: self.notes,
            sandbox: self.sandbox,
            pvh: self.pvh,
            time_limit: shape.time_limit,
        };
        // It has given its guest away.
        self.machine.kill();
        moved
            .notes
            .push("it was moved from another QEMU".to_owned());
        Ok(Migration::Moved {
            guest: Box::new(moved),
            took,
            downtime,
        })
    }

    fn start<'s>(&self, qemu: &Qemu, shape: &'s Shape) -> Start<'s> {
        Start {
            shape,
            accelerator: self.accelerator,
            version: qemu.version,
            node: None,
            sandbox: self.sandbox,
            pvh: self.pvh,
            is_incoming: true,
        }
    }

    /// Hands QEMU the stream's end, and tells it to begin.
    fn send(&mut self, stream: OwnedFd) -> Result<(), GuestError> {
        self.qmp
            .execute_with("getfd", json!({"fdname": "move"}), &stream)?;
        let parameters = json!({"downtime-limit": DOWNTIME_MS, "max-bandwidth": 1_u64 << 33});
        self.qmp.execute("migrate-set-parameters", parameters)?;
        self.qmp.execute("migrate", json!({"uri": "fd:move"}))?;
        Ok(())
    }

    /// Waits until all is sent. How long the guest stood still, or why it did not go.
    fn sent(&mut self) -> Result<Duration, String> {
        let end = Instant::now() + LIMIT;
        loop {
            let answer = self.qmp.execute("query-migrate", Value::Null);
            let answer = answer.map_err(|error| error.to_string())?;
            match answer["status"].as_str().unwrap_or_default() {
                "completed" => {
                    let ms = answer["downtime"].as_u64().unwrap_or(0);
                    return Ok(Duration::from_millis(ms));
                }
                "failed" | "cancelled" => {
                    let why = answer["error-desc"].as_str().unwrap_or("it failed");
                    return Err(format!("the source says: {why}"));
                }
                _ if Instant::now() > end => {
                    let _ = self.qmp.execute("migrate_cancel", Value::Null);
                    return Err(format!("not moved within {} s", LIMIT.as_secs()));
                }
                _ => thread::sleep(LOOK),
            }
        }
    }

    /// Lets the guest run here again.
    fn go_on(&mut self) -> Result<(), GuestError> {
        self.qmp("cont", Value::Null).map(drop)
    }
}

/// The first line of an error and of what caused it.
fn first_line(error: &dyn std::error::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}
