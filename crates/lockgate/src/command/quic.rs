//! `lockgate quic`

mod decrypt;
mod text;

use crate::cli::{QuicArguments, QuicCommand};
use crate::console::Console;
use crate::exit::{Exit, Failure};

pub fn quic(arguments: &QuicArguments, console: &Console) -> Result<Exit, Failure> {
    match &arguments.command {
        QuicCommand::Decrypt(arguments) => decrypt::decrypt(arguments, console),
    }
}
