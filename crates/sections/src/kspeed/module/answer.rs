//! What the module answers: JSON out of a guest, so nothing in it is taken on
//! trust, and all of it is bounded.

use serde::Deserialize;

use crate::kspeed::module::Start;

/// Threads of 64 CPUs and a histogram of all its buckets are far below.
pub(in super::super) const ANSWER_BYTES_MAX: usize = 256 << 10;
/// The module's answers have this version.
const SCHEMA: u32 = 1;
const BUCKETS_MAX: usize = 4096;
/// Requests that a run of seconds can complete, and their latencies' sum, stay
/// far below.
const COUNT_MAX: u64 = 1 << 40;
const TEXT_BYTES_MAX: usize = 512;

/// An answer that was understood.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) enum Answer {
    /// It ran.
    Measured(Measured),
    /// It did not, and says why.
    Refused(Fault),
}

/// What a run found.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Measured {
    /// Whether the driver completes requests later.
    pub(in super::super) is_async: bool,
    pub(in super::super) elapsed_ns: u64,
    /// Cycles of the CPU's counter in that time; none where it has none.
    pub(in super::super) elapsed_cycles: Option<u64>,
    pub(in super::super) completed: u64,
    pub(in super::super) errors: u64,
    /// (upper end in ns, how many).
    pub(in super::super) latencies: Vec<(u64, u64)>,
    /// Requests the driver put aside because its queue was full.
    pub(in super::super) backlogged: u64,
    /// Requests that were complete when the call came back.
    pub(in super::super) completed_inline: u64,
    /// Most in flight at once, of one thread.
    pub(in super::super) in_flight_max: u64,
}

/// Why the module refused, in its own words.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Fault {
    code: i32,
    name: String,
    what: String,
    #[serde(default)]
    limit: String,
    #[serde(default)]
    remedy: String,
}

/// No answer, or none that can be.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum AnswerError {
    /// Longer than any answer.
    #[error("the module's answer has {bytes} bytes, the limit is {ANSWER_BYTES_MAX}")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// No JSON of the module's.
    #[error(
        "the module's answer is not understood; rebuild it from this version's kmod/ (make setup-guests): {start:?}"
    )]
    Syntax {
        /// How it begins.
        start: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// Another version's.
    #[error(
        "the module's answer has schema {schema}, this program reads {SCHEMA}; rebuild the module (make setup-guests)"
    )]
    Schema {
        /// The answer's.
        schema: u32,
    },
    /// It answers another question.
    #[error("the module measured {what} {found}, asked was {asked}")]
    Other {
        /// Which part of the question.
        what: &'static str,
        /// What it says.
        found: String,
        /// What it should say.
        asked: String,
    },
    /// Figures that no run has.
    #[error("the module's answer contradicts itself: {what}")]
    Impossible {
        /// In which way.
        what: String,
    },
}

#[derive(Deserialize)]
struct Head {
    schema: u32,
    ok: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusal {
    #[serde(rename = "schema")]
    _schema: u32,
    #[serde(rename = "ok")]
    _ok: bool,
    error: Fault,
}

#[derive(Deserialize)]
struct Run {
    driver: String,
    is_async: bool,
    mode: String,
    op: String,
    size_bytes: u64,
    depth: u64,
    thread_count: u64,
    elapsed_ns: u64,
    #[serde(default)]
    elapsed_cycles: u64,
    completed: u64,
    bytes: u64,
    errors: u64,
    /// Null where none was taken.
    latency_ns: Option<Latency>,
    threads: Vec<Thread>,
}

#[derive(Default, Deserialize)]
struct Latency {
    count: u64,
    buckets: Vec<(u64, u64)>,
}

#[derive(Deserialize)]
struct Thread {
    completed: u64,
    backlogged: u64,
    completed_inline: u64,
    in_flight_max: u64,
}

/// Reads the answer to a question.
///
/// # Errors
/// [`AnswerError`] says what of it cannot be.
pub(in super::super) fn parse(text: &str, start: &Start) -> Result<Answer, AnswerError> {
    if text.len() > ANSWER_BYTES_MAX {
        return Err(AnswerError::TooLong { bytes: text.len() });
    }
    let syntax = |source| AnswerError::Syntax {
        start: text.chars().take(80).collect(),
        source,
    };
    let head: Head = serde_json::from_str(text).map_err(syntax)?;
    if head.schema != SCHEMA {
        let schema = head.schema;
        return Err(AnswerError::Schema { schema });
    }
    if !head.ok {
        let refusal: Refusal = serde_json::from_str(text).map_err(syntax)?;
        return Ok(Answer::Refused(refusal.error));
    }
    let run: Run = serde_json::from_str(text).map_err(syntax)?;
    run.answers(start)?;
    run.measured().map(Answer::Measured)
}

impl Run {
    /// Whether it is the answer to that question.
    fn answers(&self, start: &Start) -> Result<(), AnswerError> {
        let texts = [
            ("driver", &self.driver[..], start.driver.name),
            ("mode", &self.mode, start.mode),
            ("operation", &self.op, start.driver.kind.operation()),
        ];
        let text = |number: u64| number.to_string();
        let numbers = [
            ("size", text(self.size_bytes), start.size_bytes),
            ("depth", text(self.depth), start.depth),
            ("threads", text(self.thread_count), start.threads),
        ];
        let numbers = numbers.map(|(what, found, asked)| (what, found, asked.to_string()));
        let texts = texts.map(|(what, found, asked)| (what, short(found), asked.to_owned()));
        match texts
            .into_iter()
            .chain(numbers)
            .find(|(_, found, asked)| found != asked)
        {
            None => Ok(()),
            Some((what, found, asked)) => Err(AnswerError::Other { what, found, asked }),
        }
    }

