use std::fs;
use std::time::Duration;

use proptest::prelude::*;
use sections::SECTIONS;
use sys::failure::{Failure, with_causes};

use crate::scenario::{Overrides, Scenario, builtin, check_options, load, parse};
use crate::testing::config;

fn parsed(text: &str) -> Result<Scenario, Failure> {
    parse("mine", "mine.toml", text, &Overrides::default())
}

fn built_in(name: &str) -> Scenario {
    load(name, &Overrides::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Why it is refused, with its causes.
fn refusal(scenario: Result<Scenario, Failure>) -> String {
    with_causes(&scenario.err().expect("it is refused"))
}

#[test]
fn every_built_in_scenario_parses_and_says_what_it_answers() {
    for builtin in builtin() {
        let scenario = built_in(builtin.name);
        assert_eq!(scenario.name, builtin.name);
        assert_ne!(scenario.title, scenario.name, "it has a title");
        assert!(!scenario.description.is_empty(), "{}", builtin.name);
        assert!(builtin.text.starts_with("# Answers: "), "{}", builtin.name);
    }
}

/// An empty table means its defaults, which are also the built-in scenario of its
/// name: else the printed command would leave out what the file says.
#[test]
fn every_section_takes_an_empty_table_and_its_built_in_scenario_is_the_same() {
    for kind in SECTIONS {
        let scenario = parsed(&format!("schema = 1\n[{}]\n", kind.name)).expect(kind.name);
        assert_eq!(scenario.sections[0].name(), kind.name);
        let resolved = scenario.resolved()["sections"][kind.name].clone();
        assert!(resolved.is_object(), "{}", kind.name);
        if kind.kit.is_some() {
            let built_in = built_in(kind.name);
            assert_eq!(built_in.sections[0].resolved(), resolved, "{}", kind.name);
        }
    }
}

#[test]
fn the_command_line_takes_precedence_over_the_file() {
    let text = "schema = 1\n[common]\nseed = 7\n[probe]\n[crypto-speed]\nprecision = 0.1\n";
    let of = |seed, precision| {
        let overrides = Overrides {
            seed,
            precision,
            ..Overrides::default()
        };
        let scenario = parse("mine", "mine.toml", text, &overrides).unwrap();
        let resolved = scenario.resolved();
        assert_eq!(resolved["common"]["seed"], scenario.seed);
        assert_eq!(resolved["sections"]["crypto-speed"]["seed"], scenario.seed);
        assert!(resolved["sections"]["probe"].get("precision").is_none());
        let precision = resolved["sections"]["crypto-speed"]["precision"].clone();
        (scenario.seed, precision.as_f64())
    };
    assert_eq!(of(None, None), (7, Some(0.1)));
    assert_eq!(of(Some(9), Some(0.03)), (9, Some(0.03)));
}

fn with_options(name: &str, options: &[(&str, &str)]) -> Result<Scenario, Failure> {
    let own = |(flag, text): &(&str, &str)| ((*flag).to_owned(), (*text).to_owned());
    let overrides = Overrides {
        options: options.iter().map(own).collect(),
        ..Overrides::default()
    };
    let scenario = load(name, &overrides)?;
    check_options(std::slice::from_ref(&scenario), &overrides)?;
    Ok(scenario)
}

/// The command that a section prints gives it again: a flag is all that differs
/// from the built-in scenario of its name.
#[test]
fn flags_go_to_the_sections_that_have_them() {
    let own = with_options("vcm-tasks", &[("tasks", "1,8"), ("depth", "32")]).unwrap();
    let command = "lockgate run vcm-tasks --depth 32 --tasks 1,8";
    assert_eq!(own.sections[0].command(), command);
    let tasks = &own.resolved()["sections"]["vcm-tasks"]["tasks"];
    assert_eq!(*tasks, serde_json::json!([1, 8]));
    for (name, text, parts) in [
        (
            "vcm-tasks",
            "0,8",
            ["--tasks: [vcm-tasks]: tasks: ", "0 is outside 1 to"],
        ),
        ("crossings", "1", ["--tasks: no section", "does: vcm-tasks"]),
    ] {
        let text = refusal(with_options(name, &[("tasks", text)]));
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
}

#[test]
fn a_name_is_a_file_or_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("night.toml");
    let name = path.to_str().unwrap();
    let refused = |name: &str| refusal(load(name, &Overrides::default()));
    fs::write(&path, "schema = 1\n[probe]\n").unwrap();
    assert_eq!(built_in(name).name, "night");
    fs::write(&path, "#".repeat(2 << 20)).unwrap();
    assert!(refused(name).contains("longer than"), "{}", refused(name));
    let missing = refused("./no-such/night.toml");
    assert!(missing.contains("'./no-such/night.toml': "), "{missing}");
    let unknown = refused("crypto-sped");
    assert!(
        unknown.contains("'crypto-sped'; built in: default, "),
        "{unknown}"
    );
}

/// The default run is a contract: its slices are its budget, and it says which
/// ratios it shows, each once.
#[test]
fn the_default_scenario_keeps_its_contract() {
    let scenario = built_in("default");
    let slices = scenario.contract.values();
    let seconds: f64 = slices
        .clone()
        .filter_map(|slice| slice.seconds)
        .map(|own| own.0.as_secs_f64())
        .sum();
    assert_eq!(seconds, scenario.budget.as_secs_f64());
    let mut shows: Vec<_> = slices.flat_map(|slice| &*slice.shows).collect();
    let listed = shows.len();
    assert!((25..=60).contains(&listed), "{listed} ratios");
    shows.sort_unstable();
    shows.dedup();
    assert_eq!(shows.len(), listed, "one is listed twice");
    let named = |section: &dyn trial::Section| scenario.contract.contains_key(section.name());
    let own = scenario.sections.iter().map(Box::as_ref);
    let bare: Vec<_> = own
        .filter(|section| !named(*section))
        .map(trial::Section::name)
        .collect();
    assert_eq!(bare, ["probe"], "every other one has a slice");
    let half = scenario.within(Duration::from_secs(90));
    let crossings = half.iter().find(|one| one.section.name() == "crossings");
    let slice = crossings.unwrap().slice;
    assert_eq!(slice, Some(Duration::from_secs(3)), "half of its slice");
}

#[test]
fn refusals_name_file_line_and_what_is_allowed() {
    for (text, parts) in [
        (
            "schema = 1\n\n[common]\ntitle = 'x'\nbugdet_s = 3\n[probe]\n",
            &[
                "mine.toml:5: [common]: unknown key 'bugdet_s' (did you mean 'budget_s'?); ",
                "allowed: title, description, seed, budget_s",
            ][..],
        ),
        (
            "schema = 1\n[common]\nbudget_s = -1\n[probe]\n",
            &["mine.toml:3: [common]: budget_s: -1 is out of range; more than 0 and at most 86400"],
        ),
        (
            "schema = 1\n[common]\nseed = 'x'\n[probe]\n",
            &["mine.toml:3: [common]: seed: ", "0 or more"],
        ),
        (
            "schema = 1\n[probe]\n\n[crypto-sped]\n",
            &[
                "mine.toml:4: unknown section 'crypto-sped'; allowed: schema, common, contract, probe",
            ],
        ),
        (
            "schema = 1\n[probe]\n[contract.kspeed]\nseconds = 3\n",
            &["mine.toml:3: [contract]: kspeed: this scenario has no"],
        ),
        (
            "schema = 1\n[contract.probe]\nseconds = 0\n[probe]\n",
            &["mine.toml:3: [contract.probe]: seconds: 0 is out of"],
        ),
        (
            "schema = 1\n[contract.probe]\nshow = []\n[probe]\n",
            &["unknown key 'show' (did you mean 'shows'?)"],
        ),
        (
            "schema = 1\nprobe = 3\n",
            &["mine.toml:2: 'probe' must be a table: write [probe]"],
        ),
        (
            "schema = 1\n[common]\n",
            &["mine.toml has no section; add one of: probe"],
        ),
        (
            "[probe]\n",
            &["mine.toml: schema is missing; this Lockgate reads `schema = 1`"],
        ),
        ("schema = 2\n[probe]\n", &["mine.toml:1: schema is 2"]),
        (
            "schema = 1\n[probe\n",
            &["mine.toml is not TOML: ", "line 2"],
        ),
        (
            "schema = 1\n[probe]\n[probe]\n",
            &["mine.toml is not TOML: ", "line 3"],
        ),
        (
            "schema = 1\n[probe]\nx = 1\n",
            &["mine.toml:3: [probe]: unknown key 'x'"],
        ),
    ] {
        let said = refusal(parsed(text));
        assert!(
            parts.iter().all(|part| said.contains(part)),
            "{text}: {said}"
        );
    }
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| format!("{number:?}")),
        "[a-zA-Z0-9 -]{0,12}".prop_map(|text| format!("'{text}'")),
        Just("true".to_owned()),
        Just("1979-05-27".to_owned()),
        Just("nan".to_owned()),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| {
        proptest::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", ")))
    })
}

