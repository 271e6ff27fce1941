//! `--export FORMAT=PATH`.

use std::path::PathBuf;

use anyhow::Context;
use report::compare::RunComparison;
use trial::Run;

use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::render;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Csv,
    Markdown,
    Html,
}

/// The formats by the name that `--export` takes.
const FORMATS: [(&str, Format); 4] = [
    ("json", Format::Json),
    ("csv", Format::Csv),
    ("md", Format::Markdown),
    ("html", Format::Html),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    format: Format,
    /// `None` is stdout.
    path: Option<PathBuf>,
}

impl Export {
    /// Reads `json=-` or `html=report.html`.
    ///
    /// # Errors
    /// What is wrong and what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let known = || FORMATS.map(|(name, _)| name).join(", ");
        let (name, path) = text.split_once('=').ok_or_else(|| {
            format!(
                "no path; write FORMAT=PATH with FORMAT one of {}, and '-' for stdout",
                known()
            )
        })?;
        let (_, format) = FORMATS
            .into_iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| format!("unknown format '{name}'; known: {}", known()))?;
        match path {
            "" => Err(format!(
                "no path; write {name}=PATH, or {name}=- for stdout"
            )),
            "-" => Ok(Self { format, path: None }),
            path => Ok(Self {
                format,
                path: Some(PathBuf::from(path)),
            }),
        }
    }

    fn write(&self, bytes: &[u8], console: &Console) -> Result<(), Failure> {
        match &self.path {
            None => console.pass_on(bytes).map(drop),
            Some(path) => sys::files::write_atomically(path, bytes, false)
                .with_context(|| {
                    format!(
                        "cannot write '{}'; name another path with --export",
                        path.display()
                    )
                })
                .or_failed(),
        }
    }
}

/// Refuses, before anything is measured, what could not be written after.
pub fn check(exports: &[Export]) -> Result<(), Failure> {
    let to_stdout = exports.iter().filter(|export| export.path.is_none());
    if to_stdout.count() > 1 {
        return Err(Failure::new(
            Exit::Usage,
            "two exports to stdout would be mixed up; give one of them a path",
        ));
    }
    for path in exports.iter().filter_map(|export| export.path.as_deref()) {
        sys::files::check_writable(path)
            .with_context(|| {
                format!(
                    "cannot write '{}'; name a writable path with --export",
                    path.display()
                )
            })
            .or_usage()?;
    }
    Ok(())
}

pub fn takes_stdout(exports: &[Export]) -> bool {
    exports.iter().any(|export| export.path.is_none())
}

pub fn check_comparison(exports: &[Export]) -> Result<(), Failure> {
    let is_one = |export: &Export| matches!(export.format, Format::Json | Format::Markdown);
    if !exports.iter().all(is_one) {
        return Err(Failure::new(
            Exit::Usage,
            "a comparison is exported as json or md",
        ));
    }
    check(exports)
}

/// Writes a run in every requested format; one that fails does not prevent the
/// others.
pub fn write(exports: &[Export], run: &Run, console: &Console) -> Result<(), Failure> {
    write_all(exports, console, |format| render::bytes(run, format))
}

/// Writes a comparison, as [`write()`] does a run.
pub fn write_comparison(
    exports: &[Export],
    comparison: &RunComparison,
    console: &Console,
) -> Result<(), Failure> {
    write_all(exports, console, |format| match format {
        Format::Json => comparison.json().into_bytes(),
        _ => report::compare::markdown(comparison).into_bytes(),
    })
}

fn write_all(
    exports: &[Export],
    console: &Console,
    bytes: impl Fn(Format) -> Vec<u8>,
) -> Result<(), Failure> {
    let write = |export: &Export| export.write(&bytes(export.format), console).err();
    let failures: Vec<_> = exports.iter().filter_map(write).collect();
    failures.into_iter().next().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_read() {
        let export = |format, path: Option<&str>| {
            let path = path.map(PathBuf::from);
            Ok(Export { format, path })
        };
        assert_eq!(Export::parse("json=-"), export(Format::Json, None));
        let html = export(Format::Html, Some("a=b.html"));
        assert_eq!(Export::parse("html=a=b.html"), html);
    }
}
