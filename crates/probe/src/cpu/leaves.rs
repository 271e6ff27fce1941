//! The words of CPUID that a guest's CPU model is made of, for `lockgate cpu advise`.

use std::fs::File;
use std::os::unix::fs::FileExt;

use ::cpu::Source;
use ::cpu::guest::{ARCH_CAPABILITIES, leaves};

use crate::fact::{Found, absent, ok};
use crate::machine::Machine;
use crate::row::Row::{self, Maybe};

pub(crate) const FACTS: &[Row] = &[
    Maybe("cpu.cpuid", "CPUID words of flags", words),
    Maybe(
        "cpu.arch_capabilities",
        "Immunities (MSR 0x10a)",
        immunities,
    ),
];

/// As [`cpu::Dump`] reads it.
fn words(on: &Machine) -> Option<Found> {
    let source = on.host.source()?;
    let all = [(0, 0)].into_iter().chain(leaves());
    let lines = all.filter_map(|(leaf, subleaf)| line(&*source, leaf, subleaf));
    let lines: Vec<_> = lines.collect();
    let text = format!("{} leaves", lines.len());
    (!lines.is_empty()).then(|| ok(lines, text))
}

fn line(source: &dyn Source, number: u32, subleaf: u32) -> Option<String> {
    let mut leaf = source.leaf(number, subleaf)?;
    if number == 1 {
        // Which processor of the host it is.
        leaf.ebx = 0;
    }
    let (eax, ebx, ecx, edx) = (leaf.eax, leaf.ebx, leaf.ecx, leaf.edx);
    Some(format!(
        "{number:#010x} {subleaf:#04x}: eax={eax:#010x} ebx={ebx:#010x} ecx={ecx:#010x} edx={edx:#010x}"
    ))
}

/// What the processor says that it is not vulnerable to (Intel SDM volume 4, 2.1).
fn immunities(on: &Machine) -> Option<Found> {
    let source = on.host.source()?;
    // CPUID, leaf 7, EDX bit 29: the register is there.
    let is_there = source.leaf(7, 0)?.edx >> 29 & 1 == 1;
    if !is_there || !on.host.is_live() {
        return None;
    }
    let mut bytes = [0; 8];
    let file = File::open("/dev/cpu/0/msr");
    let read = file.and_then(|file| file.read_exact_at(&mut bytes, u64::from(ARCH_CAPABILITIES)));
    Some(match read {
        Ok(()) => {
            let bits = u64::from_le_bytes(bytes);
            ok(bits, format!("{bits:#x}"))
        }
        Err(error) => absent(
            format!("not readable: {error}"),
            "as root `modprobe msr`, then probe again: a guest's model is then shown what the processor is safe from",
        ),
    })
}
