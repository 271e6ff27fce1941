//! `lockgate quic`

mod decrypt;
mod perf;
mod text;

use crate::cli::{QuicArguments, QuicCommand, QuicPerf};
use crate::console::Console;
use crate::exit::{Exit, Failure};

pub fn quic(arguments: &QuicArguments, console: &Console) -> Result<Exit, Failure> {
    match &arguments.command {
        QuicCommand::Decrypt(arguments) => decrypt::decrypt(arguments, console),
        QuicCommand::Perf(QuicPerf::Server(arguments)) => perf::serve(arguments, console),
        QuicCommand::Perf(QuicPerf::Client(arguments)) => perf::ask(arguments, console),
    }
}
