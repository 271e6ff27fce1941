//! What a tenant of `lockgate serve` loses beside each attack that another can play.
//!
//! ```text
//! cargo bench --package lockgate --bench tenants -- [OPTIONS]
//! ```
//!
//! In turns the victim has a fair neighbour, with the same load as its own, and the
//! attacker beside it. Front-ends and the attacker are processes of their own. Times are
//! shown and judge nothing; wrong answers, a dead daemon and what is left behind do.
#![forbid(unsafe_code)]

mod arguments;
mod daemon;
mod guest;
mod player;
mod rounds;
mod table;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use arguments::{Arguments, Task};

/// What `cargo bench` says that it is; `cargo test --benches` does not.
const BENCH: &str = "--bench";

/// Whoever runs it wants it to end.
#[derive(Clone, Debug)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    fn on_signals() -> std::io::Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The second time it ends at once, and the kernel its children.
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))?;
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
        }
        Ok(Self(flag))
    }

    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn check(&self) -> anyhow::Result<()> {
        if self.is_asked() {
            bail!("interrupted");
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if !words.iter().any(|word| word == BENCH) {
        return ExitCode::SUCCESS;
    }
    let others = words.into_iter().filter(|word| word != BENCH);
    let task = match arguments::parse(others) {
        Ok(task) => task,
        Err(error) => {
            eprintln!("tenants: {error}\n\n{}", arguments::USAGE);
            return ExitCode::from(2);
        }
    };
    let ended = match task {
        Task::Help => {
            println!("{}", arguments::USAGE);
            Ok(true)
        }
        Task::Play { is_nice } => player::serve(is_nice).map(|()| true),
        Task::Measure(arguments) => measure(&arguments),
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("tenants: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> anyhow::Result<bool> {
    let stop = Stop::on_signals().context("no signals")?;
    if let Some(length) = arguments.guest {
        return guest::run(length, &arguments.attacks, &stop);
    }
    let mut rows = Vec::new();
    for attack in &arguments.attacks {
        let row = rounds::attack(*attack, arguments.seconds_per_attack, &stop);
        let row = row.with_context(|| attack.name())?;
        eprintln!("{}", row.in_words());
        rows.push(row);
    }
    print!("{}", table::render(&rows));
    Ok(rows.iter().all(table::Row::is_sound))
}
