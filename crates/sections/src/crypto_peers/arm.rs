//! The ways to do a place's work, and how options name them.

use kit::config::value::{Choice, Name, Several, Value, items};
use kit::host::DPDK_CRYPTO;
use kit::openssl;
use probe::tier::{self, Unmaskable};
use toml::Value as Toml;

/// One way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arm {
    /// Through a lane, polled.
    Engine,
    /// The loop of the lane's own back-end.
    OwnLoop,
    /// `openssl speed`, one stream.
    OpenSsl,
    /// `dpdk-test-crypto-perf` with 32 operations in a burst.
    Dpdk32,
    /// The same with one operation at a time.
    Dpdk1,
    /// `ring`, called directly in a loop.
    Ring,
    /// AES rounds on registers: no memory, no mode.
    Ceiling,
}

use Arm::{Ceiling, Dpdk1, Dpdk32, Engine, OpenSsl, OwnLoop, Ring};

impl Arm {
    /// In the order of reports.
    pub const EVERY: [Self; 7] = [Engine, OwnLoop, OpenSsl, Dpdk32, Dpdk1, Ring, Ceiling];
    /// What others offer.
    pub const PEERS: [Self; 4] = [OpenSsl, Dpdk32, Dpdk1, Ring];
    /// What the option `peers` may name.
    pub const ALL: [Self; 5] = [OpenSsl, Dpdk32, Dpdk1, Ring, Ceiling];

    /// As options and points have it, for people, and as what a lane is divided by.
    const fn texts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Engine => ("engine", "engine", "÷ engine"),
            OwnLoop => ("own-loop", "own loop", "÷ own loop"),
            OpenSsl => ("openssl", "openssl speed", "÷ openssl speed"),
            Dpdk32 => ("dpdk-32", "DPDK, burst 32", "÷ DPDK, burst 32"),
            Dpdk1 => ("dpdk-1", "DPDK, burst 1", "÷ DPDK, burst 1"),
            Ring => ("ring", "ring", "÷ ring"),
            Ceiling => ("ceiling", "AES ceiling", "÷ AES ceiling"),
        }
    }

    pub const fn name(self) -> &'static str {
        self.texts().0
    }

    pub const fn label(self) -> &'static str {
        self.texts().1
    }

    pub const fn divisor(self) -> &'static str {
        self.texts().2
    }

    /// The program that it is.
    pub const fn program(self) -> Option<&'static str> {
        match self {
            OpenSsl => Some(openssl::PROGRAM),
            Dpdk32 | Dpdk1 => Some(DPDK_CRYPTO),
            _ => None,
        }
    }

    /// Why the tier in force forbids it, if it does.
    pub fn cannot_mask(self) -> Option<Unmaskable> {
        match self {
            Dpdk32 | Dpdk1 => tier::cannot_mask("dpdk"),
            Ring => tier::cannot_mask("ring"),
            _ => None,
        }
    }
}

kit::named!(Arm, "peer");

const ALL: &str = "all";

/// Names of what there is, `all` of it, or `none`.
#[derive(Clone, Debug, PartialEq)]
pub struct Names<T>(pub Vec<T>);

impl<T: Choice> Names<T> {
    pub fn all() -> Self {
        let known = T::known().into_iter().map(|name| name.parse().ok());
        Self(known.flatten().collect())
    }
}

impl<T: Choice> Value for Names<T> {
    fn parse(value: &Toml) -> Result<Self, String> {
        let is_all = |item: &Toml| {
            let text = item.as_str();
            text.is_some_and(|text| text.eq_ignore_ascii_case(ALL))
        };
        if items(value).iter().any(is_all) {
            return Ok(Self::all());
        }
        let named = Several::<Name<T>>::parse(value)?;
        let mut own: Vec<T> = Vec::new();
        for Name(one) in named.iter() {
            if !own.contains(one) {
                own.push(one.clone());
            }
        }
        Ok(Self(own))
    }

    fn read(text: &str) -> Toml {
        Several::<Name<T>>::read(text)
    }

    fn written(&self) -> Toml {
        match &self.0[..] {
            [] => Several::<Name<T>>::from([] as [Name<T>; 0]).written(),
            all if *all == Self::all().0 => Toml::Array(vec![Toml::from(ALL)]),
            some => Toml::Array(some.iter().map(|one| Toml::from(one.to_string())).collect()),
        }
    }

    fn allowed() -> String {
        format!("{ALL}, {}", Several::<Name<T>>::allowed())
    }
}
