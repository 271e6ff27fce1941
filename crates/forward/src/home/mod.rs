//! Where a router lives. Every home has a network namespace of its own; the
//! containers really run, with a process of theirs inside.

pub mod lxc;
pub mod root;
pub mod runc;

/// Kinds of homes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A network namespace alone.
    #[default]
    Namespace,
    /// A container of LXC (`lxc-start`).
    Lxc,
    /// A container of runc.
    Runc,
}

impl Kind {
    /// The kind's name, as in dimensions and scenario files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Lxc => "lxc",
            Self::Runc => "runc",
        }
    }
}
