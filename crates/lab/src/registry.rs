//! The sections there are. The only list of them in the workspace.

use trial::Section;

use crate::{ConfigError, probe, speed};

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
];

/// The section of that name.
#[must_use]
pub fn section(name: &str) -> Option<&'static SectionKind> {
    SECTIONS.iter().find(|kind| kind.name == name)
}
