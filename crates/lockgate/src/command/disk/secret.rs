//! Passphrases and keys, from a terminal, standard input or a file.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::Path;

use anyhow::Context;
use zeroize::Zeroizing;

use crate::exit::{Exit, Failure, OrExit};

/// cryptsetup's limit of a key file: 8 MiB.
const SECRET_BYTES_MAX: usize = 8 << 20;

/// A secret that is never shown and is wiped.
pub type Secret = Zeroizing<Vec<u8>>;

/// A passphrase from the terminal, or the first line of standard input.
pub fn passphrase(what: &str) -> Result<Secret, Failure> {
    if io::stdin().is_terminal() {
        let typed = rpassword::prompt_password(format!("Passphrase for {what}: "));
        let typed = typed.context("cannot read the passphrase").or_failed()?;
        return not_empty(Zeroizing::new(typed.into_bytes()), "the passphrase");
    }
    let name = "standard input";
    let line = stdin().and_then(first_line);
    let secret = line
        .with_context(|| format!("cannot read {name}"))
        .or_usage()?;
    not_empty(within(secret, name)?, name)
}

/// What a key file holds, `size` bytes of it from `offset` on; '-' is standard input.
pub fn key_file(path: &Path, offset: u64, size: Option<usize>) -> Result<Secret, Failure> {
    let name = match path == Path::new("-") {
        true => "standard input".to_owned(),
        false => format!("the key file '{}'", path.display()),
    };
    if size.is_some_and(|size| size > SECRET_BYTES_MAX) {
        let error = format!("--keyfile-size: the maximum is {SECRET_BYTES_MAX} bytes");
        return Err(Failure::new(Exit::Usage, error));
    }
    let file = if path == Path::new("-") {
        stdin()
    } else {
        File::open(path)
    };
    let secret = file.and_then(|mut file| {
        let begin = i64::try_from(offset).map_err(io::Error::other)?;
        // A pipe cannot be sought in.
        if file.seek(SeekFrom::Current(begin)).is_err() {
            io::copy(&mut file.by_ref().take(offset), &mut io::sink())?;
        }
        part(file, size.unwrap_or(SECRET_BYTES_MAX + 1))
    });
    let secret = secret
        .with_context(|| format!("cannot read {name}"))
        .or_usage()?;
    if let Some(size) = size
        && secret.len() < size
    {
        let error = format!(
            "{name} has {} bytes from byte {offset} on, not {size}; lower --keyfile-size or --keyfile-offset",
            secret.len()
        );
        return Err(Failure::new(Exit::Usage, error));
    }
    not_empty(within(secret, &name)?, &name)
}

/// Without the buffer of the standard library, in which a secret would stay.
fn stdin() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Up to the end of the first line, and no byte more: it may be a program that waits.
fn first_line(mut from: File) -> io::Result<Secret> {
    let mut secret = room(SECRET_BYTES_MAX + 1);
    let mut byte = [0];
    while secret.len() <= SECRET_BYTES_MAX && from.read(&mut byte)? == 1 && byte != *b"\n" {
        secret.push(byte[0]);
    }
    Ok(secret)
}

/// `most` bytes, or fewer where it ends.
fn part(from: File, most: usize) -> io::Result<Secret> {
    let mut secret = room(most);
    from.take(most as u64).read_to_end(&mut secret)?;
    Ok(secret)
}

/// Room for all from the start: growing would leave copies behind.
fn room(most: usize) -> Secret {
    Zeroizing::new(Vec::with_capacity(most))
}

fn within(secret: Secret, name: &str) -> Result<Secret, Failure> {
    if secret.len() <= SECRET_BYTES_MAX {
        return Ok(secret);
    }
    let error = format!(
        "{name} has more than {SECRET_BYTES_MAX} bytes; name a part of it with --keyfile-size"
    );
    Err(Failure::new(Exit::Usage, error))
}

fn not_empty(secret: Secret, from: &str) -> Result<Secret, Failure> {
    let empty = || {
        Failure::new(
            Exit::Usage,
            format!("{from} is empty; a passphrase is wanted"),
        )
    };
    (!secret.is_empty()).then_some(secret).ok_or_else(empty)
}
