//! QEMU's own control channel: JSON lines over a socket.
//!
//! Source: QEMU, docs/interop/qmp-spec. One command at a time; events are
//! read and dropped.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::deadline::{Deadline, Stopped};

/// QEMU answers a command within this time, or something is wrong with it.
pub const QMP_LIMIT: Duration = Duration::from_secs(60);

/// The longest answer taken, bytes: `query-cpu-definitions` has some 200 kB.
pub const QMP_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum QmpError {
    #[error("QEMU closed its control channel before it answered `{command}`")]
    Closed { command: String },
    #[error("QEMU did not answer `{command}` within {} s; is it stopped?", limit.as_secs())]
    Timeout { command: String, limit: Duration },
    #[error("QEMU refuses `{command}`: {description} ({class})")]
    Refused {
        command: String,
        class: String,
        description: String,
    },
    #[error("the answer to `{command}` is not QMP: {what}")]
    Malformed { command: String, what: String },
    #[error("QEMU's control channel failed at `{command}`")]
    Io {
        command: String,
        #[source]
        source: io::Error,
    },
}

#[derive(Deserialize)]
struct Message {
    #[serde(rename = "QMP")]
    greeting: Option<Value>,
    #[serde(rename = "return")]
    value: Option<Value>,
    error: Option<Refusal>,
    id: Option<u64>,
}

#[derive(Deserialize)]
struct Refusal {
    class: String,
    desc: String,
}

#[derive(Debug)]
pub(super) struct Qmp {
    stream: UnixStream,
    unread: Vec<u8>,
    last_id: u64,
}

impl Qmp {
    pub(super) fn connect(stream: UnixStream, limit: Duration) -> Result<Self, QmpError> {
        let mut qmp = Self {
            stream,
            unread: Vec::new(),
            last_id: 0,
        };
        let call = Call::new("greeting", limit);
        while qmp.message(&call)?.greeting.is_none() {}
        qmp.execute("qmp_capabilities", Value::Null)?;
        Ok(qmp)
    }

    /// Carries out one command; `arguments` is an object, or null for none.
    pub(super) fn execute(&mut self, command: &str, arguments: Value) -> Result<Value, QmpError> {
        let call = Call::new(command, QMP_LIMIT);
        let request = self.request(command, arguments);
        let written = call.deadline.write(&self.stream, request.as_bytes());
        written.map_err(|stopped| call.stopped(stopped))?;
        self.answer(&call)
    }

    /// As [`Qmp::execute`], with a descriptor for QEMU.
    pub(super) fn execute_with(
        &mut self,
        command: &str,
        arguments: Value,
        descriptor: &OwnedFd,
    ) -> Result<Value, QmpError> {
        let call = Call::new(command, QMP_LIMIT);
        let request = self.request(command, arguments);
        let fds = [descriptor.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&fds));
        let bytes = [IoSlice::new(request.as_bytes())];
        // It fits into the socket's buffer whole.
        let written = sendmsg(&self.stream, &bytes, &mut control, SendFlags::NOSIGNAL);
        written.map_err(|error| call.stopped(Stopped::Failed(error.into())))?;
        self.answer(&call)
    }

    fn request(&mut self, command: &str, arguments: Value) -> String {
        self.last_id += 1;
        let mut request = json!({"execute": command, "id": self.last_id});
        if !arguments.is_null() {
            request["arguments"] = arguments;
        }
        format!("{request}\n")
    }

    fn answer(&mut self, call: &Call<'_>) -> Result<Value, QmpError> {
        loop {
            let message = self.message(call)?;
            // Events have no id, and late answers an older one.
            if message.id != Some(self.last_id) {
                continue;
            }
            return match message.error {
                Some(refusal) => Err(QmpError::Refused {
                    command: call.command.to_owned(),
                    class: refusal.class,
                    description: refusal.desc,
                }),
                None => Ok(message.value.unwrap_or_default()),
            };
        }
    }

    fn message(&mut self, call: &Call<'_>) -> Result<Message, QmpError> {
        let line = self.line(call)?;
        serde_json::from_slice(&line).map_err(|error| call.malformed(error.to_string()))
    }

    fn line(&mut self, call: &Call<'_>) -> Result<Vec<u8>, QmpError> {
        let mut looked_at = 0;
        loop {
            let end = self.unread[looked_at..].iter().position(|&b| b == b'\n');
            if let Some(end) = end {
                let rest = self.unread.split_off(looked_at + end + 1);
                return Ok(std::mem::replace(&mut self.unread, rest));
            }
            looked_at = self.unread.len();
            if looked_at > QMP_BYTES_MAX {
                return Err(call.malformed(format!("a line of more than {QMP_BYTES_MAX} bytes")));
            }
            let mut piece = [0; 16 * 1024];
            let read = call.deadline.read(&self.stream, &mut piece);
            let read = read.map_err(|stopped| call.stopped(stopped))?;
            self.unread.extend_from_slice(&piece[..read]);
        }
    }
}

