//! `lockgate vm`

mod files;
pub(in crate::command) mod interrupt;
mod list;
mod machine;
mod run;

use crate::cli::{VmArguments, VmCommand};
use crate::console::Console;
use crate::exit::{Exit, Failure};

pub fn vm(arguments: &VmArguments, console: &Console) -> Result<Exit, Failure> {
    match &arguments.command {
        VmCommand::Run(arguments) => run::run(arguments, console),
        VmCommand::List => list::list(console),
    }
}
