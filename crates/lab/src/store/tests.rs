use std::fs;
use std::path::Path;

use crate::store::LoadError;
use crate::store::RESULT;
use crate::store::Store;
use crate::store::StoreError;
use crate::store::folder_name;
use crate::store::{beside, load, load_file};
use crate::testing::{blank_run, point};

const UTC: &str = "2026-11-21T21:00:00Z";

#[test]
fn a_run_is_stored_linked_and_read_back() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::create(&root.path().join("deep/runs"), UTC, "host").unwrap();
    let runs = store.folder().parent().unwrap();
    store.save_result(&blank_run(), true).unwrap();
    store.save_report("<!doctype html>").unwrap();
    store.link_latest().unwrap();
    assert!(store.folder().ends_with("20261121T210000Z-host"));
    let folder = store.folder().to_str().unwrap();
    for argument in [folder, &format!("{folder}/{RESULT}"), "latest"] {
        assert_eq!(load(argument, runs).unwrap(), blank_run(), "{argument}");
    }
}

#[test]
fn latest_follows_the_newest_and_collisions_get_a_suffix() {
    let root = tempfile::tempdir().unwrap();
    for seed in [1, 2, 3] {
        let store = Store::create(root.path(), UTC, "host").unwrap();
        let mut run = blank_run();
        run.seed = seed;
        store.save_result(&run, false).unwrap();
        store.link_latest().unwrap();
        assert_eq!(load("latest", root.path()).unwrap().seed, seed);
    }
    assert!(root.path().join("20261121T210000Z-host-3").is_dir());
    // Three runs and the link: no temporary files.
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 4);
}

#[test]
fn runs_beside_a_run_are_found_the_nearest_first() {
    let root = tempfile::tempdir().unwrap();
    let run = |hour: u32| {
        let store = Store::create(root.path(), &format!("2026-11-21T{hour}:00:00Z"), "host");
        let store = store.unwrap();
        store.save_result(&blank_run(), false).unwrap();
        store.link_latest().unwrap();
        fs::canonicalize(store.folder()).unwrap().join(RESULT)
    };
    let runs: Vec<_> = (10..15).map(run).collect();
    fs::create_dir(root.path().join("empty")).unwrap();
    fs::write(root.path().join("other.json"), "{}").unwrap();
    let near = |argument: &str| beside(argument, root.path()).unwrap();
    let [one, two, three, four, five] = &runs[..] else {
        panic!("five runs")
    };
    assert_eq!(near("latest"), [four, three, two, one].map(Clone::clone));
    let named = near(two.to_str().unwrap());
    assert_eq!(named, [one, three, four, five].map(Clone::clone));
    assert_eq!(near(two.parent().unwrap().to_str().unwrap()), named);
    assert_eq!(load_file(&named[0]).unwrap(), blank_run());
    // Of a file with another name, the files.
    let copy = root.path().join("copy.json");
    fs::copy(one, &copy).unwrap();
    let files = near(copy.to_str().unwrap());
    assert_eq!(files.len(), 1);
    assert!(files[0].ends_with("other.json"));
    assert!(beside("no-such-run", root.path()).is_err());
}

#[test]
fn a_folder_named_latest_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("latest")).unwrap();
    let store = Store::create(root.path(), UTC, "host").unwrap();
    assert!(matches!(
        store.link_latest(),
        Err(StoreError::Latest { .. })
    ));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
}

#[test]
fn a_host_name_is_one_plain_folder() {
    assert_eq!(
        folder_name(UTC, "../étc/x y"),
        "20261121T210000Z-..--tc-x-y"
    );
    assert_eq!(
        folder_name(UTC, &"x".repeat(300)).len(),
        "20261121T210000Z-".len() + 64
    );
}

#[test]
fn an_unwritable_place_names_path_and_remedy() {
    let error = Store::create(Path::new("/dev/null/runs"), UTC, "host").unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("/dev/null/runs") && text.contains("--out"),
        "{text}"
    );
}

#[test]
fn a_folder_that_went_is_an_error_not_a_panic() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::create(root.path(), UTC, "host").unwrap();
    fs::remove_dir_all(store.folder()).unwrap();
    let text = store
        .save_result(&blank_run(), true)
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("result.json") && text.contains("removed"),
        "{text}"
    );
}

#[test]
fn a_result_above_the_limit_is_refused_and_the_one_before_stands() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::create(root.path(), UTC, "host").unwrap();
    store.save_report("small").unwrap();
    let error = store
        .save_report(&"x".repeat(crate::store::FILE_BYTES_MAX + 1))
        .unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }));
    assert_eq!(
        fs::read(store.folder().join("report.html")).unwrap(),
        b"small"
    );
}

#[test]
fn what_is_no_result_is_refused_with_its_reason() {
    let root = tempfile::tempdir().unwrap();
    let refused = |name: &str, text: &str| {
        let path = root.path().join(name);
        fs::write(&path, text).unwrap();
        load(path.to_str().unwrap(), root.path()).unwrap_err()
    };
    for (name, text) in [
        ("empty.json", ""),
        ("other.json", "{\"schema\": 1}"),
        ("half.json", "{\"schema\": 1, \"buil"),
        ("new.json", "{\"schema\": 99, \"colour\": 1}"),
        ("list.json", "[1]"),
    ] {
        let error = refused(name, text);
        assert!(
            matches!(error, LoadError::Content { .. }),
            "{name}: {error}"
        );
        assert!(error.to_string().contains(name), "{error}");
    }
    assert!(matches!(
        load("no-such-run", root.path()),
        Err(LoadError::Missing { .. })
    ));
    assert!(matches!(
        load("latest", root.path()),
        Err(LoadError::Missing { .. })
    ));
}

#[test]
fn points_survive_the_round_trip() {
    let root = tempfile::tempdir().unwrap();
    let mut run = blank_run();
    run.sections.push(trial::SectionResult {
        name: "fake".to_owned(),
        title: "A fake".to_owned(),
        state: trial::SectionState::Complete,
        seconds: 0.125,
        command: "lockgate run fake".to_owned(),
        findings: vec![],
        charts: vec![],
        tables: vec![],
        prices: vec![],
        comparisons: vec![],
        points: vec![point(7)],
    });
    let store = Store::create(root.path(), UTC, "host").unwrap();
    store.save_result(&run, false).unwrap();
    assert_eq!(
        load(store.folder().to_str().unwrap(), root.path()).unwrap(),
        run
    );
}
