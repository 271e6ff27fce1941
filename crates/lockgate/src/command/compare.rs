//! `lockgate compare`

use ::report::compare::{Options, RunComparison};
use lab::scenario::DEFAULT_SEED;
use lab::store::load;

use crate::cli::CompareArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::export;
use crate::render;

/// Holds one stored run against another; 1 when the threshold was not passed.
pub fn compare(arguments: &CompareArguments, console: &Console) -> Result<Exit, Failure> {
    export::check_comparison(&arguments.exports)?;
    let comparison = comparison(arguments)?;
    if !export::takes_stdout(&arguments.exports) {
        console.print(render::comparison(&comparison, console).as_bytes())?;
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
    let options = Options {
        fail_below: arguments.fail_below,
        seed: DEFAULT_SEED,
    };
    ::report::compare::compare(&before, &after, options).or_usage()
}
