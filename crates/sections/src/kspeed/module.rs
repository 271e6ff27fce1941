//! Lockgate's kernel module in the guest: how a run is started, and what it
//! answers. That is JSON out of a guest: all of it is checked and bounded.

use std::time::Duration;

use serde::Deserialize;
use trial::Verdict;

use super::catalogue::{Chosen, GCM_AAD_BYTES, GCM_TAG_BYTES, Kind};
use super::shell::{not_measured, plain};

/// Where the module answers.
const FILES: &str = "/sys/kernel/debug/lockgate_kspeed";
/// Warm-up before requests count.
const WARM_UP_MS: u128 = 5;
/// Threads of 64 CPUs and a histogram of all its buckets are far below.
const ANSWER_BYTES_MAX: usize = 256 << 10;
const SCHEMA: u32 = 1;
const BUCKETS_MAX: usize = 4096;
/// What a run of seconds can complete stays far below.
const COUNT_MAX: u64 = 1 << 40;
const TEXT_BYTES_MAX: usize = 512;
const REMEDY: &str = "See the guest's log: lockgate vm run SCRIPT runs the same commands.";
const REBUILD: &str = "Build the module of this version again (make setup-guests).";

/// One run, as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Start {
    pub(super) driver: Chosen,
    /// The module's name of the mode.
    pub(super) mode: &'static str,
    pub(super) size_bytes: usize,
    pub(super) depth: usize,
    pub(super) threads: usize,
    pub(super) duration: Duration,
    /// Whether every request's latency is taken.
    pub(super) latency: bool,
}

impl Start {
    /// Its answer is printed, also where it is refused.
    pub(super) fn script(&self) -> String {
        let line = self.line();
        format!("echo \"{line}\" > {FILES}/control 2>/dev/null\ncat {FILES}/result")
    }

    fn line(&self) -> String {
        let kind = self.driver.kind;
        let more = match kind {
            Kind::Cbc => " key=16 place=in".to_owned(),
            Kind::Gcm => format!(" key=16 aad={GCM_AAD_BYTES} tag={GCM_TAG_BYTES}"),
            Kind::Sha256 => String::new(),
        };
        format!(
            "start type={} driver={} mode={} op={} size={} depth={} threads={} ms={} warmup_ms={WARM_UP_MS} latency={}{more}",
            kind.facts().kernel_type,
            self.driver,
            self.mode,
            kind.facts().operation,
            self.size_bytes,
            self.depth,
            self.threads,
            self.duration.as_millis().max(1),
            u8::from(self.latency),
        )
    }
}

/// What a run found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Measured {
    /// Whether the driver completes requests later.
    pub(super) is_async: bool,
    pub(super) requests_per_s: f64,
    /// How fast the CPU's counter runs; none where it has none.
    pub(super) cycles_per_ns: Option<f64>,
    pub(super) completed: u64,
    /// (upper end in ns, how many).
    pub(super) latencies: Vec<(u64, u64)>,
    /// Requests the driver put aside because its queue was full.
    pub(super) backlogged: u64,
    /// Requests that were complete when the call came back.
    pub(super) completed_inline: u64,
    /// Most in flight at once, of one thread.
    pub(super) in_flight_max: u64,
}

/// Either of the two that the module answers.
#[derive(Deserialize)]
struct Answer {
    schema: u32,
    ok: bool,
    error: Option<Fault>,
}

/// Why it refused, in its own words.
#[derive(Deserialize)]
struct Fault {
    name: String,
    what: String,
    #[serde(default)]
    limit: String,
    #[serde(default)]
    remedy: String,
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

/// Reads the answer to what was asked; nothing where no request completed.
///
/// # Errors
/// Why there is no measurement.
pub(super) fn read(text: &str, start: &Start) -> Result<Option<Measured>, Verdict> {
    let text = text.trim();
    if text.len() > ANSWER_BYTES_MAX {
        let bytes = text.len();
        let reason =
            format!("the module's answer has {bytes} bytes, the limit is {ANSWER_BYTES_MAX}");
        return Err(not_measured(reason, REBUILD));
    }
    if text.is_empty() {
        return Err(not_measured("the module did not answer", REMEDY));
    }
    let unknown = |error: serde_json::Error| {
        let begin = plain(text, 80);
        let reason = format!("the module's answer is not understood ({error}): {begin}");
        not_measured(reason, REBUILD)
    };
    let answer: Answer = serde_json::from_str(text).map_err(unknown)?;
    if answer.schema != SCHEMA {
        let reason = format!(
            "the module's answer has schema {}, this program reads {SCHEMA}",
            answer.schema
        );
        return Err(not_measured(reason, REBUILD));
    }
    if let Some(fault) = answer.error.filter(|_| !answer.ok) {
        return Err(fault.verdict());
    }
    let run: Run = serde_json::from_str(text).map_err(unknown)?;
    run.check(start)
        .map_err(|reason| not_measured(reason, REMEDY))?;
    Ok((run.completed > 0).then(|| run.measured()))
}

impl Fault {
    fn verdict(&self) -> Verdict {
        let short = |text: &str| plain(text, TEXT_BYTES_MAX);
        let limit = match self.limit.as_str() {
            "" => String::new(),
            limit => format!(" (limit: {})", short(limit)),
        };
        let reason = format!(
            "the module says {}: {}{limit}",
            short(&self.name),
            short(&self.what)
        );
        not_measured(reason, &short(&self.remedy))
    }
}

impl Run {
    fn sum(&self, value: fn(&Thread) -> u64) -> u64 {
        let values = self.threads.iter().map(value);
        values.fold(0, u64::saturating_add)
    }

