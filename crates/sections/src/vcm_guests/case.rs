//! Who shares a worker in a trial, under which weights and controllers.

use std::fmt;

use vhost::front::Hostility;

use super::Config;

/// Where tenants live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Home {
    /// Threads that play guests: they saturate the worker.
    FrontEnd,
    /// QEMU guests with their stock driver.
    Guest,
}

impl Home {
    pub(super) const ALL: [Self; 2] = [Self::FrontEnd, Self::Guest];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::FrontEnd => "front-end",
            Self::Guest => "guest",
        }
    }
}

kit::named!(Home, "home of tenants");

/// What a tenant beside the good one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hostile(pub(super) Hostility);

impl Hostile {
    pub(super) const ALL: [Self; 8] = {
        let mut all = [Self(Hostility::Work); 8];
        let mut index = 0;
        while index < all.len() {
            all[index] = Self(Hostility::ALL[index]);
            index += 1;
        }
        all
    };

    pub(super) const fn name(self) -> &'static str {
        self.said().0
    }

    /// Its name, and in words.
    const fn said(self) -> (&'static str, &'static str) {
        match self.0 {
            Hostility::WrongSession => ("wrong-session", "requests of no session"),
            Hostility::Endless => ("endless", "endless chains"),
            Hostility::Long => ("long", "chains of 1,024 descriptors"),
            Hostility::NoTable => ("no-table", "tables that are none"),
            Hostility::Kicks => ("kicks", "kicks without entries"),
            Hostility::Sessions => ("sessions", "sessions that come and go"),
            Hostility::Keys => ("keys", "sessions up to the limit"),
            Hostility::Work => ("work", "all the work it can ask for"),
        }
    }
}

kit::named!(Hostile, "hostile tenant", |own: Hostile| format!(
    "{} ({})",
    own.name(),
    own.said().1
));

/// What one tenant of a trial is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tenant {
    pub(super) weight: u32,
    pub(super) hostile: Option<Hostility>,
}

/// Which tenants work together, and who moderates their interrupts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Case {
    /// That many alike: as is usual at their home, or each with a controller of that name.
    Equal(usize, Option<&'static str>),
    /// That many, each of twice the weight of the one before.
    Weighted(usize),
    /// A good one, and another that does this.
    Beside(Hostility),
}

/// Beside a hostile one, and what that is compared with.
pub(super) const PAIR: usize = 2;

impl Case {
    /// The reference of [`Case::Beside`].
    pub(super) const TWO: Self = Self::Equal(PAIR, None);
    pub(super) const ALONE: Self = Self::Equal(1, None);

    /// Every case at a home, in the order of reports.
    pub(super) fn all(config: &Config, home: Home) -> Vec<Self> {
        let hostile: Vec<_> = config.hostile.iter().map(|own| own.0.0).collect();
        let of_guest = || hostile.iter().copied().find(|own| *own == Hostility::Work);
        let hostile = match home {
            Home::FrontEnd => hostile,
            // The driver lets through no more than that.
            Home::Guest => of_guest().into_iter().collect(),
        };
        let mut counts: Vec<_> = config.guests.values().collect();
        counts.extend((!hostile.is_empty()).then_some(PAIR));
        counts.sort_unstable();
        counts.dedup();
        let several = || counts.iter().copied().filter(|count| *count > 1);
        // The first is usual in guests.
        let others = config
            .controllers
            .iter()
            .skip(usize::from(home == Home::Guest));
        let mut cases: Vec<_> = counts
            .iter()
            .map(|count| Self::Equal(*count, None))
            .collect();
        for name in others {
            cases.extend(several().map(|count| Self::Equal(count, Some(name.0.0))));
        }
        cases.extend(several().map(Self::Weighted));
        cases.extend(hostile.into_iter().map(Self::Beside));
        cases
    }

    pub(super) fn tenants(self) -> Vec<Tenant> {
        let polite = |weight| Tenant {
            weight,
            hostile: None,
        };
        match self {
            Self::Equal(count, _) => vec![polite(1); count],
            Self::Weighted(count) => (0..count).map(|index| polite(1 << index)).collect(),
            Self::Beside(how) => {
                let hostile = Some(how);
                vec![polite(1), Tenant { weight: 1, hostile }]
            }
        }
    }

    /// Who moderates interrupts; none where tenants are told whenever they ask. Front-ends
    /// are: what is held back until a tenant runs dry leaves its share to others, and
    /// hides what the worker does with shares.
    pub(super) fn controller(self, home: Home, config: &Config) -> Option<&'static str> {
        match (self, home) {
            (Self::Equal(_, Some(name)), _) => Some(name),
            (_, Home::FrontEnd) => None,
            (_, Home::Guest) => Some(config.controller()),
        }
    }

    /// Whether every tenant asks for all that it can get, so that shares mean something.
    pub(super) fn is_shared_out(self) -> bool {
        match self {
            Self::Equal(count, _) => count > 1,
            Self::Weighted(_) => true,
            Self::Beside(_) => false,
        }
    }
}

impl fmt::Display for Case {
    /// Without the controller.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal(1, _) => f.write_str("alone"),
            Self::Equal(count, _) => write!(f, "{count} equal"),
            Self::Weighted(_) => {
                let weights = self.tenants().into_iter().map(|own| own.weight.to_string());
                write!(f, "weights {}", weights.collect::<Vec<_>>().join(":"))
            }
            Self::Beside(how) => write!(f, "beside {}", Hostile(*how).said().1),
        }
    }
}
