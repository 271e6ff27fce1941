//! This process gives up what it no longer needs, and says so.

use std::sync::Arc;

use anyhow::Context;
use confine::{ConfineError, Confined, Confinement};
use sys::failure::with_causes;
use sys::role::on_enter;

use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::log_lines::LogLines;

/// Before this process starts other threads or programs: these inherit it, and threads
/// give up more as they enter their roles. The log's thread, which there is already,
/// starts anew.
pub fn enter(confinement: &Confinement, console: &Console) -> Result<(), Failure> {
    let lines = console.lines();
    let confined = lines.without_writer(|| begin(confinement, lines.clone()));
    let confined = confined.or_failed()?;
    let confined = confined.context("cannot confine itself").or_failed()?;
    console.notice(&format!("confined: {}", confined.in_words()));
    confined.lacks.iter().for_each(|lack| console.warning(lack));
    Ok(())
}

fn begin(confinement: &Confinement, lines: LogLines) -> Result<Arc<Confined>, ConfineError> {
    let confined = Arc::new(confinement.enter_process()?);
    let own = Arc::clone(&confined);
    on_enter(move |role| {
        if let Err(error) = own.enter_thread(role) {
            // A thread with more rights than was said serves nobody.
            lines.say(&format!("error: {}", with_causes(&error)));
            std::process::exit(Exit::Failed as i32);
        }
    });
    Ok(confined)
}
