//! The committed schema is the one the types have, and bad documents are
//! refused with words that help.

use lockgate_trial as trial;
use trial::{Build, Probe, ReadError, Run, SCHEMA_VERSION};

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
fn nothing_is_called_empty() {
    for text in ["", " \n\t"] {
        assert!(matches!(Run::read(text), Err(ReadError::Empty)));
    }
}

#[test]
fn what_is_cut_off_says_where() {
    let text = stored();
    let error = Run::read(&text[..text.len() / 2]).expect_err("it was cut");
    assert!(
        matches!(error, ReadError::NotJson { line: 2.., .. }),
        "{error}"
    );
    assert!(error.to_string().contains("line"), "{error}");
}

#[test]
fn other_documents_are_not_runs() {
    for text in [
        "{}",
        "[]",
        "7",
        "\"text\"",
        "{\"schema\": \"1\"}",
        "{\"schema\": -1}",
    ] {
        assert!(
            matches!(Run::read(text), Err(ReadError::NoVersion)),
            "{text}"
        );
    }
}

#[test]
fn newer_and_older_versions_name_themselves_and_the_remedy() {
    let versioned = |version: &str| stored().replacen("\"schema\": 1", version, 1);
    let newer = Run::read(&versioned("\"schema\": 2"))
        .expect_err("it is newer")
        .to_string();
    assert!(
        newer.contains("version 2") && newer.contains("newer"),
        "{newer}"
    );
    let older = Run::read(&versioned("\"schema\": 0"))
        .expect_err("it is older")
        .to_string();
    assert!(
        older.contains("version 0") && older.contains("run again"),
        "{older}"
    );
}

#[test]
fn a_newer_version_is_named_even_where_its_fields_are_unknown() {
    let error = Run::read("{\"schema\": 3, \"tides\": []}").expect_err("it is newer");
    assert!(matches!(error, ReadError::Version { found: 3 }), "{error}");
}

#[test]
fn unknown_and_missing_fields_are_named() {
    let unknown = stored().replacen("\"host\"", "\"tide\": 1,\n  \"host\"", 1);
    let error = Run::read(&unknown)
        .expect_err("it has a field too many")
        .to_string();
    assert!(error.contains("`tide`"), "{error}");
    let missing = stored().replacen("\"seed\": 18446744073709551615,", "", 1);
    let error = Run::read(&missing)
        .expect_err("it has a field too few")
        .to_string();
    assert!(error.contains("`seed`"), "{error}");
}

#[test]
fn unknown_fields_deep_inside_are_named_too() {
    let state = r#"{"state": "partial", "reason": "r", "tide": 1}"#;
    let error = serde_json::from_str::<trial::SectionState>(state).expect_err("a field too many");
    assert!(error.to_string().contains("tide"), "{error}");
}