    fn in_flight_max(&self) -> u64 {
        let most = self.threads.iter().map(|thread| thread.in_flight_max);
        most.max().unwrap_or(0)
    }

    /// Whether it answers what was asked, with figures that can be.
    fn check(&self, start: &Start) -> Result<(), String> {
        let what = |texts: [&str; 3], numbers: [u64; 3]| {
            let [driver, mode, operation] = texts.map(|text| plain(text, TEXT_BYTES_MAX));
            let [bytes, depth, threads] = numbers;
            format!(
                "{driver} {mode} {operation}, {bytes} bytes, {depth} in flight, {threads} threads"
            )
        };
        let own = what(
            [&self.driver, &self.mode, &self.op],
            [self.size_bytes, self.depth, self.thread_count],
        );
        let asked = what(
            [
                start.driver.name,
                start.mode,
                start.driver.kind.facts().operation,
            ],
            [start.size_bytes, start.depth, start.threads].map(|number| number as u64),
        );
        if own != asked {
            return Err(format!("the module measured {own}; asked was {asked}"));
        }
        let (completed, errors) = (self.completed, self.errors);
        let latency = self.latency_ns.as_ref();
        let buckets = latency.map_or(&[][..], |latency| &latency.buckets);
        let timed = buckets.iter().map(|(_, count)| *count);
        let timed = timed.fold(0, u64::saturating_add);
        let is_sound = self.elapsed_ns > 0
            && completed <= COUNT_MAX
            && errors <= COUNT_MAX
            && completed.checked_mul(self.size_bytes) == Some(self.bytes)
            && self.sum(|thread| thread.completed) == completed
            && buckets.len() <= BUCKETS_MAX
            && timed == latency.map_or(0, |latency| latency.count)
            && self.in_flight_max() <= self.depth;
        if !is_sound {
            return Err(format!(
                "the module's figures contradict each other: {completed} requests in {} ns, {timed} timed, at most {} in flight",
                self.elapsed_ns,
                self.in_flight_max()
            ));
        }
        match errors {
            0 => Ok(()),
            errors => Err(format!(
                "{errors} of {} requests failed",
                completed + errors
            )),
        }
    }

    fn measured(self) -> Measured {
        let ns = self.elapsed_ns as f64;
        let cycles = (self.elapsed_cycles > 0).then_some(self.elapsed_cycles);
        Measured {
            is_async: self.is_async,
            requests_per_s: self.completed as f64 * 1e9 / ns,
            cycles_per_ns: cycles.map(|cycles| cycles as f64 / ns),
            completed: self.completed,
            backlogged: self.sum(|thread| thread.backlogged),
            completed_inline: self.sum(|thread| thread.completed_inline),
            in_flight_max: self.in_flight_max(),
            latencies: self.latency_ns.unwrap_or_default().buckets,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RUN: &str = include_str!("fixtures/module-async.json");
    const REFUSAL: &str = include_str!("fixtures/module-refused.json");

    fn start() -> Start {
        Start {
            driver: "virtio_crypto_aes_cbc".parse().unwrap(),
            mode: "async",
            size_bytes: 512,
            depth: 16,
            threads: 1,
            duration: Duration::from_millis(200),
            latency: true,
        }
    }

    #[test]
    fn a_real_answer_is_read_and_a_refusal_keeps_its_words() {
        let measured = read(RUN, &start()).unwrap().expect("it ran");
        assert!(measured.is_async && measured.completed > 100);
        assert!(measured.requests_per_s > 0.0 && !measured.latencies.is_empty());
        let refused = read(REFUSAL, &start()).unwrap_err();
        assert!(refused.reason.contains("ENOENT") && !refused.remedy.is_empty());
    }

    #[test]
    fn what_cannot_be_or_answers_another_question_is_refused() {
        for (key, value) in [
            ("driver", "cbc-aes-aesni".into()),
            ("mode", "sync".into()),
            ("op", "decrypt".into()),
            ("size_bytes", 64.into()),
            ("thread_count", 2.into()),
            ("depth", 3.into()),
            ("elapsed_ns", 0.into()),
            ("completed", 1.into()),
            ("completed", u64::MAX.into()),
            ("completed", (-1).into()),
            ("errors", 1.into()),
            ("errors", u64::MAX.into()),
            ("schema", 2.into()),
            ("threads", serde_json::json!([])),
            (
                "latency_ns",
                serde_json::json!({"count": 5, "buckets": [[1, 4]]}),
            ),
        ] {
            let mut answer: serde_json::Value = serde_json::from_str(RUN).unwrap();
            answer[key] = value;
            let text = answer.to_string();
            assert!(read(&text, &start()).is_err(), "{key}: {text}");
        }
        assert!(read("", &start()).is_err());
        let long = read(&"x".repeat(ANSWER_BYTES_MAX + 1), &start()).unwrap_err();
        assert!(long.reason.contains("limit"), "{}", long.reason);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// A guest may answer anything.
        #[test]
        fn nothing_makes_it_panic(text in "(?s).{0,300}", cut in 0_usize..2000, flip in 0_u8..128) {
            let _ = read(&text, &start());
            let mut bytes = RUN.as_bytes().to_vec();
            let at = cut % bytes.len();
            bytes[at] ^= flip;
            let _ = read(&String::from_utf8_lossy(&bytes), &start());
            let _ = read(&RUN[..at], &start());
        }
    }
}
