//! `lockgate cpu`

mod advise;
mod hosts;
mod migrate;
mod prices;
mod stand;
mod text;
mod verify;

use crate::cli::{CpuArguments, CpuCommand};
use crate::console::Console;
use crate::exit::{Exit, Failure};

pub fn cpu(arguments: CpuArguments, console: &Console) -> Result<Exit, Failure> {
    match arguments.command {
        CpuCommand::Price(arguments) => super::run(&(*arguments).into(), console),
        CpuCommand::Advise(arguments) => advise::advise(&arguments, console),
        CpuCommand::Migrate(arguments) => migrate::migrate(&arguments, console),
        CpuCommand::Verify(arguments) => verify::verify(&arguments, console),
    }
}
