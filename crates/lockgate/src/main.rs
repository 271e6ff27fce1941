//! The `lockgate` command.
#![forbid(unsafe_code)]

mod build;
mod cli;
mod command;
mod command_line;
mod confinement;
mod console;
mod exit;
mod export;
mod interrupt;
mod log_lines;
mod logging;
mod measure;
mod output;
mod plan_text;
mod progress;
mod render;
mod speed_table;
mod tier;
mod units;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use console::Console;
use exit::{Exit, Failure};
use log_lines::LogLines;

/// Keys lie apart, where a command reserves memory for them.
#[global_allocator]
static MEMORY: sys::secret::Allocator = sys::secret::Allocator;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // Without a thread more there is nothing that could be done, nor said.
    let Ok(lines) = LogLines::start(std::io::stderr()) else {
        return Exit::Failed.into();
    };
    lines.take_panics();
    let _end = End(lines.clone());
    let console = Console::new(cli.quiet, cli.color, lines.clone());
    let ended = tier::enter(cli.tier, &cli.command)
        .and_then(|()| logging::start(console.color_stderr(), lines))
        .and_then(|()| dispatch(cli.command, &console));
    match ended {
        Ok(exit) => exit.into(),
        Err(Failure { exit, error }) => {
            console.error(&error);
            exit.into()
        }
    }
}

/// Also where it panics, what was said is written.
struct End(LogLines);

impl Drop for End {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn dispatch(command: Command, console: &Console) -> Result<Exit, Failure> {
    match command {
        Command::Probe(arguments) => command::probe(&arguments, console),
        Command::Run(arguments) => command::run(&arguments, console),
        Command::Sections(arguments) => command::sections(&arguments, console),
        Command::Compare(arguments) => command::compare(&arguments, console),
        Command::Speed(arguments) => command::speed(&arguments, console),
        Command::Report(arguments) => command::report(&arguments, console),
        Command::Rfc2544(arguments) => command::rfc2544(&arguments, console),
        Command::Router(arguments) => command::router(&arguments, console),
        Command::Serve(arguments) => command::serve(&arguments, console),
        Command::Vm(arguments) => command::vm(&arguments, console),
        Command::Disk(arguments) => command::disk(&arguments, console),
        Command::Quic(arguments) => command::quic(&arguments, console),
        Command::Cpu(arguments) => command::cpu(arguments, console),
        Command::Worker { section } => command::worker(&section),
        Command::Busy { count } => command::busy(&count),
        Command::AfAlg(arguments) => command::af_alg(&arguments, console),
        Command::UserSpace(arguments) => command::user_space(&arguments, console),
        Command::Completions { shell } => command::completions(shell, console),
        Command::Man { folder } => command::man(&folder),
    }
}
