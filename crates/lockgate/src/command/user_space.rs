//! `lockgate user-space`

use sections::kspeed::trial_line::TrialLine;
use sections::kspeed::userspace::{self, UserSpace};

use crate::cli::UserSpaceArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};

/// Measures one arm of user space's crypto and prints its line.
pub fn user_space(arguments: &UserSpaceArguments, console: &Console) -> Result<Exit, Failure> {
    let arm = UserSpace::try_from(arguments).or_usage()?;
    let line = userspace::measure(&arm).map_err(|error| Failure {
        exit: match () {
            () if error.is_usage() => Exit::Usage,
            () if error.is_missing() => Exit::Missing,
            () => Exit::Failed,
        },
        error: error.into(),
    })?;
    print(&line, console)
}

pub(super) fn print(line: &TrialLine, console: &Console) -> Result<Exit, Failure> {
    let mut text = serde_json::to_vec(line).expect("numbers and strings are JSON");
    text.push(b'\n');
    console.print(&text)?;
    Ok(Exit::Ok)
}
