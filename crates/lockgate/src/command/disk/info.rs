//! `lockgate disk info`

use std::fmt::Write;

use anyhow::Context;
use disk::{Cost, Header, Image, Layout, Slot};
use sys::plain::one_line;

use super::image;
use crate::cli::DiskInfoArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};

pub fn info(arguments: &DiskInfoArguments, console: &Console) -> Result<Exit, Failure> {
    let path = &arguments.image;
    let image = image(path)?;
    let header = disk::header(&image).with_context(|| path.display().to_string());
    console.print(&text(&header.or_usage()?, &image))?;
    Ok(Exit::Ok)
}

fn text(header: &Header, image: &dyn Image) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name:<11}{}", one_line(value));
        }
    };
    line("format", &format!("LUKS{}", header.version));
    line("uuid", &header.uuid);
    line("label", &header.label);
    line("subsystem", &header.subsystem);
    line("flags", &header.flags.join(", "));
    match &header.layout {
        Ok(layout) => {
            line("cipher", &layout.spec.to_string());
            line("sector", &format!("{} bytes", layout.sector_bytes));
            line("data", &data_text(layout, image));
        }
        Err(error) => line("data", &format!("cannot be opened: {error}")),
    }
    for (number, slot) in &header.slots {
        let value = match slot {
            Ok(slot) => slot_text(slot),
            Err(error) => format!("cannot be used: {error}"),
        };
        line(&format!("slot {number}"), &value);
    }
    for (number, kind) in &header.tokens {
        line(&format!("token {number}"), kind);
    }
    if let Some(damage) = &header.damage {
        line("damage", &format!("of the header's two copies {damage}"));
    }
    text
}

fn data_text(layout: &Layout, image: &dyn Image) -> String {
    match layout.data_bytes(image) {
        Ok(bytes) => format!("{bytes} bytes from byte {}", layout.offset),
        Err(error) => format!("from byte {}; not in this file: {error}", layout.offset),
    }
}

fn slot_text(slot: &Slot) -> String {
    let cost = match slot.kdf.cost {
        Cost::Pbkdf2 { hash, iterations } => format!("PBKDF2-{hash}, {iterations} iterations"),
        Cost::Argon2 {
            variant,
            passes,
            memory_kib,
            lanes,
        } => {
            format!("{variant:?}, {passes} passes over {memory_kib} KiB, lanes: {lanes}")
        }
    };
    let area = match slot.area_key_bytes * 8 {
        bits if slot.area_key_bytes == slot.key_bytes => format!("{}, {bits} bits", slot.area),
        bits => format!(
            "{}, {bits} bits, for a key of {}",
            slot.area,
            slot.key_bytes * 8
        ),
    };
    let priority = match slot.priority {
        1 => "",
        0 => "; used only if it is named",
        _ => "; tried first",
    };
    format!("{cost}; {area}{priority}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_adds_no_line_and_steers_no_terminal() {
        let hostile = "small\x1b[2J\nslot 9    open";
        assert_eq!(one_line(hostile), "small[2J slot 9 open");
    }
}
