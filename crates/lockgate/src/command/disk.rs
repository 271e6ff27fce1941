//! `lockgate disk`

mod info;
mod open;
mod secret;
mod speed;

use std::fs::{File, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt;
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
        DiskCommand::Speed(arguments) => speed::speed(arguments, console),
    }
}

fn image(path: &Path) -> Result<FileImage, Failure> {
    // A pipe would wait for a writer.
    let is_disk = |kind: FileType| kind.is_file() || kind.is_block_device();
    let there = path.metadata();
    let file = there.and_then(|there| match is_disk(there.file_type()) {
        true => File::open(path).and_then(FileImage::new),
        false => Err(io::Error::other("neither a file nor a block device")),
    });
    file.with_context(|| format!("cannot open the image '{}'", path.display()))
        .or_usage()
}
