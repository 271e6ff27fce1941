use std::fs;
use std::time::Duration;

use proptest::prelude::*;

use crate::scenario::Overrides;
use crate::scenario::Scenario;
use crate::scenario::ScenarioError;
use crate::scenario::load;
use crate::scenario::parse;
use crate::scenario::{builtin, check_options};
use crate::testing::config;
use sections::SECTIONS;
use std::error::Error;

fn parsed(text: &str) -> Result<Scenario, ScenarioError> {
    parse("mine", "mine.toml", text, &Overrides::default())
}

fn refusal(text: &str) -> String {
    let error = parsed(text).err().expect("the text is refused");
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

#[test]
fn every_built_in_scenario_parses_and_says_what_it_answers() {
    for builtin in builtin() {
        let scenario = load(builtin.name, &Overrides::default()).unwrap();
        assert_eq!(scenario.name, builtin.name);
        assert_ne!(
            scenario.title, scenario.name,
            "{} has a title",
            builtin.name
        );
        assert!(!scenario.description.is_empty(), "{}", builtin.name);
        assert!(builtin.text.starts_with("# Answers: "), "{}", builtin.name);
    }
}

#[test]
fn every_section_takes_an_empty_table() {
    for kind in SECTIONS {
        let scenario = parsed(&format!("schema = 1\n[{}]\n", kind.name))
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.sections[0].name(), kind.name);
        assert!(
            scenario.resolved()["sections"][kind.name].is_object(),
            "{} says what it resolved to",
            kind.name
        );
    }
}

#[test]
fn the_command_line_precision_goes_where_there_is_one() {
    let text = "schema = 1\n[probe]\n[crypto-speed]\nprecision = 0.1\n";
    let of = |precision| {
        let overrides = Overrides {
            precision,
            ..Overrides::default()
        };
        let scenario = parse("mine", "mine.toml", text, &overrides).unwrap();
        let resolved = scenario.resolved();
        assert!(resolved["sections"]["probe"].get("precision").is_none());
        resolved["sections"]["crypto-speed"]["precision"].clone()
    };
    assert_eq!((of(None), of(Some(0.03))), (0.1.into(), 0.03.into()));
}

#[test]
fn the_command_line_seed_wins() {
    let text = "schema = 1\n[common]\nseed = 7\n[probe]\n";
    assert_eq!(parsed(text).unwrap().seed, 7);
    let scenario = parse(
        "mine",
        "mine.toml",
        text,
        &Overrides {
            seed: Some(9),
            ..Overrides::default()
        },
    )
    .unwrap();
    assert_eq!(scenario.seed, 9);
    assert_eq!(scenario.resolved()["common"]["seed"], 9);
}

fn with_options(name: &str, options: &[(&str, &str)]) -> Result<Scenario, String> {
    let own = |(flag, text): &(&str, &str)| ((*flag).to_owned(), (*text).to_owned());
    let overrides = Overrides {
        options: options.iter().map(own).collect(),
        ..Overrides::default()
    };
    let scenario = load(name, &overrides).map_err(|error| match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    })?;
    let checked = check_options(std::slice::from_ref(&scenario), &overrides);
    checked.map_err(|error| error.to_string())?;
    Ok(scenario)
}

/// The command that a section prints gives it again: a flag is all that differs
/// from the built-in scenario of its name.
#[test]
fn flags_go_to_the_sections_that_have_them() {
    let own = with_options("vcm-tasks", &[("tasks", "1,8"), ("depth", "32")]).unwrap();
    assert_eq!(
        own.sections[0].command(),
        "lockgate run vcm-tasks --depth 32 --tasks 1,8"
    );
    assert_eq!(
        own.resolved()["sections"]["vcm-tasks"]["tasks"],
        serde_json::json!([1, 8])
    );
    let error = with_options("vcm-tasks", &[("tasks", "0,8")])
        .err()
        .unwrap();
    assert!(
        error.starts_with("--tasks: [vcm-tasks]: tasks: 0 is outside 1 to"),
        "{error}"
    );
    let error = with_options("crossings", &[("tasks", "1")]).err().unwrap();
    assert!(
        error.contains("--tasks: no section") && error.contains("does: vcm-tasks"),
        "{error}"
    );
}

/// Else the printed command would leave out what the file says.
#[test]
fn the_built_in_scenario_of_a_section_on_the_kit_is_its_default() {
    for kind in SECTIONS.iter().filter(|kind| kind.kit.is_some()) {
        let scenario = load(kind.name, &Overrides::default()).unwrap();
        let usual = (kind.parse)(toml::Table::new()).unwrap();
        assert_eq!(
            scenario.sections[0].resolved(),
            usual.resolved(),
            "{}",
            kind.name
        );
    }
}

#[test]
fn an_unknown_scenario_lists_the_known_ones() {
    let text = load("crypto-sped", &Overrides::default())
        .err()
        .unwrap()
        .to_string();
    assert!(
        text.contains("'crypto-sped'") && text.contains("default, "),
        "{text}"
    );
}

