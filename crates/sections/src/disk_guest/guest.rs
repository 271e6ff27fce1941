//! The guests: what they are made of and how they are booted.

use std::collections::BTreeSet;
use std::path::PathBuf;

use kit::guest::{Parts, Shell, TIME_LIMIT, absent};
use kit::prelude::*;
use vm::Shape;
use vm::image::{HostProgram, Image};

use super::Config;
use super::arm::Arm;

/// Debian's kernel, its image, and mappings with their memory.
const MEMORY_MIB: u32 = 512;
#[rustfmt::skip]
const MODULES: [&str; 8] = ["brd", "dm-crypt", "ecb", "cbc", "ctr", "lrw", "pcbc", "xts"];
/// What guests run of the host's, and its package.
const PROGRAMS: [(&str, &str); 2] = [("dmsetup", "dmsetup"), ("dd", "coreutils")];

/// What this host has of guests that encrypt.
pub(super) struct Disks {
    pub(super) parts: Parts,
    programs: Vec<(String, PathBuf)>,
}

impl Disks {
    /// # Errors
    /// [`PlanError::NotSupported`] says what is missing and how to get it.
    pub(super) fn find(release: &str) -> Result<Self, PlanError> {
        let find = |(name, package): (&str, &str)| {
            let remedy = format!("apt-get install {package}");
            let found = sys::program::find(name, &["/usr/sbin", "/sbin"]);
            let found = found.map_err(|error| absent(error, &remedy))?;
            let missing = || absent(format!("this host has no {name}"), &remedy);
            Ok((format!("/usr/bin/{name}"), found.ok_or_else(missing)?))
        };
        Ok(Self {
            parts: Parts::find(release)?,
            programs: PROGRAMS.into_iter().map(find).collect::<Result<_, _>>()?,
        })
    }

    /// Without a driver that is to be removed, so that nothing loads it again.
    fn image(&self, arm: Arm) -> Result<Image, Stopped> {
        let driver = (arm != Arm::Removed).then_some("aesni_intel");
        let modules = MODULES.into_iter().chain(driver);
        let image = modules.fold(self.parts.image(), Image::on_demand);
        // Programs share libraries.
        let (mut paths, mut files) = (BTreeSet::new(), Vec::new());
        for (path, program) in &self.programs {
            let own = HostProgram::new(program).files(path);
            files.extend(own.map_err(Stopped::failed)?);
        }
        files.retain(|file| paths.insert(file.path().to_owned()));
        Ok(image.files(files))
    }

    pub(super) fn boot(
        &self,
        arm: Arm,
        config: &Config,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(Box<dyn Shell>, Spot), Stopped> {
        let shape = Shape {
            vcpus: config.vcpus.get() as u32,
            memory_mib: MEMORY_MIB + config.disk_mib.get() as u32,
            cpu: arm.cpu(&config.cpu),
            kernel_arguments: vec!["mitigations=off".to_owned()],
            time_limit: TIME_LIMIT,
            ..Shape::default()
        };
        self.parts.boot(self.image(arm)?, &shape, go_on)
    }
}
