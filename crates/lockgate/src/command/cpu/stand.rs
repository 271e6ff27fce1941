//! What guests with a CPU to be looked at are booted with: this host's QEMU, a kernel of
//! the cache, and this program within.

use std::time::Duration;

use anyhow::Context;
use cpu::guest::{Accelerator, Line};
use vm::image::{HostProgram, Image};
use vm::{AcceleratorChoice, Cache, CpuModels, Guest, Kernel, Qemu, Shape, accelerator_here};

use super::advise;
use crate::exit::{Exit, Failure, OrExit};

pub(super) const IN_GUEST: &str = "/usr/bin/lockgate";
/// Our own program and the archive that holds it need no more.
const MEMORY_MIB: u32 = 1024;
const TIME_LIMIT: Duration = Duration::from_secs(600);

pub(super) struct Stand {
    pub(super) qemu: Qemu,
    pub(super) kernel: Kernel,
    pub(super) models: CpuModels,
    pub(super) accelerator: Accelerator,
    /// Why this accelerator.
    pub(super) reason: String,
    cache: Cache,
}

impl Stand {
    pub(super) fn find(kernel: Option<&str>) -> Result<Self, Failure> {
        let cache = Cache::open_default().map_err(missing)?;
        let qemu = Qemu::find(Some(&cache)).map_err(missing)?;
        let kernel = cache.kernel(kernel).or_usage()?.clone();
        let (accelerator, reason) = accelerator_here();
        let models = qemu.cpu_models(accelerator);
        let models = models
            .context("QEMU does not tell its CPU models")
            .or_failed()?;
        Ok(Self {
            qemu,
            kernel,
            models,
            accelerator,
            reason,
            cache,
        })
    }

    /// A line that was given, or what advise says for this host.
    pub(super) fn line(&self, given: Option<&str>) -> Result<Line, Failure> {
        let CpuModels { catalogue, offered } = &self.models;
        let text = match given {
            Some(text) => text.to_owned(),
            None => advise::here(catalogue, self.accelerator, *offered)?,
        };
        let is_host = text.split(',').next() == Some("host");
        if is_host && self.accelerator == Accelerator::Tcg {
            let reason = &self.reason;
            let text = format!("--cpu host needs KVM, and {reason}; give a model, or `max`");
            return Err(Failure::new(Exit::Usage, text));
        }
        Line::parse(&text, catalogue, self.accelerator, *offered).or_usage()
    }

    /// With this program, and modules that can be loaded.
    pub(super) fn image(
        &self,
        modules: impl Iterator<Item = &'static str>,
    ) -> Result<Vec<u8>, Failure> {
        let program = HostProgram::running().and_then(|own| own.files(IN_GUEST));
        let program = program
            .context("lockgate cannot be taken into a guest")
            .or_failed()?;
        let image = Image::new(&self.cache, &self.kernel).files(program);
        modules.fold(image, Image::on_demand).build().or_failed()
    }

    pub(super) fn shape(&self, cpu: &str, append: &str) -> Shape {
        Shape {
            memory_mib: MEMORY_MIB,
            cpu: cpu.to_owned(),
            accelerator: AcceleratorChoice::Only(self.accelerator),
            kernel_arguments: append.split_whitespace().map(str::to_owned).collect(),
            time_limit: TIME_LIMIT,
            ..Shape::default()
        }
    }

    pub(super) fn boot(&self, image: &[u8], shape: &Shape) -> Result<Guest, Failure> {
        let booted = Guest::boot(&self.qemu, &self.kernel, image, shape);
        booted
            .with_context(|| format!("no guest with -cpu {}", shape.cpu))
            .or_failed()
    }
}

fn missing(error: impl Into<anyhow::Error>) -> Failure {
    Failure {
        exit: Exit::Missing,
        error: error.into(),
    }
}
