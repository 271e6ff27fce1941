//! Lockgate's kernel module in the guest: how a run is started, and what it
//! answers. That is JSON out of a guest: all of it is checked and bounded.

use crate::guest::{not_measured, plain};
use std::time::Duration;

use crate::load::rig::LatencyCounts;
use serde::Deserialize;
use trial::Verdict;

use super::catalogue::Driver;
use super::recipe::Recipe;

/// Where the module answers.
pub const FILES: &str = "/sys/kernel/debug/lockgate_kspeed";
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

/// The script after which /proc/crypto has whatever the kernel can make of that
/// name, and which prints it: templates are built when they are first opened.
pub fn offer_script(driver: Driver) -> String {
    format!(
        "for type in skcipher aead ahash akcipher; do\necho \"start type=$type driver={driver} ms=1 warmup_ms=0\" > {FILES}/control\ncat {FILES}/result > /dev/null\ndone 2> /dev/null\ncat /proc/crypto"
    )
}

/// One run, as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    pub driver: Driver,
    pub recipe: Recipe,
    /// The module's name of the mode.
    pub mode: &'static str,
    pub size_bytes: usize,
    pub depth: usize,
    pub threads: usize,
    pub duration: Duration,
    /// Whether every request's latency is taken.
    pub latency: bool,
}

impl Start {
    /// Its answer is printed, also where it is refused.
    pub fn script(&self) -> String {
        let (asked, kernel_type) = (self.asked(), self.recipe.kernel_type);
        format!(
            "echo \"start type={kernel_type} driver={} mode={} op={} size={} depth={} threads={} ms={} warmup_ms={WARM_UP_MS} latency={}{}\" > {FILES}/control 2>/dev/null\ncat {FILES}/result",
            asked.driver,
            asked.mode,
            asked.op,
            asked.size_bytes,
            asked.depth,
            asked.thread_count,
            self.duration.as_millis().max(1),
            u8::from(self.latency),
            self.recipe.words(),
        )
    }

    fn asked(&self) -> Asked {
        Asked {
            driver: self.driver.name.to_owned(),
            mode: self.mode.to_owned(),
            op: self.recipe.operation.to_owned(),
            in_place: self.recipe.in_place == Some(true),
            size_bytes: self.size_bytes as u64,
            depth: self.depth as u64,
            thread_count: self.threads as u64,
        }
    }
}

/// What the module is asked for, and repeats in its answer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Asked {
    driver: String,
    mode: String,
    op: String,
    in_place: bool,
    size_bytes: u64,
    depth: u64,
    thread_count: u64,
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

