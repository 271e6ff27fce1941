//! From the command line to what boots: each wrong value is refused before
//! anything is started.

use std::time::Duration;

use vm::image::Image;
use vm::{Cache, CacheError, Kernel, Qemu, QemuError, QemuOrigin, READY_LIMIT, Shape};

use super::files;
use crate::cli::VmRunArguments;
use crate::exit::{Exit, Failure, OrExit};

/// Our own module, which is built for each kernel and lies beside it.
const KSPEED: &str = "lockgate_kspeed";

pub(super) struct Machine {
    pub(super) qemu: Qemu,
    pub(super) kernel: Kernel,
    pub(super) image: Vec<u8>,
    pub(super) shape: Shape,
}

impl Machine {
    pub(super) fn of(arguments: &VmRunArguments) -> Result<Self, Failure> {
        let shape = shape(arguments);
        shape.check().or_usage()?;
        let files = files::guest_files(&arguments.files)?;
        let cache = Cache::open_default().map_err(missing)?;
        let kernel = kernel(&cache, arguments.kernel.as_deref())?;
        let mut image = Image::new(&cache, kernel).files(files);
        for name in &arguments.modules {
            image = with_module(image, name, kernel)?;
        }
        let image = image.build().or_usage()?;
        Ok(Self {
            qemu: qemu(&cache, arguments)?,
            kernel: kernel.clone(),
            image,
            shape,
        })
    }
}

fn shape(arguments: &VmRunArguments) -> Shape {
    Shape {
        vcpus: arguments.vcpus,
        memory_mib: arguments.memory,
        cpu: arguments.cpu.clone(),
        accelerator: arguments.accelerator.into(),
        crypto_devices: arguments.crypto_devices,
        crypto_sockets: arguments.crypto_sockets.clone(),
        pci_functions: arguments.pci_functions.clone(),
        kernel_arguments: arguments
            .append
            .split_whitespace()
            .map(str::to_owned)
            .collect(),
        // The script's own limit comes first, and says what it is.
        time_limit: Duration::from_secs_f64(arguments.limit) + 2 * READY_LIMIT,
        ..Shape::default()
    }
}

fn kernel<'c>(cache: &'c Cache, release: Option<&str>) -> Result<&'c Kernel, Failure> {
    cache.kernel(release).map_err(|error| match error {
        CacheError::NoSuchKernel { .. } => Failure {
            exit: Exit::Usage,
            error: error.into(),
        },
        other => missing(other),
    })
}

fn with_module(image: Image, name: &str, kernel: &Kernel) -> Result<Image, Failure> {
    if name.replace('-', "_") != KSPEED {
        return Ok(image.module(name));
    }
    let path = kernel.kspeed.as_ref().ok_or_else(|| {
        let release = &kernel.release;
        Failure::new(
            Exit::Missing,
            format!("the guest cache has no {KSPEED} for kernel {release}: install gcc and make, then `make setup-guests` builds it"),
        )
    })?;
    Ok(image.module_file(path))
}

fn qemu(cache: &Cache, arguments: &VmRunArguments) -> Result<Qemu, Failure> {
    let Some(program) = &arguments.qemu else {
        return Qemu::find(Some(cache)).map_err(missing);
    };
    let named = if program.is_absolute() || program.components().count() > 1 {
        std::path::absolute(program).or_usage()?
    } else {
        program.clone()
    };
    Qemu::probe(&named, QemuOrigin::Named).map_err(|error| match error {
        QemuError::NotRunning { .. } | QemuError::NotQemu { .. } => Failure {
            exit: Exit::Usage,
            error: anyhow::Error::from(error).context("--qemu names no QEMU"),
        },
        other => missing(other),
    })
}

fn missing(error: impl Into<anyhow::Error>) -> Failure {
    Failure {
        exit: Exit::Missing,
        error: error.into(),
    }
}
