//! Results to stdout, everything else to stderr.

use std::io::{self, IsTerminal, Write};

use anyhow::Context;
use sys::failure::with_causes;

use crate::cli::Color;
use crate::exit::{Failure, OrExit};

pub struct Console {
    quiet: bool,
    color: Color,
}

impl Console {
    pub fn new(quiet: bool, color: Color) -> Self {
        Self { quiet, color }
    }

    pub fn color_stdout(&self) -> bool {
        self.colors(io::stdout().is_terminal())
    }

    pub fn color_stderr(&self) -> bool {
        self.colors(io::stderr().is_terminal())
    }

    pub fn shows_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    fn colors(&self, terminal: bool) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                terminal
                    && !is_set("NO_COLOR")
                    && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        }
    }

    /// Writes results. A reader that went away (`| head`) is no error.
    pub fn print(&self, text: &[u8]) -> Result<(), Failure> {
        self.pass_on(text).map(|_| ())
    }

    /// As [`Console::print`]; returns whether there is still a reader.
    pub fn pass_on(&self, text: &[u8]) -> Result<bool, Failure> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text).and_then(|()| stdout.flush()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(error)
                .context("cannot write the results to stdout")
                .or_failed(),
        }
    }

    pub fn notice(&self, text: &str) {
        if !self.quiet {
            say(&shown(text));
        }
    }

    /// Prints a message even with `--quiet`.
    pub fn warning(&self, text: &str) {
        say(&format!("{} {}", self.paint("warning:", "33"), shown(text)));
    }

    /// What another program of ours said on its stderr, which was told to be quiet or not.
    pub fn relay(&self, text: &str) {
        text.lines().for_each(|line| say(&shown(line)));
    }

    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    pub fn error(&self, error: &anyhow::Error) {
        say(&format!(
            "{} {}",
            self.paint("error:", "31"),
            shown(&with_causes(error.as_ref()))
        ));
    }

    fn paint(&self, text: &str, color: &str) -> String {
        if self.color_stderr() {
            format!("\x1b[1;{color}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Names of files and what stands in them must not control the terminal.
fn shown(text: &str) -> String {
    sys::plain::plain(text.as_bytes())
}

/// There may be no reader: `eprintln!` would panic then.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}