#[test]
fn a_path_is_read_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("night.toml");
    fs::write(&path, "schema = 1\n[probe]\n").unwrap();
    assert_eq!(
        load(path.to_str().unwrap(), &Overrides::default())
            .unwrap()
            .name,
        "night"
    );
    let missing = load("./no-such/night.toml", &Overrides::default())
        .err()
        .unwrap();
    assert!(
        missing.to_string().contains("./no-such/night.toml"),
        "{missing}"
    );
    fs::write(&path, "#".repeat(2 << 20)).unwrap();
    let long = load(path.to_str().unwrap(), &Overrides::default())
        .err()
        .unwrap();
    assert!(matches!(long, ScenarioError::Read { .. }), "{long}");
}

/// The default run is a contract: its slices are its budget, and it says which
/// ratios it shows, each once.
#[test]
fn the_default_scenario_keeps_its_contract() {
    let scenario = load("default", &Overrides::default()).unwrap();
    let slices = scenario.contract.values();
    let seconds: f64 = slices.clone().filter_map(|slice| slice.seconds).sum();
    assert_eq!(seconds, scenario.budget.as_secs_f64());
    let mut shows: Vec<_> = slices.flat_map(|slice| &slice.shows).collect();
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
    let crossings = half
        .iter()
        .find(|section| section.name() == "crossings")
        .unwrap();
    assert_eq!(
        crossings.appetite().0,
        Duration::from_secs(3),
        "half of its slice"
    );
}

#[test]
fn refusals_name_file_line_and_what_is_allowed() {
    let text = refusal("schema = 1\n\n[common]\ntitle = 'x'\nbugdet_s = 3\n[probe]\n");
    assert_eq!(
        text,
        "mine.toml:5: [common]: unknown key 'bugdet_s' (did you mean 'budget_s'?); allowed: title, description, seed, budget_s"
    );
    let text = refusal("schema = 1\n[common]\nbudget_s = -1\n[probe]\n");
    assert!(
        text.starts_with("mine.toml:3: [common]: budget_s: -1 is out of range"),
        "{text}"
    );
    let text = refusal("schema = 1\n[common]\nseed = 'x'\n[probe]\n");
    assert!(text.starts_with("mine.toml:3: [common]: seed: "), "{text}");
    let text = refusal("schema = 1\n[probe]\n\n[crypto-sped]\n");
    assert!(
        text.starts_with(
            "mine.toml:4: unknown section 'crypto-sped'; allowed: schema, common, contract, probe"
        ),
        "{text}"
    );
    let text = refusal("schema = 1\n[probe]\n[contract.kspeed]\nseconds = 3\n");
    assert!(
        text.starts_with("mine.toml:3: [contract]: kspeed: this scenario has no"),
        "{text}"
    );
    let text = refusal("schema = 1\n[contract.probe]\nseconds = 0\n[probe]\n");
    assert!(
        text.starts_with("mine.toml:3: [contract.probe]: seconds: 0 is out of"),
        "{text}"
    );
    let text = refusal("schema = 1\n[contract.probe]\nshow = []\n[probe]\n");
    assert!(
        text.contains("unknown key 'show' (did you mean 'shows'?)"),
        "{text}"
    );
    let text = refusal("schema = 1\nprobe = 3\n");
    assert_eq!(text, "mine.toml:2: 'probe' must be a table: write [probe]");
    let text = refusal("schema = 1\n[common]\n");
    assert!(
        text.starts_with("mine.toml has no section; add one of: probe"),
        "{text}"
    );
    let text = refusal("[probe]\n");
    assert_eq!(
        text,
        "mine.toml: schema is missing; this Lockgate reads `schema = 1`"
    );
    let text = refusal("schema = 2\n[probe]\n");
    assert!(text.starts_with("mine.toml:1: schema is 2"), "{text}");
    let text = refusal("schema = 1\n[probe\n");
    assert!(
        text.starts_with("mine.toml is not TOML: ") && text.contains("line 2"),
        "{text}"
    );
    let text = refusal("schema = 1\n[probe]\nx = 1\n");
    assert!(
        text.starts_with("mine.toml:3: [probe]: unknown key 'x'"),
        "{text}"
    );
}

#[test]
fn a_section_twice_is_refused() {
    assert!(matches!(
        parsed("schema = 1\n[probe]\n[probe]\n"),
        Err(ScenarioError::Syntax { .. })
    ));
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
const KEYS: &[&str] = &[
    "seed",
    "title",
    "budget_s",
    "algorithms",
    "sizes_bytes",
    "modes",
    "depths",
    "lanes",
    "backend",
    "workers",
    "placements",
    "policies",
    "seconds",
    "rate_per_s",
    "pairs",
];

fn key() -> impl Strategy<Value = String> {
    prop_oneof![9 => proptest::sample::select(KEYS).prop_map(str::to_owned), 1 => "[a-z_]{1,8}"]
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

    #[test]
    fn any_text_is_a_scenario_or_an_error(text in "\\PC{0,80}") {
        prop_assert!(parsed(&text).is_err());
    }

    #[test]
    fn any_damage_to_a_built_in_one_is_survived(at in 0..4000_usize, byte in any::<char>()) {
        for builtin in builtin() {
            let mut text: Vec<char> = builtin.text.chars().collect();
            let at = at % text.len();
            text[at] = byte;
            let _ = parsed(&text.into_iter().collect::<String>());
        }
    }
}
