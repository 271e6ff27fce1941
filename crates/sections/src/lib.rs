//! One folder a section; none uses another. What they share is in `kit`.
#![forbid(unsafe_code)]

pub mod cpu_guest;
pub mod cpu_tiers;
pub mod crossings;
pub mod crypto_peers;
pub mod crypto_speed;
pub mod disk_guest;
pub mod disk_modes;
pub mod disk_speed;
pub mod kspeed;
pub mod probe;
pub mod quic_buffers;
pub mod quic_packets;
pub mod quic_profile;
pub mod quic_share;
pub mod quic_streams;
pub mod quic_transfer;
pub mod rfc2544;
pub mod router_bgp;
pub mod router_paths;
pub mod router_scaling;
pub mod router_tcp;
pub mod router_throughput;
pub mod vcm_block_size;
pub mod vcm_cause;
pub mod vcm_controllers;
pub mod vcm_device;
pub mod vcm_guest;
pub mod vcm_guests;
pub mod vcm_shifting;
pub mod vcm_tasks;
pub mod vcm_tenants;

use kit::ConfigError;
use kit::config::keys::Key;
use kit::experiment::Experiment;
use kit::rehearsal::{Rehearsal, RehearsalError, Script};
use trial::Section;

/// A kind of section: its table's name in a scenario, and what parses it.
pub struct SectionKind {
    /// The section's name, also its table in a scenario file.
    pub name: &'static str,
    /// Turns its table into a section ready to be planned; an empty table
    /// means its defaults.
    pub parse: fn(toml::Table) -> Result<Box<dyn Section>, ConfigError>,
    /// The built-in scenarios that run it alone.
    pub scenarios: &'static [Builtin],
    /// What only sections of the kit have.
    pub kit: Option<Kit>,
}

impl SectionKind {
    /// Its options: keys of its table, and flags; none where it is not of the kit.
    #[must_use]
    pub fn options(&self) -> Vec<Key> {
        let kit = self.kit.as_ref();
        kit.map_or_else(Vec::new, |kit| (kit.options)())
    }
}

/// What a section of the kit has besides.
pub struct Kit {
    /// As [`SectionKind::options`].
    pub options: fn() -> Vec<Key>,
    /// Runs it without a host, with speeds that are known.
    pub rehearse: fn(&toml::Table, &Script) -> Result<Rehearsal, RehearsalError>,
}

/// A scenario that is part of the program.
pub struct Builtin {
    /// Its name, as in `lockgate run NAME`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! kind {
    ($name:expr, $parse:expr, $kit:expr, [$($scenario:literal),*]) => {
        SectionKind {
            name: $name,
            parse: $parse,
            kit: $kit,
            scenarios: &[$(Builtin {
                name: $scenario,
                text: include_str!(concat!("../../../scenarios/", $scenario, ".toml")),
            }),*],
        }
    };
    // A section of the kit.
    ($experiment:ty, $($scenario:literal),*) => {
        kind!(
            <$experiment as Experiment>::NAME,
            kit::section::parse::<$experiment>,
            Some(Kit {
                options: kit::section::options::<$experiment>,
                rehearse: kit::rehearsal::rehearse::<$experiment>,
            }),
            [$($scenario),*]
        )
    };
}

/// Every section, in the order in which a run runs them.
#[rustfmt::skip]
pub static SECTIONS: &[SectionKind] = &[
    kind!("probe", probe::parse, None, []),
    kind!(crossings::Crossings, "crossings"),
    kind!(cpu_tiers::CpuTiers, "cpu-tiers"),
    kind!(crypto_peers::CryptoPeers, "crypto-peers"),
    kind!(crypto_speed::CryptoSpeed, "crypto-speed"),
    kind!(disk_speed::DiskSpeed, "disk-speed"),
    kind!(quic_packets::QuicPackets, "quic-packets"),
    kind!(quic_transfer::QuicTransfer, "quic-transfer"),
    kind!(quic_profile::QuicProfile, "quic-profile"),
    kind!(quic_streams::QuicStreams, "quic-streams"),
    kind!(quic_share::QuicShare, "quic-share"),
    kind!(quic_buffers::QuicBuffers, "quic-buffers"),
    kind!(vcm_block_size::BlockSize, "vcm-block-size"),
    kind!(vcm_tasks::Tasks, "vcm-tasks"),
    kind!(vcm_controllers::Controllers, "vcm-controllers"),
    kind!(vcm_shifting::Shifting, "vcm-shifting"),
    kind!(vcm_cause::Causes, "vcm-cause"),
    kind!(vcm_tenants::Tenants, "vcm-tenants"),
    kind!(vcm_device::VcmDevice, "vcm-device"),
    kind!(vcm_guest::VcmGuest, "vcm-guest"),
    kind!(vcm_guests::VcmGuests, "vcm-guests"),
    kind!(disk_modes::DiskModes, "disk-modes"),
    kind!(disk_guest::DiskGuest, "disk-guest"),
    kind!(cpu_guest::CpuGuest, "cpu-guest"),
    kind!(kspeed::Kspeed, "kspeed", "kspeed-rsa", "kspeed-tcrypt"),
    kind!(router_throughput::OfNative, "router-native"),
    kind!(router_throughput::OfHomes, "router-os-level"),
    kind!(router_scaling::Scaling, "router-scaling"),
    kind!(router_paths::Paths, "router-paths", "router-churn"),
    kind!(router_tcp::Tcp, "router-tcp"),
    kind!(router_bgp::NAME, router_bgp::parse, None, ["router-bgp"]),
];

/// Answers on standard output what standard input asks.
pub type Serve = fn() -> std::io::Result<()>;

/// What serves a section's trials in a process of its own, by the section's name.
pub static WORKERS: &[(&str, Serve)] = &[
    ("cpu-tiers", cpu_tiers::serve),
    ("disk-modes", disk_modes::serve),
];

/// The section of that name.
#[must_use]
pub fn section(name: &str) -> Option<&'static SectionKind> {
    SECTIONS.iter().find(|kind| kind.name == name)
}
