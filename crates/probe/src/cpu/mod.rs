//! The processor: identity, topology, caches, clock, flags.

pub(crate) mod cache;
pub(crate) mod clock;
pub(crate) mod flags;
pub(crate) mod frequency;
mod hypervisor;
pub(crate) mod identity;
pub(crate) mod leaves;
pub(crate) mod tier;
pub(crate) mod topology;
pub(crate) mod xstate;

use std::collections::BTreeSet;

use ::cpu::{
    ArmCore, Circumstances, CpuInfo, Feature, Microarchitecture, Processor, Signature, Vendor,
    arm_core, microarchitecture,
};

use crate::Host;

/// What other parts need to know about the processor.
pub(super) struct Context {
    /// By CPUID; `None` on ARM and where it was not recorded.
    pub(super) processor: Option<Processor>,
    /// By the kernel.
    pub(super) info: CpuInfo,
    /// The kernel's command line.
    pub(super) command_line: String,
    /// The hypervisor's name, if there is one.
    hypervisor: Option<String>,
    microarchitecture: Option<Microarchitecture>,
    arm_core: Option<ArmCore>,
}

impl Context {
    pub(super) fn read(host: &Host) -> Self {
        let processor = host.processor();
        let info = CpuInfo::parse(&host.text("/proc/cpuinfo").unwrap_or_default());
        let known = identify(processor.as_ref(), &info);
        let model_name = processor.as_ref().map(|known| known.model_name.clone());
        let sold_as = |known: Microarchitecture| known.sold_as(&model_name.unwrap_or_default());
        Self {
            hypervisor: hypervisor::name(host, processor.as_ref(), &info),
            microarchitecture: known
                .and_then(|(vendor, signature)| microarchitecture(&vendor, signature))
                .map(sold_as),
            arm_core: arm_core(&info),
            command_line: host.line("/proc/cmdline").unwrap_or_default(),
            processor,
            info,
        }
    }

    /// Whether the kernel lists that flag, or CPUID states it where the
    /// kernel's list could not be read.
    fn has(&self, feature: Feature) -> bool {
        let listed = self.info.flags();
        if listed.is_empty() {
            return self
                .processor
                .as_ref()
                .is_some_and(|known| known.features.contains(&feature));
        }
        listed.contains(feature.name())
    }

    /// Whether this is a guest, as far as can be told.
    pub(super) fn is_guest(&self) -> bool {
        self.hypervisor.is_some()
    }

    /// Whether the kernel alone says what an ARM processor can do.
    pub(super) fn is_arm_only(&self) -> bool {
        self.info.is_arm() && self.processor.is_none()
    }

    /// Whether the kernel lists VMX or SVM.
    pub(super) fn virtualises(&self) -> bool {
        self.has(Feature::Vmx) || self.has(Feature::Svm)
    }

    /// Whether CPUID says that AMD or Hygon made it.
    pub(super) fn is_amd(&self) -> bool {
        matches!(self.vendor(), Some(Vendor::Amd | Vendor::Hygon))
    }

    fn vendor(&self) -> Option<Vendor> {
        match &self.processor {
            Some(processor) => Some(processor.vendor.clone()),
            None => self.info.field("vendor_id").map(Vendor::from_id),
        }
    }

    fn circumstances(&self) -> Circumstances<'_> {
        Circumstances {
            microarchitecture: self.microarchitecture.as_ref(),
            hypervisor: self
                .processor
                .as_ref()
                .and_then(|known| known.hypervisor.as_ref()),
            kernel_flags: self.info.flags(),
            command_line: &self.command_line,
        }
    }

    /// The flags that can be used.
    fn usable(&self) -> BTreeSet<Feature> {
        match &self.processor {
            Some(processor) => processor.usable(),
            None => self
                .info
                .flags()
                .into_iter()
                .filter_map(Feature::named)
                .collect(),
        }
    }
}

fn identify(processor: Option<&Processor>, info: &CpuInfo) -> Option<(Vendor, Signature)> {
    if let Some(processor) = processor {
        return Some((processor.vendor.clone(), processor.signature));
    }
    let signature = Signature {
        family: info.number("cpu family")?,
        model: info.number("model")?,
        stepping: info.number("stepping").unwrap_or(0),
    };
    Some((Vendor::from_id(info.field("vendor_id")?), signature))
}
