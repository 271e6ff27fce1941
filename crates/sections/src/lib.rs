//! One folder a section; none uses another. What they share is in `kit`.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "fields and small functions say by their names what a sentence would only repeat"
)]

pub mod kspeed;
pub mod probe;
pub mod router;
pub mod speed;
pub mod vcm;

use kit::ConfigError;
use trial::Section;

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
    /// The built-in scenarios that run it alone.
    pub scenarios: &'static [Builtin],
}

/// A scenario that is part of the program.
pub struct Builtin {
    /// Its name, as in `lockgate run NAME`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! sections {
    ($($name:literal, $parse:path, seeded: $seeded:literal, scenarios: [$($scenario:literal),*];)*) => {
        /// Every section, in the order in which a run runs them.
        pub static SECTIONS: &[SectionKind] = &[$(SectionKind {
            name: $name,
            parse: $parse,
            seeded: $seeded,
            scenarios: &[$(Builtin {
                name: $scenario,
                text: include_str!(concat!("../../../scenarios/", $scenario, ".toml")),
            }),*],
        }),*];
    };
}

sections! {
    "probe", probe::parse, seeded: false, scenarios: [];
    "crypto-peers", speed::peers::parse, seeded: true, scenarios: ["crypto-peers"];
    "crypto-speed", speed::parse, seeded: true, scenarios: ["crypto-speed"];
    "vcm-block-size", vcm::block_size::parse, seeded: true, scenarios: ["vcm-block-size"];
    "vcm-tasks", vcm::tasks::parse, seeded: true, scenarios: ["vcm-tasks"];
    "vcm-controllers", vcm::controllers::parse, seeded: true, scenarios: ["vcm-controllers"];
    "vcm-shifting", vcm::shifting::parse, seeded: true, scenarios: ["vcm-shifting"];
    "vcm-cause", vcm::cause::parse, seeded: true, scenarios: ["vcm-cause"];
    "vcm-tenants", vcm::tenants::parse, seeded: true, scenarios: ["vcm-tenants"];
    "kspeed", kspeed::parse, seeded: true, scenarios: ["kspeed", "kspeed-tcrypt"];
    "router-native", router::native::parse, seeded: true, scenarios: ["router-native"];
    "router-os-level", router::os_level::parse, seeded: true, scenarios: ["router-os-level"];
    "router-scaling", router::scaling::parse, seeded: true, scenarios: ["router-scaling"];
    "router-paths", router::paths::parse, seeded: true, scenarios: ["router-paths"];
    "router-tcp", router::tcp::parse, seeded: true, scenarios: ["router-tcp"];
}

/// The section of that name.
#[must_use]
pub fn section(name: &str) -> Option<&'static SectionKind> {
    SECTIONS.iter().find(|kind| kind.name == name)
}
