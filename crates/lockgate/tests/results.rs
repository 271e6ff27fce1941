//! What the program gives: on stdout, in files, and what it leaves behind.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::common::Desk;
use trial::Run;

#[test]
fn a_run_is_stored_and_shown() {
    let desk = Desk::new();
    let ended = desk.lockgate(&["run", "probe.toml", "--seed", "7"]).ok();
    let [folder] = &desk.runs()[..] else {
        panic!("one run: {:?}", desk.runs())
    };
    assert!(ended.stdout.contains("report.html"), "{}", ended.stdout);
    assert!(
        ended.stderr.contains("Changes no setting") && ended.stderr.contains("Writes to"),
        "{}",
        ended.stderr
    );
    let run = Run::read(&fs::read_to_string(folder.join("result.json")).unwrap()).unwrap();
    assert_eq!(
        (run.seed, run.interrupted, run.sections.len()),
        (7, false, 1)
    );
    assert_eq!(run.command, "lockgate run probe.toml --seed 7");
    assert!(!run.probe.groups.is_empty() && !run.build.libraries.is_empty());
    assert!(
        fs::read_to_string(folder.join("report.html"))
            .unwrap()
            .contains("</html>")
    );
    assert_eq!(
        fs::read_link(desk.path().join("lockgate-runs/latest")).unwrap(),
        folder.file_name().unwrap()
    );
    assert_eq!(
        fs::read_dir(folder).unwrap().count(),
        2,
        "no temporary file stays"
    );
}

#[test]
fn a_stored_run_is_found_by_folder_file_and_latest() {
    let desk = Desk::new();
    desk.lockgate(&["run", "probe.toml"]).ok();
    let folder = desk.runs()[0].display().to_string();
    // All but the last line, which says how to see all of that run.
    let first_page = |run: &str| {
        let shown = desk.lockgate(&["report", run]).ok().stdout;
        assert!(shown.lines().count() <= 40, "{shown}");
        let again = format!("\nAll of it: lockgate report {run} --full\n");
        shown.strip_suffix(&again).expect("it ends so").to_owned()
    };
    let shown = first_page("latest");
    assert_eq!(first_page(&folder), shown);
    assert_eq!(first_page(&format!("{folder}/result.json")), shown);
    let full = desk.lockgate(&["report", "latest", "--full"]).ok().stdout;
    assert!(full.contains("This host ("), "{full}");
    let elsewhere = Desk::new();
    let runs = desk.path().join("lockgate-runs").display().to_string();
    let found = elsewhere
        .lockgate_with(&["report", "latest"], &[("LOCKGATE_RUNS", &runs)])
        .ok();
    assert!(found.stdout.starts_with(&shown), "{}", found.stdout);
}

#[test]
fn json_on_stdout_is_the_stored_run_and_nothing_else() {
    let desk = Desk::new();
    let ended = desk
        .lockgate(&["run", "probe.toml", "--export", "json=-"])
        .ok();
    let run = Run::read(&ended.stdout).unwrap();
    let stored = fs::read_to_string(desk.runs()[0].join("result.json")).unwrap();
    assert_eq!(run, Run::read(&stored).unwrap());
    let again = desk
        .lockgate(&["report", "latest", "--export", "json=-"])
        .ok();
    assert_eq!(again.stdout, ended.stdout);
}

#[test]
fn every_format_is_written_whole() {
    let desk = Desk::new();
    let exports = ["json=a.json", "csv=a.csv", "md=a.md", "html=a.html"];
    let mut arguments = vec!["run", "probe.toml"];
    arguments.extend(exports.iter().flat_map(|export| ["--export", export]));
    desk.write("a.csv", "what was there before");
    desk.lockgate(&arguments).ok();
    let read = |name: &str| fs::read_to_string(desk.path().join(name)).unwrap();
    assert!(Run::read(&read("a.json")).is_ok());
    assert!(read("a.csv").starts_with("section,"), "{}", read("a.csv"));
    assert!(read("a.md").starts_with('#'));
    assert!(read("a.html").contains("</html>"));
}

