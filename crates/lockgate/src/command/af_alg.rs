//! `lockgate af-alg`

use sections::kspeed::af_alg::{self, AfAlg};

use crate::cli::AfAlgArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure};

pub fn af_alg(arguments: &AfAlgArguments, console: &Console) -> Result<Exit, Failure> {
    let line = af_alg::measure(&AfAlg::from(arguments)).map_err(|error| Failure {
        exit: match () {
            () if error.is_usage() => Exit::Usage,
            () if error.is_missing() => Exit::Missing,
            () => Exit::Failed,
        },
        error: error.into(),
    })?;
    super::user_space::print(&line, console)
}
