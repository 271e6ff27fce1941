//! `lockgate vm list`

use vm::{Accelerator, Cache, CacheError, Qemu, QemuError, QemuOrigin, accelerator_here};

use crate::console::Console;
use crate::exit::{Exit, Failure};

pub(super) fn list(console: &Console) -> Result<Exit, Failure> {
    let cache = Cache::open_default();
    let qemus = Qemu::find_all(cache.as_ref().ok());
    let default = Qemu::find(cache.as_ref().ok());
    let text = [kernels(&cache), programs(&qemus, &default), accelerators()].concat();
    console.print(&text)?;
    let is_complete = cache.is_ok() && default.is_ok();
    Ok(if is_complete { Exit::Ok } else { Exit::Missing })
}

fn kernels(cache: &Result<Cache, CacheError>) -> String {
    let cache = match cache {
        Ok(cache) => cache,
        Err(error) => return format!("Kernels\n  none: {error}\n"),
    };
    let mut text = format!("Kernels, in {}\n", cache.folder().display());
    for (index, kernel) in cache.kernels().iter().enumerate() {
        let or = |is_there: bool, yes: &'static str| if is_there { yes } else { "" };
        let parts = [
            or(index == 0, ", the default"),
            or(kernel.headers.is_some(), ", with headers"),
            or(kernel.kspeed.is_some(), ", with lockgate_kspeed"),
        ];
        let (release, version) = (&kernel.release, &kernel.version);
        text.push_str(&format!("  {release} ({version}){}\n", parts.concat()));
    }
    format!("{text}  busybox {}\n", cache.busybox_version())
}

fn programs(qemus: &[Qemu], default: &Result<Qemu, QemuError>) -> String {
    let mut text = "QEMUs\n".to_owned();
    for qemu in qemus {
        let (major, minor, micro) = qemu.version;
        let origin = match qemu.origin {
            QemuOrigin::Named => ", by LOCKGATE_QEMU",
            QemuOrigin::Host => "",
            QemuOrigin::Cache => ", of the guest cache",
        };
        let is_default = default.as_ref().is_ok_and(|default| default == qemu);
        let default = if is_default { ", the default" } else { "" };
        let program = qemu.program.display();
        text.push_str(&format!(
            "  {major}.{minor}.{micro} {program}{origin}{default}\n"
        ));
    }
    if let Err(error) = default {
        let what = if qemus.is_empty() {
            "none"
        } else {
            "no default"
        };
        text.push_str(&format!("  {what}: {error}\n"));
    }
    text
}

fn accelerators() -> String {
    let lines = match accelerator_here() {
        (Accelerator::Kvm, reason) => {
            format!("  kvm, the default: {reason}\n  tcg, which emulates\n")
        }
        (Accelerator::Tcg, reason) => format!("  tcg, which emulates: {reason}\n"),
    };
    format!("Accelerators\n{lines}")
}
