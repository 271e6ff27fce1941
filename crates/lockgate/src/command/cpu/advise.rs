//! `lockgate cpu advise`

use anyhow::Context;
use cpu::guest::{Accelerator, Catalogue, CpuMap, Flags, Mix, Prices, Question};
use sys::failure::with_causes;
use vm::{Cache, Qemu, accelerator_here};

use super::{hosts, prices, text};
use crate::cli::{AdviseArguments, CpuAccelerator};
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};

/// libvirt's own table, where it is installed.
const CPU_MAP: &str = "/usr/share/libvirt/cpu_map";

pub fn advise(arguments: &AdviseArguments, console: &Console) -> Result<Exit, Failure> {
    let percent = arguments.loss;
    if !(0.0..=100.0).contains(&percent) {
        let text = format!("--loss {percent} is not between 0 and 100 percent; 5 is usual");
        return Err(Failure::new(Exit::Usage, text));
    }
    let (named, runs) = (arguments.prices.as_deref(), &arguments.runs.folder);
    let (mix, prices) = prices::priced(&arguments.mix, named, runs)?;
    let hosts = hosts::hosts(&arguments.hosts)?;
    let accelerator = match arguments.accelerator {
        CpuAccelerator::Kvm => Accelerator::Kvm,
        CpuAccelerator::Tcg => Accelerator::Tcg,
    };
    let (catalogue, emulated, note) = models(arguments.bundled, accelerator)?;
    let mut notes: Vec<_> = note.into_iter().collect();
    let (runs, reason) = accelerator_here();
    if arguments.hosts.is_empty() && accelerator == Accelerator::Kvm && runs != accelerator {
        notes.push(format!(
            "KVM runs no guest here ({reason}): this is what the processor would offer one."
        ));
    }
    let question = Question {
        hosts: &hosts,
        catalogue: &catalogue,
        accelerator,
        emulated,
        prices: &prices,
        mix: &mix,
        loss_max: percent / 100.0,
    };
    let advice = cpu::guest::advise(&question).or_usage()?;
    let shown = text::Shown {
        question,
        advice: &advice,
        mix: &arguments.mix,
        map: &cpu_map(),
        notes: &notes,
    };
    let text = match arguments.json {
        true => sys::plain::json(&shown.json()),
        false => shown.text(),
    };
    console.print(&text)?;
    Ok(Exit::Ok)
}

/// The line for guests of this host alone, with QEMU's own models.
pub fn here(
    catalogue: &Catalogue,
    accelerator: Accelerator,
    offered: Flags,
) -> Result<String, Failure> {
    let advice = cpu::guest::advise(&Question {
        hosts: &hosts::hosts(&[])?,
        catalogue,
        accelerator,
        emulated: (accelerator == Accelerator::Tcg).then_some(offered),
        prices: &Prices::bundled(),
        mix: &Mix::default(),
        loss_max: 1.0,
    });
    let pools = advice.or_usage()?.pools;
    let first = pools.first().expect("one host is in one pool");
    Ok(first.choice.qemu())
}

/// The models of this host's QEMU, or those that come with Lockgate; what the emulator
/// shows where it runs the guests; and why it is not this host's QEMU.
fn models(
    bundled: bool,
    accelerator: Accelerator,
) -> Result<(Catalogue, Option<Flags>, Option<String>), Failure> {
    let asked = |qemu: Qemu| {
        // KVM must be usable to be asked about; its models are the emulator's but for
        // what `Catalogue::shown` knows.
        qemu.cpu_models(Accelerator::Tcg)
            .context("QEMU does not tell its CPU models")
    };
    let cache = Cache::open_default().ok();
    let here = match bundled {
        true => Err(anyhow::anyhow!("--bundled was given")),
        false => Qemu::find(cache.as_ref())
            .map_err(anyhow::Error::from)
            .and_then(asked),
    };
    match (here, accelerator) {
        (Ok(own), Accelerator::Tcg) => Ok((own.catalogue, Some(own.offered), None)),
        (Ok(own), Accelerator::Kvm) => Ok((own.catalogue, None, None)),
        (Err(error), Accelerator::Kvm) => {
            let text = format!("The models are a table's: {}.", with_causes(&*error));
            Ok((Catalogue::bundled(), None, Some(text)))
        }
        (Err(error), Accelerator::Tcg) => Err(error)
            .context("only QEMU knows what it emulates")
            .or_usage(),
    }
}

fn cpu_map() -> CpuMap {
    let files = std::fs::read_dir(CPU_MAP).into_iter().flatten().flatten();
    let files = files.filter(|file| file.file_name().to_string_lossy().starts_with("x86_"));
    let mut own = CpuMap {
        origin: format!("libvirt's {CPU_MAP}"),
        ..CpuMap::default()
    };
    for file in files {
        if let Ok(text) = std::fs::read_to_string(file.path()) {
            own.add(&text);
        }
    }
    match own.models.is_empty() || own.features.is_empty() {
        true => CpuMap::bundled(),
        false => own,
    }
}
