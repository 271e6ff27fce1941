//! The guest: what it is made of and how it is booted.

use kit::guest::{Parts, Shell, TIME_LIMIT, absent};
use kit::spot::Spot;
use kit::subject::Stopped;
use trial::PlanError;
use vm::Shape;
use vm::image::Image;

use super::program;

/// Enough for Debian's kernel, the program twice (in the image and unpacked)
/// and all buffers.
const MEMORY_MIB: u32 = 2048;
/// The kernel keeps that much of its log: a call of tcrypt prints 100 KiB.
const KERNEL_ARGUMENTS: [&str; 2] = ["log_buf_len=4M", "mitigations=off"];
/// Modules that some driver or method loads.
const ON_DEMAND: [&str; 11] = [
    "aesni_intel",
    "ghash_generic",
    "ctr",
    "gcm",
    "cryptd",
    "pcrypt",
    "virtio_crypto",
    "tcrypt",
    "algif_skcipher",
    "algif_hash",
    "algif_aead",
];

/// What this host has of a guest with Lockgate's module.
///
/// # Errors
/// [`PlanError::NotSupported`] says what is missing and how to get it.
pub(super) fn find(release: &str) -> Result<Parts, PlanError> {
    let parts = Parts::find(release)?;
    if parts.kernel.kspeed.is_none() {
        let (folder, release) = (parts.cache().folder().display(), &parts.kernel.release);
        let reason =
            format!("the guest cache {folder} has no lockgate_kspeed.ko for kernel {release}");
        let remedy = "make setup-guests (with gcc and make installed, it builds the module)";
        return Err(absent(reason, remedy));
    }
    Ok(parts)
}

fn image(parts: &Parts, modules: &[String]) -> Result<Image, Stopped> {
    let mut image = parts.image();
    for module in ON_DEMAND
        .into_iter()
        .chain(modules.iter().map(|own| &**own))
    {
        image = image.on_demand(module);
    }
    if let Some(module) = &parts.kernel.kspeed {
        image = image.module_file(module);
    }
    Ok(image.files(program::files().map_err(Stopped::failed)?))
}

/// Builds the image and boots it, unless the user stops; with what it is.
pub(super) fn boot(
    parts: &Parts,
    modules: &[String],
    (cpu, vcpus): (&str, u32),
    go_on: &dyn Fn() -> bool,
) -> Result<(Box<dyn Shell>, Spot), Stopped> {
    let shape = Shape {
        vcpus,
        memory_mib: MEMORY_MIB,
        cpu: cpu.to_owned(),
        crypto_devices: 1,
        kernel_arguments: KERNEL_ARGUMENTS.map(str::to_owned).to_vec(),
        time_limit: TIME_LIMIT,
        ..Shape::default()
    };
    let (shell, about) = parts.boot(image(parts, modules)?, &shape, go_on)?;
    Ok((shell, about.also("guest_cpu", cpu)))
}