/// What a run found; once it is checked, at least one request completed.
#[derive(Clone, Debug, Deserialize)]
pub struct Run {
    #[serde(flatten)]
    asked: Asked,
    /// What the kernel says that the driver does.
    algorithm: String,
    #[serde(default)]
    key_bytes: u64,
    /// The driver that a sample of results was compared with; empty: none.
    verified_by: String,
    /// Whether the driver completes requests later.
    pub is_async: bool,
    elapsed_ns: u64,
    /// Of the CPU's counter; 0 where it has none.
    #[serde(default)]
    elapsed_cycles: u64,
    pub completed: u64,
    bytes: u64,
    errors: u64,
    /// Null where none was taken.
    latency_ns: Option<Times>,
    /// The call into the driver; modules of an earlier version took the latency
    /// alone.
    submit_ns: Option<Times>,
    /// From its return to the callback; of drivers that complete at once, none.
    wait_ns: Option<Times>,
    callback_ns: Option<Times>,
    threads: Vec<Thread>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Times {
    count: u64,
    /// (upper end in ns, how many).
    buckets: Vec<(u64, u64)>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Thread {
    completed: u64,
    /// Requests the driver put aside because its queue was full.
    pub backlogged: u64,
    /// Requests that were complete when the call came back.
    pub completed_inline: u64,
    /// Requests whose callback ran in an interrupt, hard or soft.
    #[serde(default)]
    in_interrupt: u64,
    in_flight_max: u64,
}

/// Reads the answer to what was asked; nothing where no request completed.
///
/// # Errors
/// Why there is no measurement.
pub fn read(text: &str, start: &Start) -> Result<Option<Run>, Verdict> {
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
    Ok((run.completed > 0).then_some(run))
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

impl Times {
    fn is_sound(&self) -> bool {
        let counted = self.buckets.iter().map(|(_, count)| *count);
        let counted = counted.fold(0, u64::saturating_add);
        self.buckets.len() <= BUCKETS_MAX && counted == self.count
    }
}

impl Run {
    pub fn requests_per_s(&self) -> f64 {
        self.completed as f64 * 1e9 / self.elapsed_ns as f64
    }

    /// What was measured, in words.
    pub fn what(&self) -> String {
        let key = match self.key_bytes {
            0 => String::new(),
            bytes => format!(", key of {bytes} bytes"),
        };
        let checked = match &*self.verified_by {
            "" => "; its results were not compared with others".to_owned(),
            driver if driver == self.asked.driver => "; compared with itself alone".to_owned(),
            driver => format!("; results compared with {driver}"),
        };
        let what = format!("{} by {}{key}{checked}", self.algorithm, self.asked.driver);
        plain(&what, TEXT_BYTES_MAX)
    }

    /// How fast the CPU's counter runs; none where it has none.
    pub fn cycles_per_ns(&self) -> Option<f64> {
        let cycles = (self.elapsed_cycles > 0).then_some(self.elapsed_cycles as f64);
        cycles.map(|cycles| cycles / self.elapsed_ns as f64)
    }

    pub fn take_latencies(&mut self) -> Vec<(u64, u64)> {
        self.latency_ns.take().unwrap_or_default().buckets
    }

    /// Medians of what a request's latency is made of, ns: submission, wait and
    /// callback; none of what there was not.
    pub fn split_ns(&self) -> [Option<f64>; 3] {
        [&self.submit_ns, &self.wait_ns, &self.callback_ns].map(|times| {
            let counts = LatencyCounts::of(times.as_ref()?.buckets.iter().copied());
            let median = counts.quantile_ns(0.5).filter(|_| !counts.is_empty());
            median.map(|ns| ns as f64)
        })
    }

    /// The share of requests whose callback ran in an interrupt.
    pub fn in_interrupt(&self) -> f64 {
        self.sum(|thread| thread.in_interrupt) as f64 / self.completed as f64
    }

    /// Of all threads.
    pub fn sum(&self, value: fn(&Thread) -> u64) -> u64 {
        let values = self.threads.iter().map(value);
        values.fold(0, u64::saturating_add)
    }

    /// Most in flight at once, of one thread.
    pub fn in_flight_max(&self) -> u64 {
        let most = self.threads.iter().map(|thread| thread.in_flight_max);
        most.max().unwrap_or(0)
    }

    /// Whether it answers what was asked, with figures that can be.
    fn check(&self, start: &Start) -> Result<(), String> {
        let asked = start.asked();
        if self.asked != asked {
            let own = plain(&format!("{:?}", self.asked), TEXT_BYTES_MAX);
            return Err(format!("the module measured {own}; asked was {asked:?}"));
        }
        let (completed, errors) = (self.completed, self.errors);
        let times = [
            &self.latency_ns,
            &self.submit_ns,
            &self.wait_ns,
            &self.callback_ns,
        ];
        let mut times = times.into_iter().flatten();
        let is_sound = self.elapsed_ns > 0
            && completed <= COUNT_MAX
            && errors <= COUNT_MAX
            && completed.checked_mul(asked.size_bytes) == Some(self.bytes)
            && self.sum(|thread| thread.completed) == completed
            && self.sum(|thread| thread.in_interrupt) <= completed
            && times.all(Times::is_sound)
            && self.in_flight_max() <= asked.depth;
        if !is_sound {
            return Err(format!(
                "the module's figures contradict each other: {completed} requests in {} ns, at most {} in flight",
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::catalogue::Kind;
    use super::*;

    const RUN: &str = include_str!("fixtures/module-async.json");
    const REFUSAL: &str = include_str!("fixtures/module-refused.json");

    fn start() -> Start {
        Start {
            driver: "virtio_crypto_aes_cbc".parse().unwrap(),
            recipe: Recipe::known(Kind::Cbc, "encrypt", Some(true)),
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
        let mut run = read(RUN, &start()).unwrap().expect("it ran");
        assert!(run.is_async && run.completed > 100);
        let what = "cbc(aes) by virtio_crypto_aes_cbc, key of 16 bytes; results compared with cbc(aes-generic)";
        assert_eq!(run.what(), what);
        assert_eq!(run.in_interrupt(), 1.0);
        let [submit, wait, callback] = run.split_ns().map(|ns| ns.expect("it was timed"));
        assert!(submit + callback < wait, "{submit} {wait} {callback}");
        assert!(run.requests_per_s() > 0.0 && !run.take_latencies().is_empty());
        let refused = read(REFUSAL, &start()).unwrap_err();
        assert!(refused.reason.contains("ENOENT") && !refused.remedy.is_empty());
    }

    #[test]
    fn what_cannot_be_or_answers_another_question_is_refused() {
        for (key, value) in [
            ("driver", "cbc-aes-aesni".into()),
            ("mode", "sync".into()),
            ("op", "decrypt".into()),
            ("in_place", false.into()),
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
            (
                "wait_ns",
                serde_json::json!({"count": u64::MAX, "buckets": [[1, 4]]}),
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

        /// A guest may answer anything; half an answer is none.
        #[test]
        fn nothing_makes_it_panic(text in "(?s).{0,300}", cut in 0_usize..2000, flip in 0_u8..128) {
            let _ = read(&text, &start());
            let mut bytes = RUN.as_bytes().to_vec();
            let at = cut % bytes.len();
            bytes[at] ^= flip;
            let _ = read(&String::from_utf8_lossy(&bytes), &start());
            prop_assert!(read(&RUN[..at], &start()).is_err(), "{at}");
        }
    }
}
