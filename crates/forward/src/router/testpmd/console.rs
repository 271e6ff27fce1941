//! What is said to `testpmd`, and what it says: over a terminal of its own, since
//! a pipe would get its answers only when its buffer is full.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use crate::router::Own;

/// Bytes of a line that are kept.
const LINE_BYTES_MAX: u64 = 512;
/// Lines that wait for their reader; later ones are dropped.
const LINES_MAX: usize = 1024;
/// Time for an answer, on a busy machine too: the thread that answers shares its
/// CPU with those that forward.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// What it counted, and then a line that shows that this is all.
const QUESTION: &[u8] = b"show fwd stats all\nset verbose 0\n";
const ANSWER_END: &str = "Change verbose level";

/// A terminal with `testpmd` at its other end.
pub struct Console {
    terminal: File,
    lines: Receiver<String>,
    reader: Option<JoinHandle<()>>,
    failure: Option<String>,
}

impl Console {
    /// A console, and the end that is to be the program's input and output.
    ///
    /// # Errors
    /// From `/dev/ptmx`.
    pub fn open() -> io::Result<(Self, OwnedFd)> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        let terminal = File::from(ours);
        let (sender, lines) = sync_channel(LINES_MAX);
        let from = terminal.try_clone()?;
        let reader = std::thread::Builder::new()
            .name("lockgate-testpmd".to_owned())
            .spawn(move || read(from, &sender))?;
        let console = Self {
            terminal,
            lines,
            reader: Some(reader),
            failure: None,
        };
        Ok((console, theirs))
    }

    /// What it counted since it started to forward.
    ///
    /// # Errors
    /// Of kind `TimedOut` without an answer, `InvalidData` where the answer has no
    /// counters; from writing where it has ended.
    pub fn ask(&mut self) -> io::Result<Own> {
        while let Ok(line) = self.lines.try_recv() {
            self.note(line);
        }
        self.terminal.write_all(QUESTION)?;
        let until = Instant::now() + ANSWER_MAX;
        let mut answer = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(ANSWER_END) => break,
                Ok(line) => answer.push(line),
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
        counted(&answer).ok_or_else(|| {
            let what = format!("no counters in its answer: {}", answer.join(" / "));
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    }

    /// Ends it in order: it takes its programs off the ports.
    pub fn quit(&mut self) {
        let _ = self.terminal.write_all(b"quit\n");
    }

    pub fn last_failure(&mut self) -> Option<String> {
        while let Ok(line) = self.lines.recv_timeout(Duration::from_millis(100)) {
            self.note(line);
        }
        self.failure.take()
    }

    fn note(&mut self, line: String) {
        let words = ["Cause", "Error", "error", "failed", "Failed"];
        if words.iter().any(|word| line.contains(word)) {
            self.failure = Some(line);
        }
    }

    /// Waits for the thread that reads; the program has ended.
    pub fn close(&mut self) {
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// Reads until the program's end of the terminal is closed, so that the program
/// never waits for a reader.
fn read(from: File, lines: &SyncSender<String>) {
    let mut from = BufReader::new(from);
    loop {
        let mut bytes = Vec::new();
        match from
            .by_ref()
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut bytes)
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&bytes).trim().to_owned();
        let _ = lines.try_send(line);
    }
}

/// The sums over all ports, as `show fwd stats all` prints them; without a line
/// about cycles where there was no frame yet.
fn counted(answer: &[String]) -> Option<Own> {
    let sums = answer
        .iter()
        .skip_while(|line| !line.contains("Accumulated forward statistics"));
    let number_after = |line: &str, label: &str| -> Option<u64> {
        let rest = line.split_once(label)?.1.trim_start();
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    let find = |label: &str| sums.clone().find_map(|line| number_after(line, label));
    let forwarded = find("TX-packets:")?;
    let busy_ns = match (find("total cycles="), find(") at ")) {
        (Some(cycles), Some(mhz @ 1..)) => {
            let ns = u128::from(cycles) * 1000 / u128::from(mhz);
            u64::try_from(ns).ok()?
        }
        (None, _) => 0,
        _ => return None,
    };
    Some(Own { forwarded, busy_ns })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANSWER: &str = "\
testpmd> show fwd stats all

  ---------------------- Forward statistics for port 0  ----------------------
  RX-packets: 5              RX-dropped: 0             RX-total: 5
  TX-packets: 3              TX-dropped: 0             TX-total: 3
  ----------------------------------------------------------------------------

  +++++++++++++++ Accumulated forward statistics for all ports+++++++++++++++
  RX-packets: 96156064       RX-dropped: 0             RX-total: 96156064
  TX-packets: 96156032       TX-dropped: 0             TX-total: 96156032
  ++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++
";
    const CYCLES: &str = "  CPU cycles/packet=179.70 (total cycles=17278900323 / total mac packets=96156064) at 2600 MHz Clock\n";

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn sums_and_busy_time_are_read() {
        let own = counted(&lines(&format!("{ANSWER}{CYCLES}"))).unwrap();
        assert_eq!(own.forwarded, 96_156_032);
        assert_eq!(own.busy_ns, 6_645_730_893);
        assert_eq!(counted(&lines(ANSWER)).unwrap().busy_ns, 0);
        assert_eq!(counted(&lines("Bad arguments")), None);
        assert_eq!(counted(&lines(&ANSWER.replace("96156032", "many"))), None);
    }

    #[test]
    fn a_program_is_asked_and_answers() {
        let (mut console, theirs) = Console::open().unwrap();
        let mut theirs = BufReader::new(File::from(theirs));
        let peer = std::thread::spawn(move || {
            let mut heard = String::new();
            theirs.read_line(&mut heard).unwrap();
            theirs.read_line(&mut heard).unwrap();
            let answer = format!("{ANSWER}{CYCLES}Change verbose level from 0 to 0\n");
            theirs.get_mut().write_all(answer.as_bytes()).unwrap();
            heard.clear();
            theirs.read_line(&mut heard).unwrap();
            heard
        });
        assert_eq!(console.ask().unwrap().forwarded, 96_156_032);
        console.quit();
        assert_eq!(peer.join().unwrap(), "quit\n");
        console.close();
    }

    proptest! {
        #[test]
        fn whatever_it_says_is_no_panic(text in "\\PC*", tail in "(TX-packets: |total cycles=|\\) at |[0-9]{0,30}| |\n){0,20}") {
            let answer = format!("{text}\nAccumulated forward statistics\n{tail}");
            let _ = counted(&lines(&answer));
        }
    }
}
