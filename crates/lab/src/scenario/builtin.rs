//! The scenarios that are part of the program.

/// One of them.
pub struct Builtin {
    /// Its name, as in `lockgate run NAME`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! builtin {
    ($($name:literal),*) => {
        &[$(Builtin { name: $name, text: include_str!(concat!("../../../../scenarios/", $name, ".toml")) }),*]
    };
}

/// Every built-in scenario; the first is what `lockgate run` runs by default.
pub static BUILTIN: &[Builtin] = builtin![
    "default",
    "crypto-peers",
    "crypto-speed",
    "vcm-block-size",
    "vcm-tasks",
    "vcm-controllers",
    "vcm-shifting",
    "vcm-cause",
    "vcm-tenants",
    "kspeed",
    "kspeed-tcrypt",
    "router-native",
    "router-os-level",
    "router-scaling",
    "router-paths",
    "router-tcp"
];
