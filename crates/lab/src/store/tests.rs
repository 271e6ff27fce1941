use std::fs;
use std::path::Path;

use crate::store::{FILE_BYTES_MAX, RESULT, Store, beside, folder_name, load, load_file};
use crate::testing::{blank_run, point};

const UTC: &str = "2026-11-21T21:00:00Z";

#[test]
fn a_run_is_stored_linked_and_read_back() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::create(&root.path().join("deep/runs"), UTC, "host").unwrap();
    let runs = store.folder().parent().unwrap();
    let mut run = blank_run();
    let state = trial::SectionState::Complete;
    let mut section = trial::SectionResult::new(("fake", "A fake"), "lockgate run fake", state);
    section.points.push(point(7));
    run.sections.push(section);
    store.save_result(&run, true).unwrap();
    store.save_report("<!doctype html>").unwrap();
    store.link_latest().unwrap();
    assert!(store.folder().ends_with("20261121T210000Z-host"));
    let folder = store.folder().to_str().unwrap();
    for argument in [folder, &format!("{folder}/{RESULT}"), "latest"] {
        assert_eq!(load(argument, runs).unwrap(), run, "{argument}");
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
fn a_host_name_is_one_plain_folder() {
    let name = folder_name(UTC, "../étc/x y");
    assert_eq!(name, "20261121T210000Z-..--tc-x-y");
    let longest = folder_name(UTC, &"x".repeat(300)).len();
    assert_eq!(longest, "20261121T210000Z-".len() + 64);
}

#[test]
fn what_cannot_be_written_names_path_and_remedy_and_what_was_there_stands() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("latest")).unwrap();
    let store = Store::create(root.path(), UTC, "host").unwrap();
    store.save_report("small").unwrap();
    let large = store.save_report(&"x".repeat(FILE_BYTES_MAX + 1));
    let report = fs::read(store.folder().join("report.html")).unwrap();
    assert_eq!(report, b"small");
    let latest = store.link_latest();
    // The run and the folder named latest: no temporary link.
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
    fs::remove_dir_all(store.folder()).unwrap();
    let gone = store.save_result(&blank_run(), true);
    let nowhere = Store::create(Path::new("/dev/null/runs"), UTC, "host");
    for (refused, parts) in [
        (large, ["report.html", "fewer points"]),
        (latest, ["/latest'", "name the run by its folder"]),
        (gone, ["result.json", "removed"]),
        (nowhere.map(drop), ["/dev/null/runs", "--out"]),
    ] {
        let text = refused.unwrap_err().to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
}

#[test]
fn what_is_no_result_is_refused_with_its_reason() {
    let root = tempfile::tempdir().unwrap();
    let refused = |argument: &str| load(argument, root.path()).unwrap_err().to_string();
    for (name, text) in [
        ("empty.json", ""),
        ("other.json", "{\"schema\": 1}"),
        ("half.json", "{\"schema\": 1, \"buil"),
        ("new.json", "{\"schema\": 99, \"colour\": 1}"),
        ("list.json", "[1]"),
    ] {
        let path = root.path().join(name);
        fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(refused(path), format!("cannot use '{path}'"));
    }
    for missing in ["no-such-run", "latest"] {
        let text = refused(missing);
        assert!(
            text.starts_with(&format!("no run at '{missing}': ")),
            "{text}"
        );
    }
}
