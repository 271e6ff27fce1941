//! Files of the host, in a guest.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context;
use vm::image::{GuestFile, HostProgram};

use crate::cli::GuestFileArgument;
use crate::exit::{Exit, Failure, OrExit};

const ELF: &[u8] = b"\x7fELF";

/// The files, and programs with the libraries they are linked to. A library that two
/// programs need comes once; two files for one place are refused.
pub(super) fn guest_files(arguments: &[GuestFileArgument]) -> Result<Vec<GuestFile>, Failure> {
    let mut places = BTreeSet::new();
    let mut libraries = BTreeSet::new();
    let mut all = Vec::new();
    for argument in arguments {
        if !places.insert(&argument.guest) {
            let place = &argument.guest;
            let message = format!("--file: two files for {place}; give one another place");
            return Err(Failure::new(Exit::Usage, message));
        }
        let files = one(argument)?;
        all.extend(files.into_iter().filter(|file| {
            file.path() == argument.guest || libraries.insert(file.path().to_owned())
        }));
    }
    Ok(all)
}

fn one(argument: &GuestFileArgument) -> Result<Vec<GuestFile>, Failure> {
    let host = &argument.host;
    let about = fs::metadata(host)
        .with_context(|| format!("--file: cannot read '{}'", host.display()))
        .or_usage()?;
    if !about.is_file() {
        let message = format!("--file: '{}' is not a file; name each file", host.display());
        return Err(Failure::new(Exit::Usage, message));
    }
    if is_program(host, &about) {
        let program = HostProgram::new(host).files(&argument.guest);
        return program
            .with_context(|| format!("--file: '{}' cannot come along", host.display()))
            .or_usage();
    }
    let mode = about.permissions().mode() & 0o777;
    Ok(vec![GuestFile::host(&argument.guest, mode, host)])
}

fn is_program(host: &Path, about: &Metadata) -> bool {
    let mut first = [0; ELF.len()];
    let read = File::open(host).and_then(|mut file| file.read_exact(&mut first));
    about.permissions().mode() & 0o111 != 0 && read.is_ok() && first == ELF
}
