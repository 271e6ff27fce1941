//! `lockgate compare`

use std::path::PathBuf;

use ::report::compare::{Options, RunComparison, is_repeat};
use lab::scenario::DEFAULT_SEED;
use lab::store::{beside, load, load_file};
use sys::failure::with_causes;
use trial::Run;

use crate::cli::CompareArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::export;
use crate::render;

/// Maximum number of runs read on either side in search of repeats: bounds time and
/// memory where a folder holds hundreds.
const NEIGHBOURS_MAX: usize = 20;

/// Compares two stored runs; 1 when the threshold was not passed.
pub fn compare(arguments: &CompareArguments, console: &Console) -> Result<Exit, Failure> {
    export::check_comparison(&arguments.exports)?;
    let comparison = comparison(arguments)?;
    if !export::takes_stdout(&arguments.exports) {
        console.print_coloured(&render::comparison(&comparison, console))?;
    }
    export::write_comparison(&arguments.exports, &comparison, console)?;
    Ok(if comparison.has_failed() {
        Exit::Regression
    } else {
        Exit::Ok
    })
}

fn comparison(arguments: &CompareArguments) -> Result<RunComparison, Failure> {
    let stored = |run: &str| load(run, &arguments.runs.folder).or_usage();
    let (before, after) = (stored(&arguments.before)?, stored(&arguments.after)?);
    let repeats_one = |run: &Run| is_repeat(run, &before) || is_repeat(run, &after);
    let (files, mut notes) = neighbours(arguments);
    let mut repeats = vec![];
    for name in &arguments.repeats {
        let run = stored(name)?;
        if repeats_one(&run) {
            repeats.push(run);
        } else {
            notes.push(format!(
                "'{name}' repeats neither A nor B: it is one of them, or its host, program or settings are others"
            ));
        }
    }
    for file in files {
        match load_file(&file) {
            Ok(run) if repeats_one(&run) => repeats.push(run),
            Ok(_) => {}
            Err(error) => notes.push(format!("{}; left out", with_causes(&error))),
        }
    }
    let options = Options {
        fail_below: arguments.fail_below,
        seed: DEFAULT_SEED,
    };
    let compared = ::report::compare::compare(&before, &after, &repeats, options);
    let mut comparison = compared.or_usage()?;
    comparison.warnings.extend(notes);
    Ok(comparison)
}

/// The files of the runs beside A and B, and what was not read.
fn neighbours(arguments: &CompareArguments) -> (Vec<PathBuf>, Vec<String>) {
    let (mut files, mut notes) = (vec![], vec![]);
    for (side, run) in [("A", &arguments.before), ("B", &arguments.after)] {
        match beside(run, &arguments.runs.folder) {
            Ok(found) => {
                if found.len() > NEIGHBOURS_MAX {
                    notes.push(format!(
                        "{} runs lie beside {side}; the {NEIGHBOURS_MAX} nearest by name were read: name other repeats with --repeat",
                        found.len()
                    ));
                }
                files.extend(found.into_iter().take(NEIGHBOURS_MAX));
            }
            Err(error) => notes.push(format!(
                "cannot look for runs beside {side}: {error}; name repeats with --repeat"
            )),
        }
    }
    files.sort();
    files.dedup();
    (files, notes)
}