    fn measured(self) -> Result<Measured, AnswerError> {
        let impossible = |what: String| Err(AnswerError::Impossible { what });
        if self.elapsed_ns == 0 {
            return impossible("no time passed".to_owned());
        }
        let latency = self.latency_ns.unwrap_or_default();
        let counted = latency.buckets.len();
        if counted > BUCKETS_MAX {
            return impossible(format!("{counted} buckets, the limit is {BUCKETS_MAX}"));
        }
        if self.completed > COUNT_MAX
            || self.completed.checked_mul(self.size_bytes) != Some(self.bytes)
        {
            let (completed, bytes) = (self.completed, self.bytes);
            return impossible(format!("{completed} requests of {bytes} bytes together"));
        }
        if self.errors > COUNT_MAX {
            let errors = self.errors;
            return impossible(format!(
                "{errors} requests failed, the limit is {COUNT_MAX}"
            ));
        }
        let sum = |value: fn(&Thread) -> u64| {
            self.threads
                .iter()
                .fold(0_u64, |sum, thread| sum.saturating_add(value(thread)))
        };
        let of_threads = sum(|thread| thread.completed);
        if of_threads != self.completed {
            return impossible(format!(
                "{} requests completed, by its threads {of_threads}",
                self.completed
            ));
        }
        let in_buckets =
            (latency.buckets.iter()).fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        if in_buckets != latency.count {
            return impossible(format!(
                "{} latencies, in its buckets {in_buckets}",
                latency.count
            ));
        }
        let in_flight_max = self.threads.iter().map(|thread| thread.in_flight_max).max();
        if in_flight_max.unwrap_or(0) > self.depth {
            return impossible(format!("more in flight than {}", self.depth));
        }
        Ok(Measured {
            is_async: self.is_async,
            elapsed_ns: self.elapsed_ns,
            elapsed_cycles: (self.elapsed_cycles > 0).then_some(self.elapsed_cycles),
            completed: self.completed,
            errors: self.errors,
            backlogged: sum(|thread| thread.backlogged),
            completed_inline: sum(|thread| thread.completed_inline),
            in_flight_max: in_flight_max.unwrap_or(0),
            latencies: latency.buckets,
        })
    }
}

impl Measured {
    pub(in super::super) fn requests_per_s(&self) -> f64 {
        self.completed as f64 * 1e9 / self.elapsed_ns as f64
    }

    /// How fast the CPU's counter runs.
    pub(in super::super) fn cycles_per_ns(&self) -> Option<f64> {
        Some(self.elapsed_cycles? as f64 / self.elapsed_ns as f64)
    }
}

impl Fault {
    /// In one sentence.
    pub(in super::super) fn reason(&self) -> String {
        let limit = match self.limit.as_str() {
            "" => String::new(),
            limit => format!(" (limit: {})", short(limit)),
        };
        format!(
            "the module says {}: {}{limit}",
            short(&self.name),
            short(&self.what)
        )
    }

    /// What can be done.
    pub(in super::super) fn remedy(&self) -> String {
        short(&self.remedy)
    }
}

/// A text out of the guest, bounded and without what moves a cursor.
fn short(text: &str) -> String {
    let plain = text.chars().filter(|c| !c.is_control());
    plain.take(TEXT_BYTES_MAX).collect()
}

#[cfg(test)]
mod tests;
