//! The hosts that guests may run on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::Context;
use cpu::guest::{Accelerator, Host};
use sys::failure::with_causes;
use sys::plain::plain;
use vm::{Cache, Qemu};

use crate::exit::{Exit, Failure, OrExit};

/// No probe and no result has more.
const FILE_BYTES_MAX: u64 = lab::store::FILE_BYTES_MAX as u64;
const FILES_MAX: usize = 1_000_000;

/// Read from files and folders of them; this host where there are none. One file that
/// is no probe spoils all: advice that leaves a host out is wrong for it.
pub fn hosts(paths: &[PathBuf]) -> Result<Vec<Host>, Failure> {
    if paths.is_empty() {
        return Ok(vec![this()?]);
    }
    let mut files = Vec::new();
    for path in paths {
        files.extend(listed(path)?);
    }
    if files.len() > FILES_MAX {
        let text = format!(
            "{} files are more than {FILES_MAX}; give fewer hosts",
            files.len()
        );
        return Err(Failure::new(Exit::Usage, text));
    }
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let parts = files.chunks(files.len().div_ceil(cpus).max(1));
    let read: Vec<Result<Vec<Host>, Failure>> = thread::scope(|scope| {
        let threads: Vec<_> = parts
            .map(|part| scope.spawn(|| part.iter().map(|file| host(file)).collect()))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|own| own.expect("reading does not panic"))
            .collect()
    });
    let mut all = Vec::with_capacity(files.len());
    for part in read {
        all.extend(part?);
    }
    Ok(all)
}

/// Where KVM runs guests, QEMU is asked what it offers them.
fn this() -> Result<Host, Failure> {
    let probe = probe::probe(&probe::Host::this());
    let own = probe::offer::of("this host", &probe);
    let mut own = own.context("cannot advise for this host").or_usage()?;
    if probe.is_ok("kvm.usable") {
        let cache = Cache::open_default().ok();
        let qemu = Qemu::find(cache.as_ref()).ok();
        let models = qemu.and_then(|qemu| qemu.cpu_models(Accelerator::Kvm).ok());
        own.known.told = models.map(|models| models.offered);
    }
    Ok(own)
}

fn listed(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).and_then(|all| all.collect::<io::Result<Vec<_>>>());
    let entries = entries.with_context(|| format!("cannot list '{}'", path.display()));
    let files = entries.or_usage()?.into_iter().map(|entry| entry.path());
    let is_json = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
    let mut files: Vec<_> = files.filter(is_json).collect();
    files.sort();
    if files.is_empty() {
        let text = format!(
            "the folder '{}' has no file that ends in .json; write a probe of each host into it with `lockgate probe --json`",
            path.display()
        );
        return Err(Failure::new(Exit::Usage, text));
    }
    Ok(files)
}

fn host(path: &Path) -> Result<Host, Failure> {
    let name = path.display();
    let text = bytes(path).with_context(|| format!("cannot read the probe '{name}'"));
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    // A file's name reaches the terminal.
    let stem = plain(stem.as_encoded_bytes());
    let host = probe::offer::read(&stem, &text.or_usage()?);
    host.map_err(|error| {
        let text = format!(
            "'{name}' tells nothing about a CPU: {}",
            with_causes(&error)
        );
        Failure::new(Exit::Usage, text)
    })
}

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let there = fs::metadata(path)?;
    // A pipe would wait for a writer.
    if !there.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if there.len() > FILE_BYTES_MAX {
        let text = format!("{} bytes are more than {FILE_BYTES_MAX}", there.len());
        return Err(io::Error::other(text));
    }
    fs::read(path)
}