#[test]
fn a_plan_is_shown_and_nothing_is_run() {
    let desk = Desk::new();
    let plan = desk
        .lockgate(&["run", "probe.toml", "--check", "--budget", "3m"])
        .ok()
        .stdout;
    for part in [
        "budget 180 s",
        "probe:",
        "seconds:",
        "privileges: nothing",
        "creates: nothing",
        "downloads: nothing",
    ] {
        assert!(plan.contains(part), "'{part}' is not in: {plan}");
    }
    assert!(desk.runs().is_empty());
}

/// Two scenarios that configure a section alike run it once; their budgets
/// add up.
#[test]
fn several_scenarios_are_one_run() {
    let desk = Desk::new();
    desk.write(
        "again.toml",
        "schema = 1\n[common]\nbudget_s = 20\n[probe]\n",
    );
    let both = ["run", "probe.toml", "again.toml"];
    let plan = desk
        .lockgate(&[&both[..], &["--check"]].concat())
        .ok()
        .stdout;
    assert!(plan.contains("budget 200 s"), "{plan}");
    let run = Run::read(
        &desk
            .lockgate(&[&both[..], &["--export", "json=-"]].concat())
            .ok()
            .stdout,
    )
    .unwrap();
    assert_eq!(run.sections.len(), 1);
    assert_eq!(run.scenario["scenarios"][1]["name"], "again");
}

#[test]
fn the_quiet_hear_only_results() {
    let desk = Desk::new();
    let ended = desk.lockgate(&["--quiet", "run", "probe.toml"]).ok();
    assert!(!ended.stdout.is_empty());
    assert_eq!(ended.stderr, "");
}

#[test]
fn colours_follow_the_flag_and_the_environment() {
    let desk = Desk::new();
    let colored = |arguments: &[&str], environment: &[(&str, &str)]| {
        desk.lockgate_with(arguments, environment)
            .ok()
            .stdout
            .contains('\u{1b}')
    };
    assert!(!colored(&["probe"], &[]), "a pipe is no terminal");
    assert!(colored(&["probe", "--color", "always"], &[]));
    assert!(!colored(
        &["probe", "--color", "never"],
        &[("CLICOLOR_FORCE", "1")]
    ));
}

#[test]
fn the_probe_is_text_or_json() {
    let desk = Desk::new();
    assert!(desk.lockgate(&["probe"]).ok().stdout.contains("CPU"));
    let json = desk.lockgate(&["probe", "--json"]).ok().stdout;
    let probe: trial::Probe = serde_json::from_str(&json).unwrap();
    assert!(!probe.groups.is_empty());
    assert!(desk.runs().is_empty(), "a probe stores nothing");
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let desk = Desk::new();
    let mut child = desk
        .command()
        .args(["probe", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(said, "");
}

#[test]
fn a_full_stdout_is_an_error() {
    let desk = Desk::new();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = desk.command().arg("probe").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("stdout"));
}

/// No file may grow beyond 4 KiB: the result does not fit, and is not lost.
#[test]
fn what_cannot_be_stored_goes_to_stdout() {
    let desk = Desk::new();
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" run probe.toml";
    let mut shell = std::process::Command::new("sh");
    let output = shell
        .args(["-c", script])
        .arg(crate::common::program())
        .current_dir(desk.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(
        stderr.contains("result.json") && stderr.contains("--out"),
        "{stderr}"
    );
    let stdout = String::from_utf8(output.stdout).unwrap();
    let json = &stdout[stdout.find("\n{\n").unwrap()..];
    assert_eq!(Run::read(json).unwrap().sections.len(), 1);
    assert_eq!(
        fs::read_dir(&desk.runs()[0]).unwrap().count(),
        0,
        "no half-written file"
    );
}

#[test]
fn completions_and_manual_pages_come_from_the_same_command_line() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            desk.lockgate(&["completions", shell])
                .ok()
                .stdout
                .contains("fail-below"),
            "{shell}"
        );
    }
    desk.lockgate(&["man", "pages/here"]).ok();
    let page = |name: &str| fs::read_to_string(desk.path().join("pages/here").join(name)).unwrap();
    assert!(page("lockgate.1").contains("lockgate run"));
    assert!(page("lockgate-speed.1").contains("algorithm"));
    desk.lockgate(&["man", "/dev/null/pages"])
        .refused(&["/dev/null/pages"]);
    desk.lockgate(&["completions", "tcsh"])
        .refused(&["tcsh", "bash"]);
}
