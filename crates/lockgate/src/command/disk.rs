//! `lockgate disk`

mod info;
mod open;
mod secret;

use std::fs::File;
use std::path::Path;

use anyhow::Context;
use disk::FileImage;

use crate::cli::{DiskArguments, DiskCommand};
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};

pub fn disk(arguments: &DiskArguments, console: &Console) -> Result<Exit, Failure> {
    match &arguments.command {
        DiskCommand::Open(arguments) => open::open(arguments, console),
        DiskCommand::Info(arguments) => info::info(arguments, console),
    }
}

fn image(path: &Path) -> Result<FileImage, Failure> {
    let file = File::open(path).and_then(FileImage::new);
    file.with_context(|| format!("cannot open the image '{}'", path.display()))
        .or_usage()
}
