//! Options of sections as flags of `lockgate run`. They are defined where the
//! sections are, so that a new one needs nothing here.

use std::collections::BTreeSet;

use clap::error::Error;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

pub const AFTER_HELP: &str = "\
Sections have options of their own, e.g. `lockgate run vcm-tasks --tasks 1,8`:
`lockgate sections SECTION` lists them.";

/// The help of what can be run.
pub fn scenarios() -> String {
    let names: Vec<_> = lab::scenario::builtin().map(|own| own.name).collect();
    let names = names.join(", ");
    format!("What to run: {names}, or a path that ends in .toml")
}

/// What was said of the options of sections: the flag and its text.
#[derive(Clone, Debug, Default)]
pub struct SectionOptions(pub Vec<(String, String)>);

/// Every flag that some section has, but those that every run has.
fn flags() -> BTreeSet<String> {
    let options = sections::SECTIONS
        .iter()
        .filter_map(|kind| kind.kit.as_ref());
    let keys = options.flat_map(|kit| (kit.options)());
    keys.filter(|key| !matches!(key.name, "seed" | "precision"))
        .map(|key| key.flag())
        .collect()
}

impl Args for SectionOptions {
    fn augment_args(command: Command) -> Command {
        let flag = |flag: String| {
            Arg::new(flag.clone())
                .long(flag)
                .value_name("VALUE")
                .action(ArgAction::Append)
                .allow_negative_numbers(true)
                .hide(true)
        };
        command.args(flags().into_iter().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SectionOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = flags().into_iter();
        let given =
            given.filter(|flag| matches.value_source(flag) == Some(ValueSource::CommandLine));
        let pairs = given.flat_map(|flag| {
            let texts = matches.get_many::<String>(&flag).into_iter().flatten();
            let texts: Vec<_> = texts.cloned().collect();
            texts.into_iter().map(move |text| (flag.clone(), text))
        });
        Ok(Self(pairs.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
