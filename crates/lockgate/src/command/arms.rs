//! `lockgate af-alg`, `lockgate user-space`

use sections::kspeed::program::{TrialError, TrialLine, af_alg, engine};

use crate::cli::{AfAlgArguments, UserSpaceArguments};
use crate::console::Console;
use crate::exit::{Exit, Failure};

/// Measures the kernel's crypto socket and prints its line.
pub fn af_alg(arguments: &AfAlgArguments, console: &Console) -> Result<Exit, Failure> {
    print(
        af_alg::measure(&arguments.driver, &arguments.request.request()),
        console,
    )
}

/// Measures user space's crypto and prints its line.
pub fn user_space(arguments: &UserSpaceArguments, console: &Console) -> Result<Exit, Failure> {
    print(
        engine::measure(arguments.depth, &arguments.request.request()),
        console,
    )
}

fn print(line: Result<TrialLine, TrialError>, console: &Console) -> Result<Exit, Failure> {
    let line = line.map_err(|error| Failure {
        exit: match error {
            TrialError::Usage(_) => Exit::Usage,
            TrialError::Missing { .. } => Exit::Missing,
            TrialError::Failed { .. } | TrialError::Wrong { .. } => Exit::Failed,
        },
        error: error.into(),
    })?;
    let mut text = serde_json::to_vec(&line).expect("numbers and strings are JSON");
    text.push(b'\n');
    console.pass_on(&text)?;
    Ok(Exit::Ok)
}
