//! `lockgate sections`

use std::fmt::Write;

use anyhow::anyhow;
use kit::config::keys::{Key, text};
use kit::config::value::near;
use sections::{SECTIONS, SectionKind};

use crate::cli::SectionsArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};

pub fn sections(arguments: &SectionsArguments, console: &Console) -> Result<Exit, Failure> {
    let text = match &arguments.section {
        None => all(),
        Some(name) => one(named(name).or_usage()?),
    };
    console.print(&text)?;
    Ok(Exit::Ok)
}

fn named(name: &str) -> anyhow::Result<&'static SectionKind> {
    let names = || SECTIONS.iter().map(|kind| kind.name);
    sections::section(name).ok_or_else(|| {
        let near = near(name, names())
            .map_or_else(String::new, |near| format!(" (did you mean '{near}'?)"));
        let known: Vec<_> = names().collect();
        anyhow!("no section '{name}'{near}; there are: {}", known.join(", "))
    })
}

fn all() -> String {
    let width = SECTIONS
        .iter()
        .map(|kind| kind.name.len())
        .max()
        .unwrap_or(0);
    let line = |kind: &SectionKind| {
        let usual = (kind.parse)(toml::Table::new()).expect("every section has defaults");
        format!("{:width$}  {}\n", kind.name, usual.title())
    };
    SECTIONS.iter().map(line).collect()
}

fn one(kind: &SectionKind) -> String {
    let usual = (kind.parse)(toml::Table::new()).expect("every section has defaults");
    let mut said = format!("{}: {}\n\n", kind.name, usual.title());
    let options = kind.options();
    match options.is_empty() {
        true => keys(&mut said, &usual.resolved()),
        false => (options.iter()).for_each(|key| option(&mut said, kind.name, key)),
    }
    said
}

fn option(said: &mut String, section: &str, key: &Key) {
    let (flag, default) = (key.flag(), text(&key.default));
    // Writing to a string cannot fail.
    let _ = writeln!(said, "  --{flag}  {}", key.help);
    let _ = writeln!(said, "      takes:    {}", (key.allowed)());
    let _ = writeln!(said, "      default:  {default}");
    let _ = writeln!(
        said,
        "      scenario: [{section}] {} = {}\n",
        key.name, key.default
    );
}

/// For a section whose options are keys of a scenario only.
fn keys(said: &mut String, resolved: &serde_json::Value) {
    let _ = writeln!(
        said,
        "Keys of its table in a scenario file, with their defaults:"
    );
    for (key, value) in resolved.as_object().into_iter().flatten() {
        let _ = writeln!(said, "  {key} = {value}");
    }
}
