//! The section without a guest: a shell that answers as one does.

use std::time::Duration;

use trial::{Dimension, Outcome, Validity};

use crate::kspeed::cell::{Cell, grid};
use crate::kspeed::charts;
use crate::kspeed::clock::Clock;
use crate::kspeed::comparisons;
use crate::kspeed::config::{Config, Table};
use crate::kspeed::context::{Context, HostFacts};
use crate::kspeed::end::End;
use crate::kspeed::findings;
use crate::kspeed::guest_facts::GuestFacts;
use crate::kspeed::measure::Bench;
use crate::kspeed::method::Method;
use crate::kspeed::points;
use crate::kspeed::schedule::Schedule;
use crate::kspeed::shell::{Lost, Output, Shell, Stop};
use crate::kspeed::tables;
use kit::testing::Collector;

const CBC: &str = include_str!("fixtures/tcrypt-cbc-generic.log");
const LOG: &str = "tsc: Detected 2600.004 MHz processor";

/// Answers scripts: an asynchronous driver that does four times as many
/// requests when it is kept busy.
struct Fake {
    scripts: usize,
    /// It is gone after so many.
    dies_after: Option<usize>,
    /// So many answers of the module, at most, come from a guest that was let
    /// do nothing.
    idle: usize,
}

/// The value behind `key=` in a script.
fn word<'a>(script: &'a str, key: &str) -> &'a str {
    let from = script.find(&format!(" {key}=")).expect("it is there") + key.len() + 2;
    let rest = &script[from..];
    &rest[..rest.find([' ', '"', '\n']).unwrap_or(rest.len())]
}

impl Fake {
    fn answer(&mut self, script: &str) -> String {
        let (mode, bytes) = (word(script, "mode"), word(script, "size"));
        if bytes == "65536" {
            return r#"{"schema":1,"ok":false,"error":{"code":-22,"name":"EINVAL","what":"too long","limit":"4096","remedy":"a shorter one"}}"#.to_owned();
        }
        // tcrypt's fixture has 2.6e9 / 5330 requests a second at 64 B.
        let sync = 2.6e9 / 5190.0 * 0.05;
        let jitter = (self.scripts % 7) as f64 * 0.001;
        let factor = if mode == "sync" { 1.0 } else { 4.0 };
        let is_idle = self.idle > 0;
        self.idle -= usize::from(is_idle);
        let completed = match is_idle {
            true => 0,
            false => (sync * factor * (1.0 + jitter)) as u64,
        };
        let total = completed * bytes.parse::<u64>().expect("a number");
        let latency = match word(script, "latency") {
            "1" => format!(r#"{{"count":{completed},"buckets":[[2000,{completed}]]}}"#),
            _ => "null".to_owned(),
        };
        format!(
            r#"{{"schema":1,"ok":true,"driver":"{}","is_async":true,"mode":"{mode}","op":"{}","size_bytes":{bytes},"depth":{},"thread_count":{},"elapsed_ns":50000000,"completed":{completed},"bytes":{total},"errors":0,"latency_ns":{latency},"threads":[{{"completed":{completed},"backlogged":0,"completed_inline":0,"in_flight_max":1}}]}}"#,
            word(script, "driver"),
            word(script, "op"),
            word(script, "depth"),
            word(script, "threads"),
        )
    }
}

impl Shell for Fake {
    fn run(&mut self, script: &str, _limit: Duration) -> Result<Output, Lost> {
        self.scripts += 1;
        if self.dies_after.is_some_and(|most| self.scripts > most) {
            return Err(Lost {
                during: "a test".to_owned(),
                source: "it was killed".into(),
            });
        }
        let (status, text) = match script {
            _ if script.contains("/control") => (0, self.answer(script)),
            _ if script.contains("modprobe tcrypt") => (0, CBC.to_owned()),
            _ if script.contains("pcrypt") && script.contains("modprobe") => {
                (1, "modprobe: module pcrypt not found\n".to_owned())
            }
            _ => (0, String::new()),
        };
        Ok(Output { status, text })
    }

    fn stop(&self) -> Stop {
        Box::new(|| ())
    }

    fn cpu_s(&self) -> f64 {
        0.0
    }
}

fn config(text: &str) -> Config {
    let table = kit::config::from_table::<Table>(text.parse().expect("toml"));
    Config::try_from(table.expect("a table")).expect("a configuration")
}

fn measured(config: &Config, shell: &mut Fake, sink: &mut Collector) -> (Vec<Cell>, End) {
    let schedule = Schedule::within(config, Duration::from_secs(3600)).expect("it fits");
    let mut cells = grid(config);
    let mut bench = Bench {
        shell,
        config,
        schedule: &schedule,
        clock: Clock::of_log(LOG),
        cpus: &[],
    };
    let end = bench.measure(&mut cells, sink, |_, _| ());
    (cells, end)
}

fn guest() -> GuestFacts {
    GuestFacts {
        kernel: "6.1.0".to_owned(),
        qemu: "7.2.0".to_owned(),
        accelerator: vm::Accelerator::Tcg,
        vcpus: 1,
        cpu: "max".to_owned(),
    }
}

fn context<'a>(config: &'a Config, guest: &'a GuestFacts, cells: &'a [Cell]) -> Context<'a> {
    Context {
        config,
        guest,
        cells,
        host: HostFacts {
            l2_bytes: 1 << 20,
            cpu_count: 0,
        },
        command: "lockgate run kspeed",
    }
}

const FEW: &str = "drivers = ['cbc(aes-generic)']\nsizes_bytes = [64, 512]\nmethods = ['sync', 'batch', 'async', 'resubmit', 'tcrypt', 'tcrypt-mb']\nseconds = 0.05\npairs = 9";

