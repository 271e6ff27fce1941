//! Results to stdout, everything else to stderr.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::sync::OnceLock;

use anyhow::Context;
use sys::failure::with_causes;

use crate::cli::Color;
use crate::exit::{Failure, OrExit};
use crate::log_lines::LogLines;
use crate::output::write_all;

pub struct Console {
    quiet: bool,
    color: Color,
    lines: LogLines,
    /// For what serves: of stdout.
    results: OnceLock<Option<LogLines>>,
}

impl Console {
    pub fn new(quiet: bool, color: Color, lines: LogLines) -> Self {
        Self {
            quiet,
            color,
            lines,
            results: OnceLock::new(),
        }
    }

    /// For what threads have to say that must not wait.
    pub fn lines(&self) -> &LogLines {
        &self.lines
    }

    pub fn color_stdout(&self) -> bool {
        self.colors(io::stdout().is_terminal())
    }

    pub fn color_stderr(&self) -> bool {
        self.colors(io::stderr().is_terminal())
    }

    pub fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
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

    /// Writes results; what is not shown in them is left out. A reader that went away
    /// (`| head`) is no error.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        self.pass_on(sys::plain::lines(text).as_bytes()).map(|_| ())
    }

    /// As [`Console::print`], of what may be coloured.
    pub fn print_coloured(&self, text: &str) -> Result<(), Failure> {
        let shown = sys::plain::coloured(text);
        self.pass_on(shown.as_bytes()).map(|_| ())
    }

    /// Writes results as they are: a document that holds nothing that is not shown, or
    /// bytes for a program. Returns whether there is still a reader.
    pub fn pass_on(&self, bytes: &[u8]) -> Result<bool, Failure> {
        match write_all(io::stdout().as_fd(), bytes, None) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(error)
                .context("cannot write the results to stdout")
                .or_failed(),
        }
    }

    /// Writes results of what serves: it goes on whether they are taken or not. After a
    /// second they are left behind; the next say how many were lost.
    pub fn offer(&self, text: &str) {
        let start = || LogLines::start(io::stdout()).ok();
        if let Some(results) = self.results.get_or_init(start) {
            results.say(&sys::plain::lines(text));
        }
    }

    pub fn notice(&self, text: &str) {
        if !self.quiet {
            self.lines.say(&shown(text));
        }
    }

    /// Prints a message even with `--quiet`.
    pub fn warning(&self, text: &str) {
        let warning = self.paint("warning:", "33");
        self.lines.say(&format!("{warning} {}", shown(text)));
    }

    /// What another program of ours said on its stderr, which was told to be quiet or not.
    pub fn relay(&self, text: &str) {
        text.lines().for_each(|line| self.lines.say(&shown(line)));
    }

    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    pub fn error(&self, error: &anyhow::Error) {
        let text = shown(&with_causes(error.as_ref()));
        let error = self.paint("error:", "31");
        self.lines.say(&format!("{error} {text}"));
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

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}
