//! The committed schema is the one the types have, and bad documents are
//! refused with words that help.

use lockgate_trial as trial;
use trial::{Build, Probe, Run, SCHEMA_VERSION};

fn run() -> Run {
    Run {
        schema: SCHEMA_VERSION,
        build: Build {
            version: "0.1.0".into(),
            git_revision: "unknown".into(),
            libraries: [].into(),
        },
        host: "canal-7".into(),
        started_utc: "2026-03-14T09:26:53Z".into(),
        seconds: 1.5,
        command: "lockgate run".into(),
        seed: u64::MAX,
        interrupted: false,
        scenario: serde_json::json!({}),
        sections: vec![],
        probe: Probe::default(),
    }
}

fn stored() -> String {
    serde_json::to_string_pretty(&run()).expect("a run is JSON")
}

#[test]
fn the_committed_schema_is_the_types_own() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/run-v1.schema.json");
    if std::env::var_os("LOCKGATE_BLESS").is_some() {
        std::fs::write(path, trial::run_schema()).expect("the schema folder is writable");
    }
    let committed = std::fs::read_to_string(path).expect("the schema is committed");
    assert_eq!(
        committed,
        trial::run_schema(),
        "the types changed: raise SCHEMA_VERSION if old results no longer read, then LOCKGATE_BLESS=1"
    );
}

#[test]
fn a_stored_run_reads_back() {
    assert_eq!(Run::read(&stored()).expect("it was just written"), run());
}

#[test]
fn what_is_not_a_run_is_refused_with_words_that_help() {
    let text = stored();
    let changed = |from: &str, to: &str| text.replacen(from, to, 1);
    let newer = changed("\"schema\": 1", "\"schema\": 2");
    let older = changed("\"schema\": 1", "\"schema\": 0");
    let unknown = changed("\"host\"", "\"tide\": 1,\n  \"host\"");
    let missing = changed("\"seed\": 18446744073709551615,", "");
    let no_version = ["no whole number in `schema`", "`result.json`"];
    for (text, parts) in [
        ("", ["is empty", "run again"]),
        (" \n\t", ["is empty", "run again"]),
        (&text[..text.len() / 2], ["is not JSON (line 10", "cut off"]),
        ("{}", no_version),
        ("[]", no_version),
        ("7", no_version),
        ("\"text\"", no_version),
        ("{\"schema\": \"1\"}", no_version),
        ("{\"schema\": -1}", no_version),
        (&newer, ["schema version 2", "or a newer one"]),
        (
            "{\"schema\": 3, \"tides\": []}",
            ["schema version 3", "or a newer one"],
        ),
        (&older, ["schema version 0", "run again"]),
        (&unknown, ["is not a run", "`tide`"]),
        (&missing, ["is not a run", "`seed`"]),
    ] {
        let error = Run::read(text).expect_err(text).to_string();
        let says_all = parts.iter().all(|part| error.contains(part));
        assert!(says_all, "{text}: {error}");
    }
}

#[test]
fn unknown_fields_deep_inside_are_named_too() {
    let state = r#"{"state": "partial", "reason": "r", "tide": 1}"#;
    let error = serde_json::from_str::<trial::SectionState>(state).expect_err("a field too many");
    assert!(error.to_string().contains("tide"), "{error}");
}
