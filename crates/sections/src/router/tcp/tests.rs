//! The section without a host.

use trial::{Event, Weight};

use crate::router::tcp::config::{Config, Table};
use kit::ConfigError;
use kit::routers::end::End;
use kit::routers::testing::{Collector, Fake, headline, in_rounds};

fn config(text: &str) -> Result<Config, ConfigError> {
    Config::try_from(kit::config::from_table::<Table>(
        text.parse().expect("toml"),
    )?)
}

#[test]
fn wrong_values_are_named() {
    for (text, key) in [
        ("paths = []", "paths"),
        ("paths = ['ovs']", "paths"),
        ("seconds = 61.0", "seconds"),
        ("pairs = 1000", "pairs"),
        ("frames = [64]", "frames"),
    ] {
        assert_eq!(config(text).expect_err(text).key(), key);
    }
}

fn run(text: &str, host: &Fake) -> Vec<Event> {
    let config = config(text).expect("a configuration");
    let mut sink = Collector::default();
    let end = in_rounds(&config, host, (1.0, 5), &mut sink);
    assert!(matches!(end, End::Complete), "{end:?}");
    sink.events
}

#[test]
fn table_3_has_the_source_s_rows_and_ours() {
    let host = Fake {
        missing: vec!["bridge"],
        ..Fake::default()
    };
    let events = run("paths = ['kernel', 'xdp-fib', 'bridge']", &host);
    let mut counts = (0, 0);
    for event in &events {
        match event {
            Event::Table(table) => {
                assert_eq!(table.rows.len(), 4, "two of the source, two of ours");
                counts.0 += 1;
            }
            Event::Comparison(one) => {
                assert_eq!((one.ratio, one.pairs.len()), (1.0, 5));
                counts.1 += 1;
            }
            Event::Finding(finding) if finding.weight == Weight::Warning => {
                assert_eq!(finding.remedy, "install bridge");
            }
            _ => {}
        }
    }
    assert_eq!(counts, (1, 2));
    let first = headline(&events);
    assert!(first.text.starts_with("TCP through kernel routing: 10000"));
    assert!(first.text.contains("210 to 749"), "{}", first.text);
}

#[test]
fn what_may_not_be_believed_is_held_against_nothing() {
    let noisy = |path| Fake {
        noisy: vec![path],
        ..Fake::default()
    };
    let paths = "paths = ['kernel', 'xdp-fib']";
    let without = run(paths, &noisy("kernel"));
    let first = headline(&without);
    assert!(
        first.text.contains("XDP with bpf_fib_lookup: 10000"),
        "{}",
        first.text
    );
    assert!(!first.text.contains('×'), "{}", first.text);
    let without = run(paths, &noisy("xdp-fib"));
    let first = headline(&without);
    assert!(!first.text.contains('×'), "{}", first.text);
    let none = run("paths = ['kernel']", &noisy("kernel"));
    let open = headline(&none);
    assert!(open.text.contains("stays open"), "{}", open.text);
    assert_eq!(open.remedy, "a quiet host");
}
