//! What a router's watcher knows of its neighbours, so that only what matters of their
//! many changes is told: a neighbour in use is confirmed every 30 seconds or so.

use std::collections::BTreeMap;
use std::net::IpAddr;

use net::netlink::Neighbour;

/// By the number of the interface.
pub type Place = (u32, IpAddr);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Known {
    link_address: Option<[u8; 6]>,
    is_valid: bool,
    is_stale: bool,
}

#[derive(Debug, Default)]
pub struct Neighbours(BTreeMap<Place, Known>);

/// What a change of a neighbour means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meaning {
    /// Whether the next frame to it is the kernel's; `None`: as before.
    pub is_stale: Option<bool>,
    /// Answers by it do not hold any more.
    pub is_another: bool,
    /// It came to be there, or no longer is.
    pub is_other_validity: bool,
}

impl Neighbours {
    pub fn of(all: &[Neighbour]) -> Self {
        let known = all.iter().map(|one| (place(one), Known::of(one)));
        Self(known.collect())
    }

    pub fn change(&mut self, neighbour: &Neighbour, is_removed: bool) -> Meaning {
        let now = match is_removed {
            true => Known::default(),
            false => Known::of(neighbour),
        };
        let before = match is_removed {
            true => self.0.remove(&place(neighbour)),
            false => self.0.insert(place(neighbour), now),
        };
        let before = before.unwrap_or_default();
        Meaning {
            // Also if it was: the program strikes out what it has used.
            is_stale: (now.is_stale || before.is_stale).then_some(now.is_stale),
            is_another: now.is_stale
                || before.is_valid && (!now.is_valid || now.link_address != before.link_address),
            is_other_validity: now.is_valid != before.is_valid,
        }
    }

    pub fn stale(&self) -> impl Iterator<Item = Place> {
        let stale = self.0.iter().filter(|(_, known)| known.is_stale);
        stale.map(|(place, _)| *place)
    }
}

fn place(neighbour: &Neighbour) -> Place {
    (neighbour.interface, neighbour.address)
}

impl Known {
    fn of(neighbour: &Neighbour) -> Self {
        Self {
            link_address: neighbour.link_address,
            is_valid: neighbour.valid,
            is_stale: neighbour.stale,
        }
    }
}
