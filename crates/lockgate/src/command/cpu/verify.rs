//! `lockgate cpu verify`

use std::fs;
use std::time::Duration;

use anyhow::Context;
use cpu::guest::{Flags, Host, Line, Mismatch, Seen, best_driver, mismatches, modules};
use serde_json::{Value, json};
use sys::plain::plain;
use trial::Probe;
use vm::{Guest, Run};

use super::stand::{IN_GUEST, Stand};
use crate::cli::VerifyArguments;
use crate::command::vm::interrupt::Interrupt;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};

/// Emulated, the program starts within seconds.
const LIMIT: Duration = Duration::from_secs(120);
const OUTPUT_BYTES_MAX: u64 = 16 << 20;

/// What is shown of host and guest side by side; the source says of the level that both
/// are the same, and shows 20 beside 13.
const BESIDE: [(&str, &str); 13] = [
    ("cpu.model", "Model name"),
    ("cpu.signature", "Family, model, stepping"),
    ("cpu.microcode", "Microcode"),
    ("cpu.level", "CPUID level"),
    ("cpu.address_bits.physical", "Physical addresses"),
    ("cpu.address_bits.virtual", "Virtual addresses"),
    ("cpu.cache.l2_bytes", "L2 cache"),
    ("cpu.cache.l3_bytes", "L3 cache"),
    ("cpu.cores.online", "Online CPUs"),
    ("cpu.cores.physical", "Cores"),
    ("cpu.sockets", "Sockets"),
    ("cpu.xstate", "Register state (XCR0)"),
    ("cpu.tier", "Crypto tier"),
];

/// What was asked, and what came of it.
struct Verified {
    line: Line,
    booted: String,
    unverified: Flags,
    kernel: String,
    accelerator: String,
    here: Probe,
    there: Probe,
    guest: Host,
    crypto: String,
    mismatches: Vec<Mismatch>,
}

pub fn verify(arguments: &VerifyArguments, console: &Console) -> Result<Exit, Failure> {
    let stand = Stand::find(arguments.kernel.as_deref())?;
    let (accelerator, reason) = (stand.accelerator, &stand.reason);
    let (models, kernel) = (&stand.models, &stand.kernel);
    let line = stand.line(arguments.cpu.as_deref())?;
    // Registers that only a kernel reads cost an emulator nothing to show.
    let unverified = line.asked.without(models.offered);
    let booted = line.without(unverified);
    let interrupt = Interrupt::watch()?;
    let image = stand.image(modules())?;
    let shape = stand.shape(&booted, &arguments.append);
    let mut guest = stand.boot(&image, &shape)?;
    interrupt.kills(guest.killer());
    let looked = look(&mut guest);
    if interrupt.came() {
        console.warning("interrupted; the guest was ended");
        return Ok(Exit::Interrupted);
    }
    let (there, crypto) = looked?;
    let accelerator = format!("{}: {reason}", accelerator.name());
    if let Err(error) = guest.shutdown() {
        console.warning(&format!("the guest had to be killed: {error}"));
    }
    let own = probe::offer::of("the guest", &there);
    let own = own.context("the guest's probe").or_failed()?;
    let config = fs::read_to_string(&kernel.config).unwrap_or_default();
    let seen = Seen {
        stated: own.known.stated,
        cleared: own.known.cleared,
        crypto: &crypto,
        config: &config,
    };
    let verified = Verified {
        mismatches: mismatches(line.asked, unverified, &seen),
        line,
        booted,
        unverified,
        kernel: kernel.release.clone(),
        accelerator,
        here: probe::brief(&probe::Host::this()),
        there,
        guest: own,
        crypto,
    };
    let text = match arguments.json {
        true => sys::plain::json(&verified.json()),
        false => verified.text(),
    };
    console.print(&text)?;
    Ok(match verified.mismatches.is_empty() {
        true => Exit::Ok,
        false => Exit::Regression,
    })
}

/// The guest's own probe, and its kernel's drivers.
fn look(guest: &mut Guest) -> Result<(Probe, String), Failure> {
    let loads: Vec<_> = modules()
        .map(|name| format!("modprobe {name} 2>/dev/null"))
        .collect();
    // The last may fail: a processor without the flag has no such driver.
    let script = format!("{}; cat /proc/crypto", loads.join("; "));
    let mut run = |script: String| {
        let run = Run {
            output_bytes_max: OUTPUT_BYTES_MAX,
            ..Run::new(script)
        };
        let outcome = guest.run(&run.within(LIMIT)).or_failed()?;
        let text = plain(&outcome.output);
        match outcome.status {
            0 => Ok(text),
            status => Err(Failure::new(
                Exit::Failed,
                format!(
                    "the guest's script ended with status {status}: {}",
                    text.trim()
                ),
            )),
        }
    };
    let crypto = run(script)?;
    let probe = run(format!(
        "LOCKGATE_CACHE=/tmp {IN_GUEST} probe --json --brief"
    ))?;
    let probe = serde_json::from_str(&probe).context("the guest's probe is no probe");
    Ok((probe.or_failed()?, crypto))
}

