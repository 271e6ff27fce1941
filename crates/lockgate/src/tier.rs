//! `--tier`: the program replaces itself by one whose libraries see a guest's
//! CPU, and that one makes sure that they do.

use std::os::unix::process::CommandExt;

use anyhow::Context;
use probe::tier::{self, Choice, TierError};

use crate::cli::{Command, DiskCommand};
use crate::exit::{Exit, Failure, OrExit};

/// Puts the tier in force, if one is wanted. The process may be replaced by
/// another program of the same arguments, so this comes first of all.
pub fn enter(choice: Option<Choice>, command: &Command) -> Result<(), Failure> {
    let Some(choice) = choice else { return Ok(()) };
    if !measures(command) {
        return Err(Failure::new(
            Exit::Usage,
            "--tier is for commands that measure (run, speed, disk speed, probe): leave it out here",
        ));
    }
    let set = std::env::var_os(tier::VARIABLE);
    if set.is_some_and(|set| set.to_str() == Some(&choice.to_string())) {
        return tier::enforce(choice).map_err(missing);
    }
    let environment = tier::environment(choice).map_err(missing)?;
    Err(replaced_by_one_with(environment))
}

fn measures(command: &Command) -> bool {
    match command {
        Command::Probe(_) | Command::Run(_) | Command::Speed(_) | Command::Worker { .. } => true,
        Command::Disk(disk) => matches!(disk.command, DiskCommand::Speed(_)),
        Command::Sections(_)
        | Command::Compare(_)
        | Command::Report(_)
        | Command::Rfc2544(_)
        | Command::Router(_)
        | Command::Serve(_)
        | Command::Vm(_)
        | Command::Quic(_)
        | Command::Cpu(_)
        | Command::AfAlg(_)
        | Command::UserSpace(_)
        | Command::Busy { .. }
        | Command::Completions { .. }
        | Command::Man { .. } => false,
    }
}

fn missing(error: TierError) -> Failure {
    Failure {
        exit: Exit::Missing,
        error: error.into(),
    }
}

fn replaced_by_one_with(environment: [(&str, Option<String>); 2]) -> Failure {
    let replaced = std::env::current_exe().map(|program| {
        let mut arguments = std::env::args_os();
        let mut command = std::process::Command::new(program);
        if let Some(name) = arguments.next() {
            command.arg0(name);
        }
        command.args(arguments);
        for (variable, value) in environment {
            match value {
                Some(value) => command.env(variable, value),
                None => command.env_remove(variable),
            };
        }
        command.exec()
    });
    let (Ok(cause) | Err(cause)) = replaced;
    Err::<(), _>(cause)
        .context("cannot start this program again with the tier's masks; measure without --tier")
        .or_failed()
        .expect_err("it is an error")
}
