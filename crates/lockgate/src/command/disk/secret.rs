//! Passphrases and keys, from a terminal, standard input or a file.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
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
        return Ok(Zeroizing::new(typed.into_bytes()));
    }
    let mut secret = read(io::stdin().lock(), SECRET_BYTES_MAX, "standard input")?;
    if let Some(end) = secret.iter().position(|byte| *byte == b'\n') {
        secret.truncate(end);
    }
    not_empty(secret, "standard input")
}

/// What a key file holds, `size` bytes of it from `offset` on; '-' is standard input.
pub fn key_file(path: &Path, offset: u64, size: Option<usize>) -> Result<Secret, Failure> {
    let name = path.display().to_string();
    let most = size.unwrap_or(SECRET_BYTES_MAX);
    if most > SECRET_BYTES_MAX {
        let error = format!("--keyfile-size {most}: the maximum is {SECRET_BYTES_MAX} bytes");
        return Err(Failure::new(Exit::Usage, error));
    }
    let context = || format!("cannot read the key file '{name}'");
    let mut secret = if path == Path::new("-") {
        let mut input = io::stdin().lock();
        let skipped = io::copy(&mut input.by_ref().take(offset), &mut io::sink());
        skipped.with_context(context).or_usage()?;
        read(input, most, "standard input")?
    } else {
        let mut file = File::open(path).with_context(context).or_usage()?;
        // A pipe cannot be sought in.
        if offset > 0 && file.seek(SeekFrom::Start(offset)).is_err() {
            let skipped = io::copy(&mut file.by_ref().take(offset), &mut io::sink());
            skipped.with_context(context).or_usage()?;
        }
        read(file, most, &name)?
    };
    match size {
        Some(size) if secret.len() < size => Err(Failure::new(
            Exit::Usage,
            format!(
                "the key file '{name}' has {} bytes from byte {offset} on, not {size}; lower --keyfile-size or --keyfile-offset",
                secret.len()
            ),
        )),
        size => {
            secret.truncate(size.unwrap_or(usize::MAX));
            not_empty(secret, &name)
        }
    }
}

fn not_empty(secret: Secret, from: &str) -> Result<Secret, Failure> {
    let empty = || Failure::new(Exit::Usage, format!("{from} holds no passphrase"));
    (!secret.is_empty()).then_some(secret).ok_or_else(empty)
}

/// All that is there; more than `most` bytes are refused only where no size was named.
fn read(from: impl Read, most: usize, name: &str) -> Result<Secret, Failure> {
    // Room for all from the start: growing would leave copies behind.
    let mut secret = Zeroizing::new(Vec::with_capacity(most.min(SECRET_BYTES_MAX) + 1));
    let read = from.take(most as u64 + 1).read_to_end(&mut secret);
    read.with_context(|| format!("cannot read {name}"))
        .or_usage()?;
    if secret.len() > SECRET_BYTES_MAX {
        let error = format!(
            "{name} has more than {SECRET_BYTES_MAX} bytes; name a part of it with --keyfile-size"
        );
        return Err(Failure::new(Exit::Usage, error));
    }
    Ok(secret)
}
