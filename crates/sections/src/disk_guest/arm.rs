//! What is compared, and the commands that do it in a guest.

use crypto::SectorMode;
use kit::config::choices::Direction;

use super::Place;

/// What a guest has of AES-NI; or, with AES-NI shown, flags of dm-crypt, which say on
/// which thread it encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    Shown,
    /// The CPU model lacks it.
    Hidden,
    /// The CPU has it, and the guest's kernel no driver for it.
    Removed,
    NoReadWorkqueue,
    NoWriteWorkqueue,
    NoWorkqueue,
    SameCpuCrypt,
}

kit::named!(Arm, "arm");

impl Arm {
    pub(super) const ALL: [Self; 7] = [
        Self::Shown,
        Self::Hidden,
        Self::Removed,
        Self::NoReadWorkqueue,
        Self::NoWriteWorkqueue,
        Self::NoWorkqueue,
        Self::SameCpuCrypt,
    ];
    /// Each in a guest of its own.
    pub(super) const GUESTS: [Self; 3] = [Self::Shown, Self::Hidden, Self::Removed];

    pub fn name(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Hidden => "hidden",
            Self::Removed => "removed",
            Self::NoReadWorkqueue => "no_read_workqueue",
            Self::NoWriteWorkqueue => "no_write_workqueue",
            Self::NoWorkqueue => "no_read_workqueue+no_write_workqueue",
            Self::SameCpuCrypt => "same_cpu_crypt",
        }
    }

    /// In whose guest it is measured.
    pub(super) fn guest(self) -> Self {
        match self {
            Self::Hidden | Self::Removed => self,
            _ => Self::Shown,
        }
    }

    pub(super) fn has_flags(self) -> bool {
        self.guest() != self
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Shown => "AES-NI shown",
            Self::Hidden => "AES-NI hidden",
            Self::Removed => "AES-NI shown, driver removed",
            flags => flags.name(),
        }
    }

    pub(super) fn cpu(self, model: &str) -> String {
        let hides = if self == Self::Hidden { ",-aes" } else { "" };
        format!("{model}{hides}")
    }

    /// Whether its guest encrypts with that driver.
    pub(super) fn is_proven(self, driver: &str) -> bool {
        (driver.contains("aesni") || driver.contains("vaes")) == (self.guest() == Self::Shown)
    }

    /// What its mapping of the ramdisk is called.
    pub(super) fn mapping(self, mode: SectorMode) -> String {
        let flags = if self.has_flags() { self.name() } else { "" };
        format!("{mode}-{flags}")
    }

    /// Makes the mapping, or says `failed` and its name.
    pub(super) fn make(self, mode: SectorMode, disk_mib: usize, key_bytes: usize) -> String {
        let (name, sectors) = (self.mapping(mode), disk_mib * 2048);
        let flags: Vec<_> = self.name().split('+').collect();
        let options = match self.has_flags() {
            true => format!(" {} {}", flags.len(), flags.join(" ")),
            false => String::new(),
        };
        // Which key does not matter, but that the halves of XTS's differ.
        let key: String = (1..=key_bytes).map(|byte| format!("{byte:02x}")).collect();
        format!(
            "echo '0 {sectors} crypt aes-{mode}-plain {key} 0 /dev/ram0 0{options}' | DM_DISABLE_UDEV=1 /usr/bin/dmsetup create {name} || echo failed {name}\n"
        )
    }

    /// Moves that much, past the page cache.
    pub(super) fn script(self, place: Place, mib: usize) -> String {
        let mapping = place
            .mode
            .map(|mode| format!("mapper/{}", self.mapping(mode)));
        let disk = mapping.as_deref().unwrap_or("ram0");
        let ends = match place.direction {
            Direction::Write => format!("if=/dev/zero of=/dev/{disk} oflag=direct"),
            Direction::Read => format!("if=/dev/{disk} of=/dev/null iflag=direct"),
        };
        format!("/usr/bin/dd {ends} bs=1M count={mib} 2>&1")
    }
}
