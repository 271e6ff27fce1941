//! Wrong input: each error names the value, what is allowed and the remedy,
//! ends with 2, and leaves nothing behind.

use crate::common::Desk;

#[test]
fn wrong_arguments_name_the_value_and_what_is_allowed() {
    let rows = "
        run crypto-sped                              => 'crypto-sped' | default, crossings, cpu-tiers | .toml
        run no/such.toml                             => no/such.toml | No such file
        run --budget ten                             => 'ten' | 90s
        run --budget 0                               => '0' | more than 0
        run --budget=-5                              => '-5' | more than 0
        run probe.toml --export pdf=x                => 'pdf' | json, csv, md, html
        run probe.toml --export json                 => FORMAT=PATH
        run probe.toml --export json=                => json=-
        run probe.toml --export json=no/such/f.json  => no/such/f.json | --export
        run probe.toml --export json=/dev/null/x     => /dev/null/x
        run probe.toml --export html=.               => '.'
        run probe.toml --export json=- --export csv=- => two exports to stdout
        run probe.toml --out /dev/null/runs          => /dev/null/runs | --out
        run vcm-tasks --tasks 0,8                    => --tasks | 0 is outside 1 to 128
        run vcm-tasks --algorithm aes-128-gmc        => --algorithm | did you mean 'aes-128-gcm'?
        run crossings --tasks 1                      => --tasks | no section of this run | vcm-tasks
        sections crosings                            => 'crosings' | did you mean 'crossings'?
        report latest                                => 'latest' | result.json
        report no-such-run                           => 'no-such-run'
        report probe.toml                            => probe.toml | not JSON
        report new.json                              => new.json | 99 | newer
        compare new.json new.json                    => new.json
        man /dev/null/pages                          => /dev/null/pages
        completions tcsh                             => tcsh | bash
        speed --size 64,16kB                         => '16kB' | 16KiB
        speed --size 0                               => '0' | 1 to
        speed --algorithm aes-512-gcm                => --algorithm | 'aes-512-gcm' | aes-256-gcm
        speed --mode burst                           => --mode | burst | sync, batch, async
        speed --backend qat                          => --backend | 'qat' | aws-lc
        speed --depth 0                              => --depth | 0 | 1 to 4096
        speed --depth 1048576                        => --depth | 1048576 | 1 to 4096
        speed --policy lazy                          => --policy | lazy | armed
        speed --placement near                       => --placement | near | split
        speed --lanes 0                              => --lanes | 0 | 1 to
        speed --algorithm aes-128-cbc --size 17      => --size | 17
        speed --seconds -1                           => -1
        speed --budget 0.001                         => crypto-speed | --budget
        run --budget 0.001                           => crossings | --budget
        speed --algorithm all --budget 0.001         => crypto-peers | --budget
        speed --algorithm all --mode sync            => --mode | --algorithm all
        vm run nope.sh                               => nope.sh | No such file
        vm                                           => run | list
    ";
    let desk = Desk::new();
    desk.write("new.json", "{\"schema\": 99}");
    desk.refuses(rows, &[]);
}

#[test]
fn a_wrong_scenario_names_file_line_and_what_is_allowed() {
    let desk = Desk::new();
    for (text, parts) in [
        (
            "schema = 1\n[common]\nbugdet_s = 3\n[probe]\n",
            "mine.toml:3 | 'bugdet_s' | budget_s",
        ),
        (
            "schema = 1\n[probe]\ncolour = 3\n",
            "mine.toml:3 | [probe] | 'colour'",
        ),
        ("schema = 9\n[probe]\n", "mine.toml:1 | schema is 9"),
        ("schema = 1\n[probe\n", "mine.toml | line 2"),
    ] {
        desk.write("mine.toml", text);
        desk.refuses(&format!("run mine.toml => {parts}"), &[]);
    }
}

#[test]
fn a_wrong_variable_is_named() {
    let desk = Desk::new();
    for (variable, value, parts) in [
        ("LOCKGATE_RUNS", "/dev/null/runs", "LOCKGATE_RUNS"),
        ("LOCKGATE_LOG", "a=b=c", "LOCKGATE_LOG | a=b=c"),
    ] {
        desk.refuses(&format!("run probe.toml => {parts}"), &[(variable, value)]);
    }
}

#[test]
fn what_does_not_exist_yet_is_not_offered() {
    let desk = Desk::new();
    let help = desk.lockgate(&["--help"]).ok().stdout;
    for absent in ["tune", "model"] {
        desk.lockgate(&[absent]).refused(&[absent]);
        assert!(!help.contains(absent), "{absent}");
    }
    for hidden in ["af-alg", "user-space"] {
        assert!(!help.contains(hidden), "{hidden}");
    }
    let examples = help.lines().filter(|line| line.starts_with("  lockgate "));
    assert_eq!(examples.count(), 4, "four examples");
}

#[test]
fn help_names_every_built_in_scenario() {
    let help = Desk::new().line("run --help").ok();
    let names: Vec<_> = lab::scenario::builtin().map(|own| own.name).collect();
    help.shows(&names);
}

#[test]
fn options_of_a_section_are_flags_of_run() {
    let desk = Desk::new();
    let listed = desk.lockgate(&["sections"]).ok().stdout;
    assert!(listed.lines().any(|line| line.starts_with("crossings ")));
    let own = desk.line("sections vcm-tasks").ok();
    own.shows(&[
        "--tasks",
        "1 to 128; several by commas",
        "[vcm-tasks] depth = 16",
    ]);
    let plan = "run vcm-tasks --tasks 1,8 --depth 32 --check";
    desk.line(plan)
        .ok()
        .shows(&["lockgate run vcm-tasks --depth 32 --tasks 1,8"]);
    assert!(desk.runs().is_empty());
}