impl Verified {
    fn text(&self) -> String {
        let mut lines = vec![
            format!("-cpu {}", self.line.text),
            format!("Guest: Linux {}, {}", self.kernel, self.accelerator),
            self.flags(),
        ];
        if !self.unverified.is_empty() {
            lines.push(format!(
                "Unverified, since nothing here can show it: {}",
                listed(&self.unverified)
            ));
        }
        lines.push(String::new());
        match self.mismatches.as_slice() {
            [] => lines.push("Nothing differs from what was asked.".to_owned()),
            all => {
                lines.push("Not as it was asked for:".to_owned());
                lines.extend(all.iter().map(|one| format!("  {}", words(one))));
            }
        }
        lines.push("\nThe kernel's drivers:".to_owned());
        for algorithm in ["cbc(aes)", "xts(aes)", "gcm(aes)", "ghash", "sha256"] {
            let driver = best_driver(&self.crypto, algorithm).unwrap_or("none");
            lines.push(format!("  {algorithm:24} {driver}"));
        }
        let text = |probe: &Probe, key: &str| {
            let fact = probe.fact(key);
            fact.map_or_else(|| "not stated".to_owned(), |fact| fact.text.clone())
        };
        let rows =
            BESIDE.map(|(key, label)| (label, text(&self.here, key), text(&self.there, key)));
        let width = rows
            .iter()
            .map(|(_, here, _)| here.chars().count())
            .max()
            .unwrap_or(0);
        lines.push(format!("\n  {:24} {:width$}  the guest", "", "this host"));
        for (label, here, there) in rows {
            lines.push(format!("  {label:24} {here:width$}  {there}"));
        }
        lines.join("\n") + "\n"
    }

    fn flags(&self) -> String {
        let seen = self.line.asked.and(self.guest.known.stated);
        let unasked = self.guest.known.stated.without(self.line.asked);
        format!(
            "Flags: {} asked for, {} seen, {} unverified; {} more seen{}",
            self.line.asked.len(),
            seen.len(),
            self.unverified.len(),
            unasked.len(),
            match unasked.is_empty() {
                true => String::new(),
                false => format!(" ({})", listed(&unasked)),
            }
        )
    }

    fn json(&self) -> String {
        let names = |flags: Flags| flags.names().collect::<Vec<_>>();
        let mismatch = |one: &Mismatch| {
            let (kind, what) = match one {
                Mismatch::NotSeen { flag } => ("not-seen", *flag),
                Mismatch::Cleared { flag } => ("cleared", *flag),
                Mismatch::NotUsed { algorithm, .. } => ("not-used", *algorithm),
                Mismatch::NotBuilt { option, .. } => ("not-built", *option),
            };
            json!({"kind": kind, "what": what, "text": words(one)})
        };
        let all: Vec<Value> = self.mismatches.iter().map(mismatch).collect();
        let all = json!({
            "cpu": self.line.text,
            "booted": self.booted,
            "kernel": self.kernel,
            "accelerator": self.accelerator,
            "asked": names(self.line.asked),
            "seen": names(self.guest.known.stated),
            "unverified": names(self.unverified),
            "mismatches": all,
            "host": self.here,
            "guest": self.there,
        });
        format!("{all:#}\n")
    }
}

fn words(mismatch: &Mismatch) -> String {
    match mismatch {
        Mismatch::NotSeen { flag } => format!(
            "{flag}: asked for, and the guest's CPUID does not state it; QEMU or KVM withholds it: look at QEMU's warnings without `enforce`"
        ),
        Mismatch::Cleared { flag } => format!(
            "{flag}: the guest's CPUID states it, and its kernel does not use it; look for `clearcpuid=` and `noxsave` on its command line, and for XSAVE and AVX at the CPUID level (`min-level=0xd`)"
        ),
        Mismatch::NotUsed {
            algorithm,
            flag,
            driver,
            module,
        } => format!(
            "{algorithm}: {} does it, though the guest has {flag}; `modprobe {module}` in the guest",
            driver.as_deref().unwrap_or("no driver")
        ),
        Mismatch::NotBuilt { option, mode } => match mode {
            Some(mode) => format!(
                "{option}: not built; dm-crypt with {mode} then fails with `device-mapper: reload ioctl on … failed: No such file or directory`: build the kernel with it, or load its module"
            ),
            None => format!("{option}: not built; build the guest's kernel with it"),
        },
    }
}

fn listed(flags: &Flags) -> String {
    flags.names().collect::<Vec<_>>().join(" ")
}
