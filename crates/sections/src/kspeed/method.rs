//! The ways to measure a driver that are compared with each other.

use std::fmt;
use std::str::FromStr;

/// How a driver is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Method {
    /// Lockgate's module, one request after the other.
    Sync,
    /// Lockgate's module: so many at once, then a wait for all.
    Batch,
    /// Lockgate's module: a callback counts and gives the request back to the
    /// submitting thread.
    Async,
    /// Lockgate's module: the callback submits again.
    Resubmit,
    /// The kernel's own benchmark, one request after the other.
    Tcrypt,
    /// The kernel's own benchmark with `num_mb` requests at once.
    TcryptMb,
    /// A program in the guest, by the kernel's socket.
    AfAlg,
    /// Lockgate's engine, in a program in the guest, without the kernel.
    Engine,
}

impl Method {
    pub(super) const ALL: [Self; 8] = [
        Self::Sync,
        Self::Batch,
        Self::Async,
        Self::Resubmit,
        Self::Tcrypt,
        Self::TcryptMb,
        Self::AfAlg,
        Self::Engine,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Batch => "batch",
            Self::Async => "async",
            Self::Resubmit => "resubmit",
            Self::Tcrypt => "tcrypt",
            Self::TcryptMb => "tcrypt-mb",
            Self::AfAlg => "af-alg",
            Self::Engine => "engine",
        }
    }

    /// The module's name for it; none where another program measures.
    pub(super) fn module_mode(self) -> Option<&'static str> {
        matches!(
            self,
            Self::Sync | Self::Batch | Self::Async | Self::Resubmit
        )
        .then(|| self.name())
    }

    /// What it is called in charts and sentences.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Sync => "kspeed sync",
            Self::Batch => "kspeed batch",
            Self::Async => "kspeed async",
            Self::Resubmit => "kspeed resubmit",
            Self::Tcrypt => "tcrypt serial",
            Self::TcryptMb => "tcrypt num_mb",
            Self::AfAlg => "AF_ALG",
            Self::Engine => "user-space engine",
        }
    }

    /// Requests in flight at once, given the configured depth.
    pub(super) fn depth(self, depth: usize) -> usize {
        match self {
            Self::Sync | Self::Tcrypt | Self::AfAlg => 1,
            Self::Batch | Self::Async | Self::Resubmit | Self::TcryptMb | Self::Engine => depth,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

/// No way to measure has that name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is no method; allowed: {}", Method::ALL.map(Method::name).join(", "))]
pub(super) struct UnknownMethod {
    name: String,
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        let found = Self::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| UnknownMethod {
            name: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for method in Method::ALL {
            assert_eq!(method.name().parse(), Ok(method));
        }
        let error = "poll".parse::<Method>().unwrap_err().to_string();
        assert!(error.contains("poll") && error.contains("tcrypt-mb"));
    }
}
