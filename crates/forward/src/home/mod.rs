//! Where a router lives. Every home has a network namespace of its own; the
//! containers really run, with a process of theirs inside.

mod container;
mod error;
pub mod lxc;
pub mod root;
pub mod runc;

use net::{Journal, Namespace, Tag};

use container::Container;
pub use error::HomeError;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    #[default]
    Namespace,
    /// A container of LXC (`lxc-start`).
    Lxc,
    Runc,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Lxc => "lxc",
            Self::Runc => "runc",
        }
    }
}

/// A home. The container, if it is one, ends and is gone when it is dropped,
/// and when this process dies.
#[derive(Debug)]
pub struct Home {
    kind: Kind,
    // Before the namespace: who lives there leaves first.
    container: Option<Container>,
    namespace: Namespace,
}

impl Home {
    /// Makes one, and starts its container.
    ///
    /// # Errors
    /// [`HomeError::NotSupported`] without the program that runs containers;
    /// nothing is left of one that does not start.
    pub fn start(journal: &Journal, tag: &Tag, kind: Kind) -> Result<Self, HomeError> {
        let namespace = Namespace::create(journal, &tag.name("dut")?)?;
        let name = tag.name(kind.name())?;
        let container = match kind {
            Kind::Namespace => None,
            Kind::Lxc => Some(lxc::start(journal, &name, &namespace)?),
            Kind::Runc => Some(runc::start(journal, &name, &namespace)?),
        };
        Ok(Self {
            kind,
            container,
            namespace,
        })
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    pub fn process(&self) -> Option<u32> {
        self.container.as_ref().map(Container::process)
    }
}