fn alive() -> Fake {
    Fake {
        scripts: 0,
        dies_after: None,
        idle: 0,
    }
}

#[test]
fn every_method_is_measured_and_compared() {
    let (config, guest) = (config(FEW), guest());
    let (cells, end) = measured(&config, &mut alive(), &mut Collector::default());
    assert!(matches!(end, End::Complete), "{end:?}");
    let context = context(&config, &guest, &cells);
    let points = points::points(&context);
    // tcrypt has no 512 B.
    assert_eq!(points.len(), 10);
    for point in &points {
        assert_eq!(point.verdict.validity, Validity::Valid, "{:?}", point);
        let accelerator = &point.dimensions["accelerator"];
        assert_eq!(accelerator, &Dimension::from("tcg"));
        let rates = point.metric("requests_per_s").expect("a rate");
        assert_eq!(rates.samples.len(), 9);
    }
    let ratios = comparisons::ratios(&context);
    let gain = comparisons::of(&ratios, &cells[0], Method::Async, Method::Sync);
    let gain = gain.expect("both were measured");
    assert!((3.9..4.1).contains(&gain.ratio) && gain.outcome == Outcome::Faster);
    let same = comparisons::of(&ratios, &cells[0], Method::Tcrypt, Method::Sync);
    let same = same.expect("both were measured");
    assert!(same.target.expect("it has one").met, "{same:?}");
    assert_eq!(charts::charts(&context).len(), 1);
    for table in tables::tables(&context, &ratios) {
        assert!(table.note.contains("Emulated"), "{}", table.title);
        let columns = table.columns.len();
        assert!(table.rows.iter().all(|row| row.len() == columns));
    }
    let findings = findings::findings(&context, &ratios, &end);
    let headline = &findings[0];
    assert!(headline.text.contains("25%"), "{}", headline.text);
}

#[test]
fn what_a_guest_refuses_is_not_supported_and_no_zero() {
    let text = "drivers = ['virtio_crypto_aes_cbc', 'pcrypt(generic-gcm-aesni)']\nsizes_bytes = [64, 65536]\nmethods = ['sync', 'async', 'tcrypt']\npairs = 5";
    let (config, guest) = (config(text), guest());
    let (cells, end) = measured(&config, &mut alive(), &mut Collector::default());
    let context = context(&config, &guest, &cells);
    let points = points::points(&context);
    let verdict = |driver: &str, bytes: u64, method: &str| {
        let own = points.iter().find(|point| {
            let is = |name: &str, value: Dimension| point.dimensions[name] == value;
            is("driver", driver.into())
                && is("block_bytes", bytes.into())
                && is("method", method.into())
        });
        let point = own.expect("it was tried");
        assert_eq!(point.metrics.is_empty(), !point.verdict.is_valid());
        (point.verdict.validity, point.verdict.reason.clone())
    };
    let virtio = "virtio_crypto_aes_cbc";
    assert_eq!(verdict(virtio, 64, "async").0, Validity::Valid);
    let (validity, reason) = verdict(virtio, 65_536, "async");
    assert_eq!(validity, Validity::NotSupported);
    assert!(
        reason.contains("too long") && reason.contains("4096"),
        "{reason}"
    );
    let (validity, reason) = verdict("pcrypt(generic-gcm-aesni)", 64, "sync");
    assert_eq!(validity, Validity::NotSupported);
    assert!(reason.contains("pcrypt not found"), "{reason}");
    // The log is another driver's.
    let (_, reason) = verdict(virtio, 64, "tcrypt");
    assert!(reason.contains("cbc(aes-generic) instead of"), "{reason}");
    let findings = findings::findings(&context, &comparisons::ratios(&context), &end);
    let told = findings
        .iter()
        .filter(|one| one.text.starts_with("Not measured"));
    assert_eq!(told.count(), 3);
}

#[test]
fn an_interrupt_keeps_the_rounds_before_it() {
    let mut sink = Collector {
        interrupt_after: Some(4),
        ..Collector::default()
    };
    let (cells, end) = measured(&config(FEW), &mut alive(), &mut sink);
    assert!(matches!(end, End::Interrupted));
    let series = cells[0].arm(Method::Async).expect("two rounds");
    assert_eq!(series.trials.len(), 2);
}

#[test]
fn a_guest_that_dies_leaves_what_was_measured() {
    let mut shell = Fake {
        scripts: 0,
        dies_after: Some(25),
        ..alive()
    };
    let (cells, end) = measured(&config(FEW), &mut shell, &mut Collector::default());
    assert!(matches!(&end, End::Failed(lost) if lost.to_string().contains("a test")));
    assert!(cells.iter().any(|cell| cell.arm(Method::Sync).is_some()));
    assert!(end.result().is_err());
}

#[test]
fn a_guest_that_was_let_do_nothing_is_asked_for_longer() {
    let config = config(
        "drivers = ['cbc(aes-generic)']\nsizes_bytes = [64]\nmethods = ['sync']\nseconds = 0.05\npairs = 5",
    );
    // Six slices count and one warms up; two more times each of a round.
    for (idle, rounds, scripts) in [(0, 5, 12), (1, 5, 13), (2, 5, 14), (3, 0, 9)] {
        let mut shell = Fake { idle, ..alive() };
        let (cells, _) = measured(&config, &mut shell, &mut Collector::default());
        let (_, series) = &cells[0].arms[0];
        assert_eq!(series.trials.len(), rounds, "{idle} idle");
        assert_eq!(shell.scripts, scripts, "{idle} idle");
        let failure = series.failure.as_ref().map(|one| one.reason.as_str());
        let expected = (rounds == 0).then_some("no request completed in 3200 ms");
        assert_eq!(failure, expected);
    }
}
