//! `lockgate cpu migrate`

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use cpu::guest::{Accelerator, Flags, choose};
use vm::{Guest, GuestError, Migration, Run, Shape};

use super::stand::{IN_GUEST, Stand};
use crate::cli::MigrateArguments;
use crate::command::vm::interrupt::Interrupt;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};

const COUNT: &str = "/tmp/count";
const ENDED: &str = "/tmp/ended";
/// The guest's work has begun, or gone on, within this time.
const WORK_LIMIT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(200);

/// How a guest's work goes.
enum Work {
    /// So many right answers.
    Goes(u64),
    /// It ended by itself, and said this.
    Ended(String),
}

pub fn migrate(arguments: &MigrateArguments, console: &Console) -> Result<Exit, Failure> {
    let flag = Flags::named(&arguments.without).map_err(|name| {
        let text =
            format!("--without {name}: QEMU has no flag of that name; give one, such as aes");
        Failure::new(Exit::Usage, text)
    })?;
    let stand = Stand::find(arguments.kernel.as_deref())?;
    let line = stand.line(arguments.cpu.as_deref())?;
    if !flag.is_within(&line.asked) || flag.is_empty() {
        let text = format!(
            "--without {}: -cpu {} does not show it, so that nothing is taken away; give a flag that it shows",
            arguments.without, line.text
        );
        return Err(Failure::new(Exit::Usage, text));
    }
    let image = stand.image(std::iter::empty())?;
    let interrupt = Interrupt::watch()?;
    let move_on = |guest: Guest, shape: &Shape| -> Result<Migration, GuestError> {
        interrupt.kills(guest.killer());
        let there = guest.migrate(&stand.qemu, &stand.kernel, &image, shape)?;
        let (Migration::Moved { guest, .. } | Migration::Stayed { guest, .. }) = &there;
        interrupt.kills(guest.killer());
        Ok(there)
    };
    let shape = stand.shape(&line.text, "");
    let mut is_right = true;
    let say = |text: String| console.print(format!("{text}\n").as_bytes());
    say(format!(
        "Guest: Linux {}, {}: {}\n  -cpu {}",
        stand.kernel.release,
        stand.accelerator.name(),
        stand.reason,
        line.text
    ))?;
    let mut guest = stand.boot(&image, &shape)?;
    interrupt.kills(guest.killer());
    begin(&mut guest)?;

    let before = answers(&mut guest, 0)?;
    let there = move_on(guest, &shape)
        .context("the guest was lost")
        .or_failed()?;
    let (guest, text) = told(there, before)?;
    is_right &= text.is_right;
    say(format!(
        "\nTo a second QEMU with the same CPU: {}",
        text.words
    ))?;

    let less = format!("{},-{}", line.text, arguments.without);
    let target = stand.shape(&less, "");
    let text = match guest {
        Some((guest, before)) => match move_on(guest, &target) {
            Ok(there) => told(there, before)?.1.words,
            Err(error) => format!("it was lost: {error}"),
        },
        None => "not tried, since it no longer works".to_owned(),
    };
    say(format!(
        "To a QEMU that does not show {}: {text}",
        arguments.without
    ))?;

    // What is advised for both.
    let offered = stand.models.offered.without(flag);
    let vendor = (stand.accelerator == Accelerator::Kvm)
        .then(|| {
            stand
                .models
                .catalogue
                .model(line.text.split(',').next()?)
                .map(|own| &own.vendor)
        })
        .flatten();
    let (major, minor, _) = stand.qemu.version;
    let catalogue = &stand.models.catalogue;
    let both = choose(
        catalogue,
        stand.accelerator,
        vendor,
        offered,
        (major, minor),
    );
    let Some(both) = both else {
        say("Advise has no CPU for hosts with and without it.".to_owned())?;
        return Ok(Exit::Regression);
    };
    let shape = stand.shape(&both.qemu(), "");
    say(format!(
        "\nAdvised for hosts with and without it:\n  -cpu {}",
        shape.cpu
    ))?;
    let mut guest = stand.boot(&image, &shape)?;
    interrupt.kills(guest.killer());
    begin(&mut guest)?;
    let before = answers(&mut guest, 0)?;
    let there = move_on(guest, &shape)
        .context("the guest was lost")
        .or_failed()?;
    let (guest, text) = told(there, before)?;
    is_right &= text.is_right;
    say(format!(
        "To a QEMU that does not show {}: {}",
        arguments.without, text.words
    ))?;
    if let Some((guest, _)) = guest
        && let Err(error) = guest.shutdown()
    {
        console.warning(&format!("the guest had to be killed: {error}"));
    }
    if interrupt.came() {
        console.warning("interrupted; the guest was ended");
        return Ok(Exit::Interrupted);
    }
    Ok(match is_right {
        true => Exit::Ok,
        false => Exit::Regression,
    })
}

/// Starts the guest's work.
fn begin(guest: &mut Guest) -> Result<(), Failure> {
    let script = format!(
        "({IN_GUEST} busy {COUNT} >/tmp/words 2>&1; echo \"status $?: $(tail -n 1 /tmp/words)\" >{ENDED}) >/dev/null 2>&1 &"
    );
    guest.run(&Run::new(script)).map(drop).or_failed()
}

/// Waits until there are more right answers than that.
fn answers(guest: &mut Guest, than: u64) -> Result<u64, Failure> {
    match work(guest, than).or_failed()? {
        Work::Goes(count) => Ok(count),
        Work::Ended(words) => {
            let text = format!("the guest's work ended by itself: {words}");
            Err(Failure::new(Exit::Failed, text))
        }
    }
}

fn work(guest: &mut Guest, than: u64) -> Result<Work, GuestError> {
    let end = Instant::now() + WORK_LIMIT;
    loop {
        let script = format!("cat {ENDED} 2>/dev/null || cat {COUNT} 2>/dev/null || echo 0");
        let text = guest.run(&Run::new(script))?.text().trim().to_owned();
        match text.parse() {
            Ok(count) if count > than => return Ok(Work::Goes(count)),
            Ok(_) if Instant::now() > end => {
                let limit = WORK_LIMIT.as_secs();
                return Ok(Work::Ended(format!("no answer for {limit} s")));
            }
            Ok(_) => thread::sleep(LOOK),
            Err(_) => return Ok(Work::Ended(text)),
        }
    }
}

struct Told {
    words: String,
    is_right: bool,
}

/// What became of a guest, and the guest with its count where it works.
fn told(there: Migration, before: u64) -> Result<(Option<(Guest, u64)>, Told), Failure> {
    let (mut guest, how, has_moved) = match there {
        Migration::Moved {
            guest,
            took,
            downtime,
        } => {
            let how = format!(
                "moved in {:.1} s, of which it stood still for {} ms",
                took.as_secs_f64(),
                downtime.as_millis()
            );
            (guest, how, true)
        }
        Migration::Stayed { guest, reason } => (guest, format!("refused ({reason})"), false),
    };
    let (words, is_right) = match work(&mut guest, before) {
        Ok(Work::Goes(after)) => {
            let words = format!(
                "{how}; it works on: {before} right answers before, {after} after, none wrong"
            );
            return Ok((
                Some((*guest, after)),
                Told {
                    words,
                    is_right: has_moved,
                },
            ));
        }
        Ok(Work::Ended(words)) => (format!("{how}; its work ended: {words}"), false),
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            (format!("{how}; the guest died: {first}"), false)
        }
    };
    Ok((None, Told { words, is_right }))
}
