//! A guest whose stock driver has crypto devices, one at a time, asked by Lockgate's
//! module.

use std::path::PathBuf;
use std::time::Duration;

use crypto::Algorithm;
use trial::PlanError;
use vm::Shape;

use super::{Parts, Shell, TIME_LIMIT, absent, not_measured, run, said};
use crate::spot::Spot;
use crate::subject::Stopped;

const MEMORY_MIB: u32 = 1024;
/// A script that takes this much longer than it should has hung.
pub const LIMIT: Duration = Duration::from_secs(30);
/// What the driver of the guest's kernel is called.
pub const DRIVER: &str = "virtio_crypto_aes_cbc";
/// What such a guest's device must allow: the kernel tests its driver with keys of every
/// length.
pub const TESTED: [Algorithm; 3] = [
    Algorithm::Aes128Cbc,
    Algorithm::Aes192Cbc,
    Algorithm::Aes256Cbc,
];
/// Where one says something else than it should.
pub const REMEDY: &str = "See what the guest says: lockgate vm run SCRIPT runs the same commands.";

/// The driver's devices, in the order of their addresses, and none bound.
const SETUP: &str = "modprobe virtio_crypto || exit 1
cd /sys/bus/virtio/devices
for device in $(ls | sort -V); do [ \"$(cat $device/device)\" = 0x0014 ] && echo $device; done
for device in /sys/bus/virtio/drivers/virtio_crypto/virtio*; do echo ${device##*/} > /sys/bus/virtio/drivers/virtio_crypto/unbind; done";

/// What this host has of a guest with Lockgate's module.
///
/// # Errors
/// [`PlanError::NotSupported`] says what is missing and how to get it.
pub fn find(release: &str) -> Result<Parts, PlanError> {
    let parts = Parts::find(release)?;
    match parts.kernel.kspeed {
        Some(_) => Ok(parts),
        None => Err(absent(
            format!(
                "the guest cache has no lockgate_kspeed.ko for {}",
                parts.kernel.release
            ),
            "make setup-guests (with gcc and make installed, it builds the module)",
        )),
    }
}

/// What one is given beside its kernel.
#[derive(Clone, Debug)]
pub struct Given {
    pub vcpus: usize,
    /// CPU model, with flags.
    pub cpu: String,
    /// Devices of QEMU's own.
    pub built_in: u32,
    /// Sockets of others.
    pub sockets: Vec<PathBuf>,
}

/// A guest that is up; its driver has none of its devices yet.
pub struct CryptoGuest {
    pub shell: Box<dyn Shell>,
    /// Its devices as it calls them: QEMU's own, then the others.
    pub names: Vec<String>,
    pub about: Spot,
}

impl CryptoGuest {
    /// Boots one, unless the user stops.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn boot(parts: &Parts, given: Given, go_on: &dyn Fn() -> bool) -> Result<Self, Stopped> {
        let mut image = parts.image().on_demand("virtio_crypto");
        if let Some(module) = &parts.kernel.kspeed {
            image = image.module_file(module);
        }
        let shape = Shape {
            vcpus: given.vcpus as u32,
            memory_mib: MEMORY_MIB,
            cpu: given.cpu,
            crypto_devices: given.built_in,
            crypto_sockets: given.sockets,
            time_limit: TIME_LIMIT,
            ..Shape::default()
        };
        let (mut shell, about) = parts.boot(image, &shape, go_on)?;
        let output = run(shell.as_mut(), SETUP, LIMIT, go_on)?;
        let text = output.text();
        let names: Vec<_> = text.lines().map(str::to_owned).collect();
        let devices = shape.crypto_sockets.len() + shape.crypto_devices as usize;
        if output.status != 0 || names.len() != devices {
            let reason = format!(
                "the guest's driver does not take its devices: {}",
                said(&output)
            );
            return Err(Stopped::Doubted(not_measured(reason, REMEDY)));
        }
        Ok(Self {
            shell,
            names,
            about,
        })
    }
}

/// The driver has that device and no other, and is ready; then its interrupts.
#[must_use]
pub fn bind(name: &str) -> String {
    format!(
        "drivers=/sys/bus/virtio/drivers/virtio_crypto
for device in $drivers/virtio*; do device=${{device##*/}}; [ -e $drivers/$device ] && [ $device != {name} ] && echo $device > $drivers/unbind; done
[ -e $drivers/{name} ] || echo {name} > $drivers/bind
for turn in $(seq 200); do grep -q {DRIVER} /proc/crypto && break; sleep 0.02; done
{}",
        count(name)
    )
}

/// Interrupts of the device's queues so far: of MSI-X, or of a line.
#[must_use]
pub fn count(name: &str) -> String {
    format!(
        "awk '/ {name}(-virtqueues)?$/ {{ for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) sum += $i }} END {{ print sum + 0 }}' /proc/interrupts"
    )
}