/// Keys that mean something, so that random files get past the first check.
const KEYS: &str = "seed title budget_s algorithms sizes_bytes modes depths lanes backend \
                    workers placements policies seconds rate_per_s pairs";

fn key() -> impl Strategy<Value = String> {
    let known: Vec<_> = KEYS.split_whitespace().map(str::to_owned).collect();
    prop_oneof![9 => proptest::sample::select(known), 1 => "[a-z_]{1,8}"]
}

/// Letters that make another value of one, and any others.
fn damage() -> impl Strategy<Value = char> {
    let telling: Vec<_> = "0123456789.-#\"'[],=\n".chars().collect();
    prop_oneof![proptest::sample::select(telling), any::<char>()]
}

fn table() -> impl Strategy<Value = String> {
    let name = proptest::sample::select(&["common", "probe", "crypto-speed", "other"][..]);
    (name, proptest::collection::btree_map(key(), value(), 0..4)).prop_map(|(name, keys)| {
        let lines = keys.iter().map(|(key, value)| format!("{key} = {value}\n"));
        format!("[{name}]\n{}", lines.collect::<String>())
    })
}

proptest! {
    #![proptest_config(config())]

    /// Every refusal has words; none is a panic.
    #[test]
    fn any_toml_is_a_scenario_or_an_error(tables in proptest::collection::vec(table(), 0..3)) {
        let text = format!("schema = 1\n{}", tables.concat());
        if let Err(error) = parsed(&text) {
            prop_assert!(error.to_string().contains("mine.toml"), "{error}");
        }
    }

    /// What is damaged is refused with its file, or says itself what it has become.
    #[test]
    fn any_damage_to_a_built_in_one_is_named_or_taken_whole(at in 0..4000_usize, letter in damage()) {
        for builtin in builtin() {
            let mut text: Vec<char> = builtin.text.chars().collect();
            let at = at % text.len();
            text[at] = letter;
            let damaged = parsed(&text.into_iter().collect::<String>());
            let scenario = match damaged {
                Ok(scenario) => scenario,
                Err(error) => {
                    prop_assert!(error.to_string().contains("mine.toml"), "{error}");
                    continue;
                }
            };
            for section in &scenario.sections {
                let resolved = section.resolved();
                let kind = sections::section(section.name()).expect("it is registered");
                let table = serde_json::from_value(resolved.clone()).expect("a table");
                let again = (kind.parse)(table).map(|again| again.resolved());
                prop_assert_eq!(again, Ok(resolved), "{}", section.name());
            }
        }
    }
}
