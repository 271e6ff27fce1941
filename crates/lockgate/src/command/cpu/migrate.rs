//! `lockgate cpu migrate`

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use cpu::guest::{Accelerator, Flags, Line, choose};
use sys::plain::plain;
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
    let walk = Walk {
        image: stand.image(std::iter::empty())?,
        interrupt: Interrupt::watch()?,
        without: &arguments.without,
        stand,
        console,
    };
    let walked = walk.walk(&line, flag);
    if walk.interrupt.came() {
        console.warning("interrupted; the guest was ended");
        return Ok(Exit::Interrupted);
    }
    Ok(match walked? {
        true => Exit::Ok,
        false => Exit::Regression,
    })
}

struct Walk<'a> {
    stand: Stand,
    image: Vec<u8>,
    interrupt: Interrupt,
    console: &'a Console,
    without: &'a str,
}

impl Walk<'_> {
    /// Whether guests gave right answers wherever they should have.
    fn walk(&self, line: &Line, flag: Flags) -> Result<bool, Failure> {
        let (stand, without) = (&self.stand, self.without);
        self.say(format!(
            "Guest: Linux {}, {}: {}\n  -cpu {}",
            stand.kernel.release,
            stand.accelerator.name(),
            stand.reason,
            line.text
        ))?;
        let (guest, first) = self.starts_and_moves(&line.text)?;
        self.say(format!(
            "\nTo a second QEMU with the same CPU: {}",
            first.words
        ))?;
        let words = match guest {
            Some((guest, before)) => {
                let target = stand.shape(&format!("{},-{without}", line.text), "");
                match self.moves(guest, &target) {
                    Ok(there) => told(there, before).1.words,
                    Err(error) => format!("it was lost: {error}"),
                }
            }
            None => "not tried, since it no longer works".to_owned(),
        };
        self.say(format!("To a QEMU that does not show {without}: {words}"))?;
        self.say(format!(
            "  advise: a guest that is shown {without} moves only among hosts that all have it"
        ))?;
        let catalogue = &stand.models.catalogue;
        let model = line.text.split(',').next().unwrap_or_default();
        let model = catalogue.model(model).map(|model| &model.vendor);
        let vendor = model.filter(|_| stand.accelerator == Accelerator::Kvm);
        let offered = stand.models.offered.without(flag);
        let (major, minor, _) = stand.qemu.version;
        let oldest = (major, minor);
        let both = choose(catalogue, stand.accelerator, vendor, offered, oldest);
        let Some(both) = both else {
            self.say("Advise has no CPU for hosts with and without it.".to_owned())?;
            return Ok(false);
        };
        let both = both.qemu();
        self.say(format!(
            "\nAdvised for hosts with and without it:\n  -cpu {both}"
        ))?;
        let (guest, last) = self.starts_and_moves(&both)?;
        self.say(format!(
            "To a QEMU that does not show {without}: {}",
            last.words
        ))?;
        if let Some((guest, _)) = guest
            && let Err(error) = guest.shutdown()
        {
            self.console
                .warning(&format!("the guest had to be killed: {error}"));
        }
        Ok(first.is_right && last.is_right)
    }

    /// A new guest that works, and moves to a second QEMU with the same CPU.
    fn starts_and_moves(&self, cpu: &str) -> Result<(Option<(Guest, u64)>, Told), Failure> {
        let shape = self.stand.shape(cpu, "");
        let mut guest = self.stand.boot(&self.image, &shape)?;
        self.interrupt.kills(guest.killer());
        begin(&mut guest)?;
        let before = answers(&mut guest, 0)?;
        let there = self.moves(guest, &shape);
        let there = there.context("the guest was lost").or_failed()?;
        Ok(told(there, before))
    }

    fn moves(&self, guest: Guest, shape: &Shape) -> Result<Migration, GuestError> {
        let Stand { qemu, kernel, .. } = &self.stand;
        let there = guest.migrate(qemu, kernel, &self.image, shape)?;
        let (Migration::Moved { guest, .. } | Migration::Stayed { guest, .. }) = &there;
        self.interrupt.kills(guest.killer());
        Ok(there)
    }

    fn say(&self, text: String) -> Result<(), Failure> {
        self.console.print(&format!("{text}\n"))
    }
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
        let text = plain(&guest.run(&Run::new(script))?.output);
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
fn told(there: Migration, before: u64) -> (Option<(Guest, u64)>, Told) {
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
    // What the first look sees may have been done before it left.
    let worked = work(&mut guest, before).and_then(|seen| match seen {
        Work::Goes(arrived) => work(&mut guest, arrived),
        ended @ Work::Ended(_) => Ok(ended),
    });
    let (words, is_right) = match worked {
        Ok(Work::Goes(after)) => {
            let words = format!(
                "{how}; it works on: {before} right answers before, {after} after, none wrong"
            );
            let is_right = has_moved;
            return (Some((*guest, after)), Told { words, is_right });
        }
        Ok(Work::Ended(words)) => (format!("{how}; its work ended: {words}"), false),
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            (format!("{how}; the guest died: {first}"), false)
        }
    };
    (None, Told { words, is_right })
}
