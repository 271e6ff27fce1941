//! The scenarios that are part of the program.

pub use sections::Builtin;

const DEFAULT: Builtin = Builtin {
    name: "default",
    text: include_str!("../../../../scenarios/default.toml"),
};

/// Every built-in scenario; the first is what `lockgate run` runs by default.
pub fn builtin() -> impl Iterator<Item = &'static Builtin> {
    let own = sections::SECTIONS.iter().flat_map(|kind| kind.scenarios);
    std::iter::once(&DEFAULT).chain(own)
}
