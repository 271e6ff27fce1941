//! `lockgate disk open`

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use disk::plain::{self, Hashing};
use disk::{CopyOutError, FileImage, Hash, Layout, SECTOR_BYTES, Spec, Volume};
use sys::files::Pending;

use super::image;
use super::secret::{Secret, key_file, passphrase};
use crate::cli::{DiskOpenArguments, DiskType};
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::interrupt;
use crate::output::Output;
use crate::progress::Progress;

pub fn open(arguments: &DiskOpenArguments, console: &Console) -> Result<Exit, Failure> {
    check_flags(arguments)?;
    let to_stdout = arguments.output == Path::new("-");
    if to_stdout && io::stdout().is_terminal() {
        return usage("--output -: standard output is a terminal; send it to a file or a program");
    }
    if !to_stdout {
        check_output(arguments)?;
    }
    let image = image(&arguments.image)?;
    let (layout, key) = match arguments.r#type {
        DiskType::Plain => plain_key(arguments, &image)?,
        _ => luks_key(arguments, &image, console)?,
    };
    let volume = Volume::new(&image, layout, &key);
    let volume = volume.with_context(|| arguments.image.display().to_string());
    let volume = volume.or_usage()?;
    drop(key);
    if to_stdout {
        // A signal ends it at once, also where nobody reads: nothing is left.
        let never = AtomicBool::new(false);
        return write(&volume, &mut Output, &never, console);
    }
    let context = || format!("cannot write '{}'", arguments.output.display());
    let interrupted = interrupt::flag().or_failed()?;
    let mut pending = Pending::new(&arguments.output)
        .with_context(context)
        .or_failed()?;
    let exit = write(&volume, pending.file(), &interrupted, console)?;
    if exit == Exit::Ok {
        pending
            .commit(arguments.force)
            .with_context(context)
            .or_failed()?;
        console.notice(&format!(
            "{} bytes, {}, are in '{}'",
            volume.bytes(),
            layout.spec,
            arguments.output.display()
        ));
    }
    Ok(exit)
}

fn usage<T>(message: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::new(Exit::Usage, message))
}

/// Flags that the format has no use for are refused: ignoring one would write rubbish.
fn check_flags(own: &DiskOpenArguments) -> Result<(), Failure> {
    let of_plain = [
        ("--cipher", own.cipher.is_some()),
        ("--key-size", own.key_size.is_some()),
        ("--hash", own.hash.is_some()),
        ("--offset", own.offset.is_some()),
        ("--skip", own.skip.is_some()),
        ("--size", own.size.is_some()),
        ("--sector-size", own.sector_size.is_some()),
        ("--iv-large-sectors", own.iv_large_sectors),
    ];
    let of_luks = [
        ("--header", own.header.is_some()),
        ("--key-slot", own.key_slot.is_some()),
    ];
    let (flags, what) = match own.r#type {
        DiskType::Plain => (&of_luks[..], "plain images have no header"),
        _ => (&of_plain[..], "a LUKS header says it; or name --type plain"),
    };
    match flags.iter().find(|(_, is_named)| *is_named) {
        Some((flag, _)) => usage(format!("{flag}: {what}")),
        None => Ok(()),
    }
}

/// Refuses an output that exists, that is no file, or that is one of the inputs.
fn check_output(own: &DiskOpenArguments) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt;
    let name = own.output.display();
    let Ok(there) = own.output.metadata() else {
        return Ok(());
    };
    if !there.is_file() {
        return usage(format!(
            "--output {name}: it exists and is no file; name a file"
        ));
    }
    let inputs = [Some(&own.image), own.header.as_ref(), own.key_file.as_ref()];
    for input in inputs.into_iter().flatten() {
        let is_same =
            |other: std::fs::Metadata| (other.dev(), other.ino()) == (there.dev(), there.ino());
        if input.metadata().is_ok_and(is_same) {
            return usage(format!(
                "--output {name} is the same file as '{}'",
                input.display()
            ));
        }
    }
    if own.force {
        return Ok(());
    }
    usage(format!(
        "--output {name}: it exists; name another file, or replace it with --force"
    ))
}

fn secret(own: &DiskOpenArguments) -> Result<Secret, Failure> {
    match &own.key_file {
        Some(path) => key_file(path, own.keyfile_offset, own.keyfile_size),
        None => passphrase(&own.image.display().to_string()),
    }
}

