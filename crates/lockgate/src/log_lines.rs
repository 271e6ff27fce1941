//! Diagnostic lines, which cost whoever says them nothing but the line.
//!
//! One thread writes them; all others leave them in a queue with bounds. So a log that is
//! full or closed, or that nobody reads, costs lines and never a request. The next line
//! that gets through says how many are missing.

mod line_limit;
mod line_queue;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::PanicHookInfo;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sys::role::{self, Role};
use tracing::Metadata;
use tracing_subscriber::fmt::MakeWriter;

use crate::output::write_all;
use line_limit::LineLimit;
use line_queue::LineQueue;

/// Who waits for a line waits no longer.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// The lines that a log takes; clones are the same log.
#[derive(Clone)]
pub struct LogLines(Arc<Inner>);

struct Inner {
    to: Box<dyn AsFd + Send + Sync>,
    state: Mutex<State>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Something was put.
    put: Condvar,
    /// Something was written, or was lost.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    limit: LineLimit,
    queue: LineQueue,
    /// Lines that were put, and those of them that have ended.
    put: u64,
    ended: u64,
    /// Somebody waited in vain, and nothing was written since.
    is_stuck: bool,
    is_closed: bool,
}

impl LogLines {
    /// Begins to write to `to`.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start(to: impl AsFd + Send + Sync + 'static) -> io::Result<Self> {
        let lines = Self(Arc::new(Inner {
            to: Box::new(to),
            state: Mutex::default(),
            writer: Mutex::default(),
            put: Condvar::new(),
            ended: Condvar::new(),
        }));
        lines.start_writer()?;
        Ok(lines)
    }

    fn start_writer(&self) -> io::Result<()> {
        let inner = Arc::clone(&self.0);
        let writer = thread::Builder::new()
            .name("lockgate-log".to_owned())
            .spawn(move || {
                role::enter(Role::Console);
                write_lines(&inner, inner.to.as_fd());
            })?;
        *self.writer() = Some(writer);
        Ok(())
    }

    fn writer(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        let writer = self.0.writer.lock();
        writer.unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `what` while no thread writes: what is said meanwhile waits in the queue.
    ///
    /// # Errors
    /// When there can be no thread afterwards.
    pub fn without_writer<T>(&self, what: impl FnOnce() -> T) -> io::Result<T> {
        self.close();
        if let Some(writer) = self.writer().take() {
            // It took its panic along; the next one writes on.
            let _ = writer.join();
        }
        let done = what();
        self.state().is_closed = false;
        self.start_writer()?;
        Ok(done)
    }

    /// The writer ends when it has written what there is.
    fn close(&self) {
        self.state().is_closed = true;
        self.0.put.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, state: &mut State, text: &str, left_out: u64) {
        if state.queue.put(text, left_out) {
            state.put += 1;
            self.0.put.notify_one();
        }
    }

    /// A line of the program's own, which may be coloured. Waits until it is written, so
    /// that it comes before what is written next elsewhere, but not for a log that is
    /// stuck.
    pub fn say(&self, text: &str) {
        let text = sys::plain::coloured(text);
        let mut state = self.state();
        self.put(&mut state, &text, 0);
        self.wait(state);
    }

    /// What `source` says `about` something, on one line; it never waits. A burst of a kind
    /// is written, then one in a second.
    pub fn tell(&self, source: &str, about: &'static str, text: impl FnOnce() -> String) {
        self.limited(source, about, || sys::plain::one_line(&text()));
    }

    fn limited(&self, source: &str, about: &'static str, text: impl FnOnce() -> String) {
        let passed = self.state().limit.pass(source, about, sys::clock::now_ns());
        if let Some(left_out) = passed {
            // It may panic, which is told here as well: the state is free.
            let text = text();
            self.put(&mut self.state(), &text, left_out);
        }
    }

    fn wait(&self, state: MutexGuard<'_, State>) {
        let last = state.put;
        let waits = |state: &mut State| state.ended < last && !state.is_stuck;
        let waited = self.0.ended.wait_timeout_while(state, WAIT_MAX, waits);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_stuck |= state.ended < last;
    }

    /// Says what is missing, and waits until all is written, as [`Self::say`] does.
    pub fn end(&self) {
        let mut state = self.state();
        let missing = state.limit.take_left_out() + state.queue.take_lost();
        if missing > 0 {
            let text = format!("{missing} more lines were left out");
            self.put(&mut state, &text, 0);
        }
        drop(state);
        self.close();
        self.wait(self.state());
    }

    /// Takes what panics say: a thread that panics must not hang in saying so.
    pub fn take_panics(&self) {
        let lines = self.clone();
        std::panic::set_hook(Box::new(move |panic| {
            lines.limited("panic", "panic", || sys::plain::lines(&panic_text(panic)));
        }));
    }
}

fn panic_text(panic: &PanicHookInfo<'_>) -> String {
    let thread = thread::current();
    let name = thread.name().unwrap_or("without a name");
    let trace = Backtrace::capture();
    match trace.status() {
        BacktraceStatus::Captured => format!("thread '{name}' {panic}; {trace}"),
        _ => format!("thread '{name}' {panic}; RUST_BACKTRACE=1 shows where it came from"),
    }
}

fn write_lines(inner: &Inner, to: BorrowedFd<'_>) {
    let lock = || inner.state.lock().unwrap_or_else(PoisonError::into_inner);
    let mut state = lock();
    loop {
        let Some(line) = state.queue.take() else {
            if state.is_closed {
                return;
            }
            let woken = inner.put.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        drop(state);
        let written = write_all(to, line.text().as_bytes(), Some(WAIT_MAX));
        state = lock();
        match written {
            Ok(()) => state.is_stuck = false,
            Err(_) => state.queue.failed(&line),
        }
        state.ended += 1;
        inner.ended.notify_all();
    }
}

/// An event of what happens inside; it never waits.
pub struct Event<'l> {
    lines: &'l LogLines,
    /// Where it comes from, if such events are limited.
    limited: Option<&'static str>,
}

impl io::Write for Event<'_> {
    /// The subscriber writes an event at once.
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let shown = || sys::plain::coloured(&String::from_utf8_lossy(text));
        match self.limited {
            Some(place) => self.lines.limited("event", place, shown),
            None => {
                let shown = shown();
                self.lines.put(&mut self.lines.state(), &shown, 0);
            }
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log as a subscriber sees it.
pub struct Events {
    pub lines: LogLines,
    /// Unless they were asked for.
    pub are_limited: bool,
}

impl<'e> MakeWriter<'e> for Events {
    type Writer = Event<'e>;

    fn make_writer(&'e self) -> Event<'e> {
        let (lines, limited) = (&self.lines, None);
        Event { lines, limited }
    }

    fn make_writer_for(&'e self, event: &Metadata<'_>) -> Event<'e> {
        Event {
            lines: &self.lines,
            limited: self.are_limited.then(|| event.name()),
        }
    }
}

#[cfg(test)]
mod tests;
