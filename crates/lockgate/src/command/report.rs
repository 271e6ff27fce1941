//! `lockgate report`

use ::report::terminal::Saved;
use lab::store::load;

use crate::cli::ReportArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::export;
use crate::render;

pub fn report(arguments: &ReportArguments, console: &Console) -> Result<Exit, Failure> {
    let exports = &arguments.export.exports;
    let run = load(&arguments.run, &arguments.runs.folder).or_usage()?;
    export::check(exports)?;
    if exports.is_empty() {
        let saved = Saved {
            run: &arguments.run,
            ..Saved::default()
        };
        console.print_coloured(&render::summary(&run, console, arguments.full, saved))?;
    }
    export::write(exports, &run, console)?;
    Ok(Exit::Ok)
}
