//! `lockgate probe`

use probe::Host;

use crate::cli::ProbeArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::render;

pub fn probe(arguments: &ProbeArguments, console: &Console) -> Result<Exit, Failure> {
    if arguments.calibrate {
        probe::calibration::forget().map_err(|reason| {
            Failure::new(
                Exit::Failed,
                format!("cannot forget the calibration: {reason}"),
            )
        })?;
    }
    let probe = match arguments.brief {
        true => probe::brief(&Host::this()),
        false => probe::probe(&Host::this()),
    };
    let text = if arguments.json {
        ::report::json::probe(&probe)
    } else {
        render::probe(&probe, console)
    };
    console.print_coloured(&text)?;
    Ok(Exit::Ok)
}
