//! What the program gives: on stdout, in files, and what it leaves behind.

use std::fs;
use std::process::Stdio;

use crate::common::Desk;
use trial::Run;

#[test]
fn a_run_is_stored_and_shown() {
    let desk = Desk::new();
    let ended = desk.line("run probe.toml --seed 7").ok();
    let [folder] = &desk.runs()[..] else {
        panic!("one run: {:?}", desk.runs())
    };
    ended.shows(&["report.html"]);
    ended.says(&["Changes no setting", "Writes to"]);
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let run = desk.stored();
    let about = (run.seed, run.interrupted, run.sections.len());
    assert_eq!(about, (7, false, 1));
    assert_eq!(run.command, "lockgate run probe.toml --seed 7");
    assert!(!run.probe.groups.is_empty() && !run.build.libraries.is_empty());
    assert!(read("report.html").contains("</html>"));
    let latest = fs::read_link(desk.path().join("lockgate-runs/latest")).unwrap();
    assert_eq!(latest, folder.file_name().unwrap());
    let files = fs::read_dir(folder).unwrap().count();
    assert_eq!(files, 2, "no temporary file stays");
}

#[test]
fn a_stored_run_is_found_by_folder_file_and_latest() {
    let desk = Desk::new();
    desk.line("run probe.toml").ok();
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
    let full = desk.line("report latest --full").ok().stdout;
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
    let ended = desk.line("run probe.toml --export json=-").ok();
    let run = Run::read(&ended.stdout).unwrap();
    assert_eq!(run, desk.stored());
    let again = desk.line("report latest --export json=-").ok();
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
    let check = ["run", "probe.toml", "--check", "--budget", "3m"];
    desk.lockgate(&check).ok().shows(&[
        "budget 180 s",
        "probe:",
        "seconds:",
        "privileges: nothing",
        "creates: nothing",
        "downloads: nothing",
    ]);
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
    let both = |more: &[&str]| {
        let both = ["run", "probe.toml", "again.toml"];
        desk.lockgate(&[&both[..], more].concat()).ok()
    };
    both(&["--check"]).shows(&["budget 200 s"]);
    let run = Run::read(&both(&["--export", "json=-"]).stdout).unwrap();
    assert_eq!(run.sections.len(), 1);
    assert_eq!(run.scenario["scenarios"][1]["name"], "again");
}

#[test]
fn the_quiet_hear_only_results() {
    let desk = Desk::new();
    let ended = desk.line("--quiet run probe.toml").ok();
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
    let json = desk.line("probe --json").ok().stdout;
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
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_full_stdout_is_an_error() {
    let desk = Desk::new();
    let full = fs::File::create("/dev/full").unwrap();
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
        desk.lockgate(&["completions", shell])
            .ok()
            .shows(&["fail-below"]);
    }
    desk.line("man pages/here").ok();
    let page = |name: &str| fs::read_to_string(desk.path().join("pages/here").join(name)).unwrap();
    assert!(page("lockgate.1").contains("lockgate run"));
    assert!(page("lockgate-speed.1").contains("algorithm"));
}
