//! `lockgate quic decrypt`

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use anyhow::Context;
use quic::capture::{Capture, KeyLog, Writer};
use quic::trace::{Traced, trace};
use sys::failure::with_causes;
use sys::files::Pending;
use zeroize::Zeroizing;

use super::text::text;
use crate::cli::{QuicDecryptArguments, QuicExport};
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::output::Output;

/// Has every cipher of QUIC, on every host.
const BACKEND: &str = "aws-lc";
const STDIO: &str = "-";
/// A million entries of the longest kind.
const KEY_LOG_BYTES_MAX: u64 = 256 << 20;

pub fn decrypt(arguments: &QuicDecryptArguments, console: &Console) -> Result<Exit, Failure> {
    check(arguments)?;
    let (key_text, keys) = key_log(arguments.keylog.as_deref())?;
    let input = input(&arguments.pcap)?;
    let name = || format!("the capture '{}'", arguments.pcap.display());
    let capture = Capture::open(input).with_context(name).or_usage()?;
    let pcapng = arguments.export.iter().find_map(QuicExport::pcapng);
    let traced = match pcapng {
        Some(path) => with_copy(&key_text, keys, capture, path)?,
        None => run(keys, capture, None)?,
    };
    let json = arguments.export.iter().find_map(QuicExport::json);
    if let Some(path) = json {
        export(&traced, path, console)?;
    }
    if ![json, pcapng].contains(&Some(Path::new(STDIO))) {
        console.print(&text(&traced))?;
    }
    if let Some(broken) = &traced.broken {
        console.warning(&format!(
            "{} was not read to its end: {}",
            name(),
            with_causes(broken)
        ));
        return Ok(Exit::Failed);
    }
    Ok(match traced.summary.not_opened {
        0 => Exit::Ok,
        _ => Exit::Regression,
    })
}

/// Refuses, before anything is read, what could not be written after.
fn check(arguments: &QuicDecryptArguments) -> Result<(), Failure> {
    let paths = || arguments.export.iter().map(QuicExport::path);
    let usage = |message: &str| Err(Failure::new(Exit::Usage, message));
    if paths().filter(|path| *path == Path::new(STDIO)).count() > 1 {
        return usage("two exports to stdout would be mixed up; give one of them a path");
    }
    for kind in [QuicExport::json, QuicExport::pcapng] {
        if arguments.export.iter().filter_map(kind).count() > 1 {
            return usage("one format twice; give each --export a format of its own");
        }
    }
    for path in paths().filter(|path| *path != Path::new(STDIO)) {
        let context = || {
            format!(
                "cannot write '{}'; name a writable path with --export",
                path.display()
            )
        };
        sys::files::check_writable(path)
            .with_context(context)
            .or_usage()?;
    }
    Ok(())
}

/// The text, for a copy, and what it says.
fn key_log(path: Option<&Path>) -> Result<(Zeroizing<Vec<u8>>, KeyLog), Failure> {
    let mut text = Zeroizing::new(Vec::new());
    let Some(path) = path else {
        return Ok((text, KeyLog::default()));
    };
    let name = || format!("the key log '{}'", path.display());
    let read = File::open(path).and_then(|file| {
        // As long as it is, so that no copy of a secret stays behind in a shorter buffer.
        let bytes = file.metadata()?.len().min(KEY_LOG_BYTES_MAX);
        text.reserve_exact(usize::try_from(bytes).unwrap_or(0) + 1);
        file.take(KEY_LOG_BYTES_MAX + 1).read_to_end(&mut text)
    });
    let bytes = read.with_context(name).or_usage()?;
    if bytes as u64 > KEY_LOG_BYTES_MAX {
        let limit = KEY_LOG_BYTES_MAX;
        let error = format!(
            "{} has more than {limit} bytes; take those of this capture",
            name()
        );
        return Err(Failure::new(Exit::Usage, error));
    }
    let keys = KeyLog::read(&text[..]).with_context(name).or_usage()?;
    Ok((text, keys))
}

fn input(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if path == Path::new(STDIO) {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path).with_context(|| format!("cannot open '{}'", path.display()));
    Ok(Box::new(file.or_usage()?))
}

type Copy<'w> = Writer<Box<dyn Write + 'w>>;

fn run(
    keys: KeyLog,
    capture: Capture<Box<dyn Read>>,
    copy: Option<&mut Copy<'_>>,
) -> Result<Traced, Failure> {
    let backend = crypto::by_name(BACKEND).or_failed()?;
    trace(&*backend, keys, capture, copy).or_failed()
}

/// The copy appears when it is whole, and only its owner can read it.
fn with_copy(
    key_text: &[u8],
    keys: KeyLog,
    capture: Capture<Box<dyn Read>>,
    path: &Path,
) -> Result<Traced, Failure> {
    let context = || format!("cannot write '{}'", path.display());
    let mut pending = match path == Path::new(STDIO) {
        true => None,
        false => Some(Pending::new(path).with_context(context).or_failed()?),
    };
    let output: Box<dyn Write + '_> = match &mut pending {
        Some(pending) => Box::new(BufWriter::new(pending.file())),
        None => Box::new(BufWriter::new(Output)),
    };
    let mut copy = Writer::new(output).with_context(context).or_failed()?;
    if !key_text.is_empty() {
        copy.secrets(key_text).with_context(context).or_failed()?;
    }
    let traced = run(keys, capture, Some(&mut copy))?;
    let written = copy.finish().map_err(anyhow::Error::from);
    let written = written.and_then(|mut output| Ok(output.flush()?));
    written.with_context(context).or_failed()?;
    if let Some(pending) = pending {
        pending.commit(true).with_context(context).or_failed()?;
    }
    Ok(traced)
}

fn export(traced: &Traced, path: &Path, console: &Console) -> Result<(), Failure> {
    let document = serde_json::to_string_pretty(&traced.document());
    let document = document.context("cannot write JSON").or_failed()?;
    let document = sys::plain::json(&document) + "\n";
    if path == Path::new(STDIO) {
        return console.print(&document);
    }
    sys::files::write_atomically(path, document.as_bytes(), false)
        .with_context(|| format!("cannot write '{}'", path.display()))
        .or_failed()
}