struct Call<'a> {
    command: &'a str,
    deadline: Deadline,
}

impl<'a> Call<'a> {
    fn new(command: &'a str, limit: Duration) -> Self {
        let deadline = Deadline::after(limit);
        Self { command, deadline }
    }

    fn malformed(&self, what: String) -> QmpError {
        let command = self.command.to_owned();
        QmpError::Malformed { command, what }
    }

    fn stopped(&self, stopped: Stopped) -> QmpError {
        let command = self.command.to_owned();
        match stopped {
            Stopped::Silent(limit) => QmpError::Timeout { command, limit },
            Stopped::Closed => QmpError::Closed { command },
            Stopped::Failed(source) => QmpError::Io { command, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::thread;

    use super::*;

    const GREETING: &str = "{\"QMP\": {\"version\": {}, \"capabilities\": [\"oob\"]}}\r\n";
    const AGREED: &str = "{\"return\": {}, \"id\": 1}\r\n";
    const LIMIT: Duration = Duration::from_secs(20);

    /// A fake QEMU that sends these words whatever it receives, then hangs up.
    fn spoken(words: String) -> UnixStream {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        thread::spawn(move || {
            let _ = theirs.write_all(words.as_bytes());
            let _ = theirs.shutdown(std::net::Shutdown::Write);
            let _ = io::copy(&mut theirs, &mut io::sink());
        });
        ours
    }

    fn asked(words: &str) -> Result<Value, QmpError> {
        let stream = spoken(format!("{GREETING}{AGREED}{words}"));
        Qmp::connect(stream, LIMIT)?.execute("query-x", Value::Null)
    }

    #[test]
    fn events_and_late_answers_are_passed_over() {
        let words = concat!(
            "{\"event\": \"NEW_IN_QEMU_12\", \"data\": {}, \"timestamp\": {}}\n",
            "{\"return\": \"late\", \"id\": 1}\n{\"return\": [7], \"id\": 2}\n",
        );
        assert_eq!(asked(words).unwrap(), json!([7]));
    }

    #[test]
    fn a_refusal_has_qemu_s_words() {
        let words =
            "{\"error\": {\"class\": \"CommandNotFound\", \"desc\": \"not found\"}, \"id\": 2}\n";
        let text = asked(words).unwrap_err().to_string();
        assert!(
            text.contains("query-x") && text.contains("not found"),
            "{text}"
        );
    }

    #[test]
    fn the_end_and_nonsense_are_typed() {
        testing::assert_matches!(asked(""), Err(QmpError::Closed { .. }));
        testing::assert_matches!(asked("what?\n"), Err(QmpError::Malformed { .. }));
        let silent = Qmp::connect(spoken(String::new()), LIMIT);
        testing::assert_matches!(silent, Err(QmpError::Closed { .. }));
    }

    #[test]
    fn an_endless_line_is_refused() {
        let endless = "x".repeat(QMP_BYTES_MAX + 100_000);
        let error = asked(&endless).unwrap_err().to_string();
        assert!(error.contains(&QMP_BYTES_MAX.to_string()), "{error}");
    }

    #[test]
    fn silence_ends_in_time() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let error = Qmp::connect(ours, Duration::from_millis(50)).unwrap_err();
        testing::assert_matches!(error, QmpError::Timeout { .. }, "{error}");
    }
}
