//! `lockgate vm run`

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use sys::plain::Pieces;
use vm::{BootError, Guest, GuestError, Run};

use super::interrupt::Interrupt;
use super::machine::Machine;
use crate::cli::VmRunArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};

const SCRIPT_BYTES_MAX: u64 = 1 << 20;

/// Most output of a script, bytes: it is not kept, so this only ends one that
/// never stops.
const OUTPUT_BYTES_MAX: u64 = 1 << 34;

const FILE_BYTES_MAX: usize = 1 << 30;

pub(super) fn run(arguments: &VmRunArguments, console: &Console) -> Result<Exit, Failure> {
    let script = script(&arguments.script)?;
    let machine = Machine::of(arguments)?;
    let interrupt = Interrupt::watch()?;
    let mut guest = boot(&machine, console)?;
    interrupt.kills(guest.killer());
    let ran = run_in(&mut guest, script, arguments, console);
    let fetched = fetch(&mut guest, arguments);
    if interrupt.came() {
        console.warning("interrupted; the guest was ended");
        return Ok(Exit::Interrupted);
    }
    let Some(status) = ran? else {
        return Ok(Exit::Ok);
    };
    if status != 0 {
        console.warning(&format!("the script ended with status {status}"));
    }
    fetched?;
    // What came after is no part of what was asked for.
    if let Err(error) = guest.shutdown() {
        console.warning(&format!("the guest had to be killed: {error}"));
    }
    Ok(if status == 0 {
        Exit::Ok
    } else {
        Exit::Regression
    })
}

fn script(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        io::stdin()
            .take(SCRIPT_BYTES_MAX + 1)
            .read_to_string(&mut text)
    } else {
        fs::File::open(path)
            .and_then(|file| file.take(SCRIPT_BYTES_MAX + 1).read_to_string(&mut text))
    };
    read.with_context(|| format!("cannot read the script '{}'", path.display()))
        .or_usage()?;
    if text.len() as u64 > SCRIPT_BYTES_MAX {
        let message = format!(
            "the script '{}' has more than {SCRIPT_BYTES_MAX} bytes; take data along with --file",
            path.display()
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    Ok(text)
}

fn boot(machine: &Machine, console: &Console) -> Result<Guest, Failure> {
    let Machine {
        qemu,
        kernel,
        image,
        shape,
    } = machine;
    let booted = Guest::boot(qemu, kernel, image, shape);
    let guest = booted.map_err(|error| Failure {
        exit: match &error {
            BootError::Shape(_) | BootError::Refused { .. } => Exit::Usage,
            BootError::Accelerator(_)
            | BootError::Vfio(_)
            | BootError::Kernel { .. }
            | BootError::Start { .. } => Exit::Missing,
            _ => Exit::Failed,
        },
        error: error.into(),
    })?;
    let (major, minor, micro) = qemu.version;
    console.notice(&format!(
        "Linux {} ({}) on QEMU {major}.{minor}.{micro}, {} ({}), ready in {:.1} s",
        kernel.release,
        kernel.version,
        guest.accelerator().name(),
        guest.accelerator_reason(),
        guest.ready_in().as_secs_f64(),
    ));
    guest.notes().iter().for_each(|note| console.notice(note));
    for module in &guest.hello().modules_failed {
        console.warning(&format!(
            "the guest's kernel refused module {module}; `dmesg` in the script says why"
        ));
    }
    Ok(guest)
}

/// The script's status. `None` if its output has no reader any more and there is
/// nothing to fetch: then the guest is killed.
fn run_in(
    guest: &mut Guest,
    script: String,
    arguments: &VmRunArguments,
    console: &Console,
) -> Result<Option<i32>, Failure> {
    let run = Run {
        script,
        limit: Duration::from_secs_f64(arguments.limit),
        output_bytes_max: OUTPUT_BYTES_MAX,
    };
    let killer = guest.killer();
    let mut is_read = Ok(true);
    // A program gets what the guest says as it is; a terminal must not be steered by it.
    let mut shown = console.is_terminal().then(Pieces::default);
    let ended = guest.run_live(&run, &mut |piece| {
        if matches!(is_read, Ok(true)) {
            is_read = match &mut shown {
                Some(pieces) => console.pass_on(pieces.next(piece).as_bytes()),
                None => console.pass_on(piece),
            };
            if !matches!(is_read, Ok(true)) && arguments.gets.is_empty() {
                killer.kill();
            }
        }
    });
    if !is_read? && arguments.gets.is_empty() {
        return Ok(None);
    }
    ended.map(Some).map_err(by_limit).or_failed()
}

fn by_limit(error: GuestError) -> anyhow::Error {
    let is_limit = matches!(
        &error,
        GuestError::Channel(vm::protocol::ChannelError::Timeout { .. })
    );
    let error = anyhow::Error::from(error);
    if is_limit {
        error.context("the script was ended; --limit gives it more seconds")
    } else {
        error
    }
}

fn fetch(guest: &mut Guest, arguments: &VmRunArguments) -> Result<(), Failure> {
    let each = arguments.gets.iter();
    let fetched: Vec<_> = each
        .map(|(path, host)| fetch_one(guest, path, host))
        .collect();
    fetched.into_iter().collect()
}

fn fetch_one(guest: &mut Guest, path: &str, host: &Path) -> Result<(), Failure> {
    let content = guest
        .get(path, FILE_BYTES_MAX)
        .with_context(|| format!("--get: no {path} from the guest"))
        .or_failed()?;
    fs::write(host, content)
        .with_context(|| format!("--get: cannot write '{}'", host.display()))
        .or_failed()
}
