//! The sections there are. The only list of them in the workspace.

use trial::Section;

use crate::{ConfigError, kspeed, probe, router, speed, vcm};

/// A kind of section: its table's name in a scenario, and what parses it.
pub struct SectionKind {
    /// The section's name, also its table in a scenario file.
    pub name: &'static str,
    /// Turns its table into a section ready to be planned; an empty table
    /// means its defaults.
    pub parse: fn(toml::Table) -> Result<Box<dyn Section>, ConfigError>,
    /// Whether its table has a key `seed`, which `[common] seed` and `--seed`
    /// fill in.
    pub seeded: bool,
}

/// Every section, in the order in which a run runs them.
pub static SECTIONS: &[SectionKind] = &[
    SectionKind {
        name: "probe",
        parse: probe::parse,
        seeded: false,
    },
    SectionKind {
        name: "crypto-peers",
        parse: speed::peers::parse,
        seeded: true,
    },
    SectionKind {
        name: "crypto-speed",
        parse: speed::parse,
        seeded: true,
    },
    SectionKind {
        name: "vcm-block-size",
        parse: vcm::block_size::parse,
        seeded: true,
    },
    SectionKind {
        name: "vcm-tasks",
        parse: vcm::tasks::parse,
        seeded: true,
    },
    SectionKind {
        name: "vcm-controllers",
        parse: vcm::controllers::parse,
        seeded: true,
    },
    SectionKind {
        name: "vcm-shifting",
        parse: vcm::shifting::parse,
        seeded: true,
    },
    SectionKind {
        name: "vcm-cause",
        parse: vcm::cause::parse,
        seeded: true,
    },
    SectionKind {
        name: "vcm-tenants",
        parse: vcm::tenants::parse,
        seeded: true,
    },
    SectionKind {
        name: "kspeed",
        parse: kspeed::parse,
        seeded: true,
    },
    SectionKind {
        name: "router-native",
        parse: router::native::parse,
        seeded: true,
    },
    SectionKind {
        name: "router-os-level",
        parse: router::os_level::parse,
        seeded: true,
    },
    SectionKind {
        name: "router-scaling",
        parse: router::scaling::parse,
        seeded: true,
    },
    SectionKind {
        name: "router-paths",
        parse: router::paths::parse,
        seeded: true,
    },
    SectionKind {
        name: "router-tcp",
        parse: router::tcp::parse,
        seeded: true,
    },
];

/// The section of that name.
#[must_use]
pub fn section(name: &str) -> Option<&'static SectionKind> {
    SECTIONS.iter().find(|kind| kind.name == name)
}
