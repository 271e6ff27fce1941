//! The ways to measure a driver that are compared with each other.

/// How a driver is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Lockgate's module, one request after the other.
    Sync,
    /// Lockgate's module: this many at once, then a wait for all.
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
    /// This program in the guest, by the kernel's socket.
    AfAlg,
    /// Lockgate's engine, in this program in the guest, without the kernel.
    Engine,
}

/// Who does a method's trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// The module, in that mode.
    Module(&'static str),
    Tcrypt,
    Program,
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

    /// Its name, what it is called in charts and sentences, who does it, and
    /// whether several requests are in flight.
    #[rustfmt::skip]
    fn facts(self) -> (&'static str, &'static str, Means, bool) {
        match self {
            Self::Sync => ("sync", "kspeed sync", Means::Module("sync"), false),
            Self::Batch => ("batch", "kspeed batch", Means::Module("batch"), true),
            Self::Async => ("async", "kspeed async", Means::Module("async"), true),
            Self::Resubmit => ("resubmit", "kspeed resubmit", Means::Module("resubmit"), true),
            Self::Tcrypt => ("tcrypt", "tcrypt serial", Means::Tcrypt, false),
            Self::TcryptMb => ("tcrypt-mb", "tcrypt num_mb", Means::Tcrypt, true),
            Self::AfAlg => ("af-alg", "AF_ALG", Means::Program, false),
            Self::Engine => ("engine", "user-space engine", Means::Program, true),
        }
    }

    pub(super) fn name(self) -> &'static str {
        self.facts().0
    }

    pub(super) fn title(self) -> &'static str {
        self.facts().1
    }

    pub(super) fn means(self) -> Means {
        self.facts().2
    }

    /// Requests in flight at once, given the configured depth.
    pub(super) fn depth(self, depth: usize) -> usize {
        if self.facts().3 { depth } else { 1 }
    }
}

kit::named!(Method, "method");