/// Before anything is asked for.
fn check_layout(
    own: &DiskOpenArguments,
    layout: &Layout,
    image: &FileImage,
) -> Result<(), Failure> {
    let bytes = layout.data_bytes(image).map(drop);
    bytes
        .with_context(|| own.image.display().to_string())
        .or_usage()
}

fn luks_key(
    own: &DiskOpenArguments,
    image: &FileImage,
    console: &Console,
) -> Result<(Layout, Secret), Failure> {
    let path = own.header.as_ref().unwrap_or(&own.image);
    let detached = own.header.as_deref().map(super::image).transpose()?;
    let source = detached.as_ref().unwrap_or(image);
    let name = || path.display().to_string();
    let header = disk::header(source).with_context(name).or_usage()?;
    let wanted = match own.r#type {
        DiskType::Luks1 => 1,
        DiskType::Luks2 => 2,
        _ => header.version,
    };
    if header.version != wanted {
        return usage(format!(
            "'{}' is LUKS{}, not LUKS{wanted}",
            name(),
            header.version
        ));
    }
    if let Some(damage) = &header.damage {
        console.warning(&format!(
            "of the two copies of the header in '{}' {damage}",
            name()
        ));
    }
    let layout = header.layout.clone().with_context(name).or_usage()?;
    check_layout(own, &layout, image)?;
    let passphrase = secret(own)?;
    let key = header.unlock(source, &passphrase, own.key_slot);
    Ok((layout, key.with_context(name).or_usage()?))
}

fn plain_key(own: &DiskOpenArguments, image: &FileImage) -> Result<(Layout, Secret), Failure> {
    let usual: Spec = plain::CIPHER.parse().expect("a known cipher");
    let spec = own.cipher.unwrap_or(usual);
    let bits = own.key_size.unwrap_or(plain::KEY_BITS);
    let bytes = bits / 8;
    if !bits.is_multiple_of(8) || spec.check_key(bytes).is_err() {
        return Err(disk::SpecError::KeySize { spec, bits }).or_usage();
    }
    let sectors = |name: &str, count: u64| {
        let bytes = count.checked_mul(SECTOR_BYTES as u64);
        let error = || {
            Failure::new(
                Exit::Usage,
                format!("{name} {count} is more than a disk has"),
            )
        };
        bytes.ok_or_else(error)
    };
    let layout = Layout {
        spec,
        offset: sectors("--offset", own.offset.unwrap_or(0))?,
        bytes: own.size.map(|count| sectors("--size", count)).transpose()?,
        sector_bytes: own.sector_size.unwrap_or(SECTOR_BYTES),
        iv_offset: own.skip.unwrap_or(0),
        iv_large_sectors: own.iv_large_sectors,
    };
    check_layout(own, &layout, image)?;
    let secret = secret(own)?;
    let is_key = own
        .key_file
        .as_deref()
        .is_some_and(|path| path != Path::new("-"));
    if is_key {
        if secret.len() < bytes {
            return usage(format!(
                "the key file has {} bytes; {spec} with --key-size {bits} takes {bytes}",
                secret.len()
            ));
        }
        return Ok((layout, plain::key(Hashing::Plain, &secret, bytes)));
    }
    let usual: Hash = plain::HASH.parse().expect("a known hash");
    let hashing = own.hash.unwrap_or(Hashing::Hash(usual));
    Ok((layout, plain::key(hashing, &secret, bytes)))
}

fn write(
    volume: &Volume,
    to: &mut dyn Write,
    interrupted: &AtomicBool,
    console: &Console,
) -> Result<Exit, Failure> {
    let progress = Progress::new(console);
    let all = volume.bytes();
    let mut go_on = |done: u64| {
        progress.advance(done as f64 / all as f64, "decrypting");
        !interrupted.load(Ordering::Relaxed)
    };
    let written = volume.copy_to(to, &mut go_on);
    progress.end();
    match written {
        Ok(()) => to
            .flush()
            .context("cannot write what was decrypted")
            .or_failed()?,
        Err(CopyOutError::Stopped) => return Ok(Exit::Interrupted),
        Err(error) => return Err(error).or_failed(),
    }
    Ok(Exit::Ok)
}
