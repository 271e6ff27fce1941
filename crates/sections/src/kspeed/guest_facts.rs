//! What the guest is: it stands beside every number.

use std::collections::BTreeMap;

use trial::Dimension;
use vm::Accelerator;

/// What was booted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GuestFacts {
    /// Release of its kernel.
    pub(super) kernel: String,
    /// QEMU's version.
    pub(super) qemu: String,
    pub(super) accelerator: Accelerator,
    pub(super) vcpus: u32,
    /// QEMU's model of its CPU.
    pub(super) cpu: String,
}

impl GuestFacts {
    /// Whether every instruction of the guest is emulated.
    pub(super) fn is_emulated(&self) -> bool {
        self.accelerator == Accelerator::Tcg
    }

    /// `in a guest: Linux 6.1.0-56-amd64, QEMU 7.2.22 (tcg, emulated), 1 vCPU`.
    pub(super) fn title(&self) -> String {
        let emulated = if self.is_emulated() { ", emulated" } else { "" };
        let s = if self.vcpus == 1 { "" } else { "s" };
        format!(
            "in a guest: Linux {}, QEMU {} ({}{emulated}), {} vCPU{s} of model {}",
            self.kernel,
            self.qemu,
            self.accelerator.name(),
            self.vcpus,
            self.cpu
        )
    }

    /// What stands under a table or chart.
    pub(super) fn note(&self) -> String {
        let warning = if self.is_emulated() {
            " Emulated: ratios hold within this guest, figures do not hold for any other machine."
        } else {
            ""
        };
        format!("Measured {}.{warning}", self.title())
    }

    /// ` (emulated)`, behind a figure in a sentence.
    pub(super) fn mark(&self) -> &'static str {
        if self.is_emulated() {
            " (emulated guest)"
        } else {
            " (in a guest)"
        }
    }

    pub(super) fn dimensions(&self) -> BTreeMap<String, Dimension> {
        let dimensions = [
            ("guest_kernel", Dimension::from(&self.kernel[..])),
            ("qemu", self.qemu[..].into()),
            ("accelerator", self.accelerator.name().into()),
            ("vcpus", u64::from(self.vcpus).into()),
            ("guest_cpu", self.cpu[..].into()),
        ];
        dimensions
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}
