//! What is measured: places, arms, and in which order they are left out.

use std::collections::BTreeSet;

use crypto::{Kind, Workload};
use kit::load::once::OVERHEAD_S;
use kit::load::rig::Mode;
use kit::openssl;
use kit::place::Placement;
use kit::places::Places;
use kit::prelude::*;
use policy::Policy;

use super::{Config, CryptoSpeed};

pub(super) const SIZES_BYTES: [usize; 6] = [64, 256, 1024, 4096, 16_384, 65_536];
/// What says most of these: the others are left out first.
const FEW_BYTES: [usize; 3] = [64, 1024, 16_384];
/// What looking at it takes, seconds.
const WAKE_UP_S: f64 = 0.05;
/// Depth of batch and async where the user names none.
const DEPTH: usize = 16;
/// The ladder that finds how many requests in flight are enough.
const LADDER_DEPTHS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const LADDER_BLOCK_BYTES: usize = 1024;
/// Where the open loop is measured by default: a small and a large block.
const PACED_BLOCK_BYTES: [usize; 2] = [1024, 16_384];
/// Where lanes as deep as half of L2 are measured, and how deep at most.
const DEEP_BLOCK_BYTES: [usize; 2] = [4096, 16_384];
const DEEP_MAX: usize = 128;
/// At which of the default sizes `openssl speed` takes part, with the ranks.
const PEER_BLOCK_BYTES: [(usize, u8); 2] = [(16_384, 5), (1024, 6)];
/// Open-loop trials need the counts for their high percentiles.
const PACED_SLICES: f64 = 4.0;
const LINE: usize = 64;

pub(super) const RAW: &str = "the back-end's own loop";
pub(super) const OPENSSL: &str = "openssl speed";

/// Where something is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub placement: Placement,
    pub kind: Kind,
    /// Input bytes of a request.
    pub block_bytes: usize,
    pub depth: usize,
    pub lanes: usize,
    pub workers: usize,
    pub role: Role,
}

impl Place {
    /// With one lane and one worker.
    fn one(
        (placement, kind): (Placement, Kind),
        block_bytes: usize,
        depth: usize,
        role: Role,
    ) -> Self {
        Self {
            placement,
            kind,
            block_bytes,
            depth,
            lanes: 1,
            workers: 1,
            role,
        }
    }
}

/// Why a place is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Grid,
    /// To find the depth that is enough.
    Ladder,
    /// As many requests in flight as half of L2 holds: what notifications and
    /// rings cost when there is work enough.
    Deep,
}

/// One way to do the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// Through lanes, closed loop.
    Lane(Mode, Policy),
    /// Through lanes, open loop: requests at a chosen rate, latency from the
    /// time they were meant to be sent.
    Paced(Policy),
    /// The back-end's own loop in the worker's place.
    Raw,
    /// `openssl speed` in the worker's place.
    OpenSsl,
}

impl Arm {
    /// The way most clients should ask.
    pub const ASYNC: Self = Self::Lane(Mode::Async, Policy::ARMED);
    /// The naive way.
    pub const SYNC: Self = Self::Lane(Mode::Sync, Policy::ARMED);
    pub const HYBRID: Self = Self::Lane(Mode::Async, Policy::HYBRID);
    pub const POLLED: Self = Self::Lane(Mode::Async, Policy::POLLED);
    pub const EACH: Self = Self::Lane(Mode::Async, Policy::EACH);

    fn mode(self) -> &'static str {
        match self {
            Self::Lane(mode, _) => mode.name(),
            Self::Paced(_) => "open-loop",
            Self::Raw => "raw",
            Self::OpenSsl => "openssl-speed",
        }
    }

    fn policy(self) -> Option<Policy> {
        match self {
            Self::Lane(_, policy) | Self::Paced(policy) => Some(policy),
            Self::Raw | Self::OpenSsl => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Raw => RAW,
            Self::OpenSsl => OPENSSL,
            lane => lane.mode(),
        }
    }

    /// Whether each request is waited for, whatever the lane could hold.
    pub fn is_sync(self) -> bool {
        matches!(self, Self::Lane(Mode::Sync, _))
    }
}

/// Everything that could be measured, each point once: sync has one depth, a loop
/// without a lane one worker and no lanes.
pub(super) fn subjects(section: &CryptoSpeed, host: &Host) -> Vec<Subject<Place, Arm>> {
    let grid = Grid {
        section,
        config: &section.config,
        host,
        placements: placements(&section.config, host),
    };
    let places = [grid.broad(), grid.ladder(), grid.deep()].concat();
    let mut seen = BTreeSet::new();
    let mut subjects = Vec::new();
    for place in places {
        for arm in grid.arms(place) {
            let spot = grid.spot(place, arm);
            if seen.insert(format!("{:?}", spot.dimensions())) {
                subjects.push(grid.subject(place, arm, spot));
            }
        }
    }
    subjects
}

/// A core each comes first, unless the user names an order.
fn placements(config: &Config, host: &Host) -> Vec<Placement> {
    let places = Places::named(&config.placements, &host.cpus);
    let mut kept: Vec<_> = places.kept.iter().map(|(own, _)| *own).collect();
    if config.placements.0.is_none() {
        kept.sort_unstable();
    }
    kept
}

struct Grid<'a> {
    section: &'a CryptoSpeed,
    config: &'a Config,
    host: &'a Host,
    placements: Vec<Placement>,
}

impl Grid<'_> {
    fn broad(&self) -> Vec<Place> {
        let kinds = &self.section.kinds;
        let of = |&placement| kinds.iter().map(move |&kind| (placement, kind));
        let mut places = Vec::new();
        for own in self.placements.iter().flat_map(of) {
            for block_bytes in self.sizes(own.1) {
                for depth in self.depths(block_bytes) {
                    let place = Place::one(own, block_bytes, depth, Role::Grid);
                    for lanes in self.config.lanes.values() {
                        let workers = self.config.workers.values();
                        places.extend(workers.map(|workers| Place {
                            lanes,
                            workers,
                            ..place
                        }));
                    }
                }
            }
        }
        places
    }

    /// More depths for the first kind, unless the user chose depths.
    fn ladder(&self) -> Vec<Place> {
        let (kind, bytes) = (self.section.kinds[0], LADDER_BLOCK_BYTES);
        let is_measured = self.has_depths_of_its_own()
            && self.sizes(kind).contains(&bytes)
            && !kind.algorithm.is_public_key();
        let first = self.placements.first().filter(|_| is_measured);
        let rungs = first.into_iter().flat_map(|&placement| {
            LADDER_DEPTHS.map(|depth| Place::one((placement, kind), bytes, depth, Role::Ladder))
        });
        rungs.collect()
    }

    /// The deepest lanes that half of L2 holds, for the sizes at which one
    /// request is short against a wake-up, unless the user chose depths.
    fn deep(&self) -> Vec<Place> {
        let is_possible = self.placements.contains(&Placement::Split) && self.host.l2_bytes > 0;
        let is_default = self.has_depths_of_its_own() && self.config.policies.0.is_none();
        let kinds = self.section.kinds.iter();
        let kinds = kinds.filter(|_| is_default && is_possible);
        let deep = kinds.flat_map(|&kind| {
            let measured = self.sizes(kind);
            let sizes = DEEP_BLOCK_BYTES.into_iter();
            let sizes = sizes.filter(move |size| measured.contains(size));
            sizes.map(move |size| {
                let depth = self.host.requests_held(DEEP_MAX, size + LINE);
                Place::one((Placement::Split, kind), size, depth, Role::Deep)
            })
        });
        deep.collect()
    }

    fn has_depths_of_its_own(&self) -> bool {
        self.config.depths.0.is_none() && self.has_async()
    }

    /// An algorithm with public keys has a size of its own.
    fn sizes(&self, kind: Kind) -> Vec<usize> {
        if kind.algorithm.is_public_key() {
            return vec![Workload::input_bytes(kind, 0)];
        }
        self.config.sizes_bytes.values().collect()
    }

    fn are_sizes_usual(&self) -> bool {
        self.config.sizes_bytes == Config::default().sizes_bytes
    }

    fn depths(&self, block_bytes: usize) -> Vec<usize> {
        if let Some(depths) = &self.config.depths.0 {
            return depths.values().collect();
        }
        let l2_bytes = self.host.l2_bytes;
        let is_held = |depth: &usize| l2_bytes == 0 || 2 * (depth * block_bytes) as u64 <= l2_bytes;
        vec![[DEPTH, 8, 4, 2].into_iter().find(is_held).unwrap_or(1)]
    }

    fn has_async(&self) -> bool {
        self.config.modes.contains(&Name(Mode::Async))
    }

    fn arms(&self, place: Place) -> Vec<Arm> {
        match place.role {
            Role::Ladder => return vec![Arm::ASYNC],
            Role::Deep => return vec![Arm::ASYNC, Arm::HYBRID, Arm::POLLED, Arm::Raw],
            Role::Grid => {}
        }
        let modes = self.config.modes.values();
        let lanes = modes.flat_map(|mode| {
            let policies = self.policies(mode, place.placement).into_iter();
            policies.map(move |policy| Arm::Lane(mode, policy))
        });
        let mut arms: Vec<_> = lanes.collect();
        if self.is_paced(place) {
            // A generator that sends on time keeps its core busy: it may as well look.
            let named = self.config.policies.0.as_ref().map(|list| list[0].0);
            arms.push(Arm::Paced(named.unwrap_or(Policy::POLLED)));
        }
        // One core's loops, where one worker on a core of its own is measured.
        if place.placement == Placement::Split && place.workers == 1 {
            arms.push(Arm::Raw);
            arms.extend(self.peer_rank(place).map(|_| Arm::OpenSsl));
        }
        arms
    }

    fn policies(&self, mode: Mode, placement: Placement) -> Vec<Policy> {
        match (&self.config.policies.0, mode) {
            (Some(named), _) => named.values().collect(),
            (None, Mode::Sync | Mode::Batch) => vec![Policy::ARMED],
            // On a shared core polling only takes the worker's time away.
            (None, Mode::Async) if placement == Placement::Shared => {
                vec![Policy::ARMED, Policy::EACH]
            }
            (None, Mode::Async) => vec![Policy::ARMED, Policy::EACH, Policy::POLLED],
        }
    }

    fn is_paced(&self, place: Place) -> bool {
        let is_size = PACED_BLOCK_BYTES.contains(&place.block_bytes) || !self.are_sizes_usual();
        let is_usual = is_size && place.placement == Placement::Split;
        self.has_async() && (self.config.rate_per_s.0.is_some() || is_usual)
    }

    /// When the peer is left out there; none where it takes no part.
    fn peer_rank(&self, place: Place) -> Option<u8> {
        let is_there = self.config.peers && self.host.has(openssl::PROGRAM);
        if !is_there || !openssl::knows(place.kind) {
            return None;
        }
        let [(first, rank), (second, later)] = PEER_BLOCK_BYTES;
        match place.block_bytes {
            bytes if bytes == first => Some(rank),
            bytes if bytes == second => Some(later),
            _ => (!self.are_sizes_usual()).then_some(rank),
        }
    }

    fn subject(&self, place: Place, arm: Arm, spot: Spot) -> Subject<Place, Arm> {
        let (weight, overhead_s) = match arm {
            Arm::Paced(_) => (PACED_SLICES, 0.0),
            Arm::OpenSsl => (0.0, openssl::seconds(place.kind) - OVERHEAD_S),
            _ if is_woken(place, arm) => (1.0, WAKE_UP_S),
            _ => (1.0, 0.0),
        };
        let subject = Subject::new(place, arm, spot).ranked(self.rank(place, arm));
        subject.weighing(weight, overhead_s)
    }

    /// The first kind where it says most, its other sizes and deep lanes, the other
    /// kinds, the other placement, the ladder and the open loop, the peer.
    fn rank(&self, place: Place, arm: Arm) -> u8 {
        let is_few = !self.are_sizes_usual() || FEW_BYTES.contains(&place.block_bytes);
        let is_batch = matches!(arm, Arm::Lane(Mode::Batch, _));
        let is_first = place.kind == self.section.kinds[0];
        match (arm, place.role) {
            (Arm::OpenSsl, _) => self.peer_rank(place).unwrap_or_default(),
            (Arm::Paced(_), _) | (_, Role::Ladder) => 4,
            _ if Some(&place.placement) != self.placements.first() => 3,
            _ if !is_first => 2,
            (_, Role::Deep) => 1,
            _ => u8::from(is_batch || !is_few),
        }
    }

    fn spot(&self, place: Place, arm: Arm) -> Spot {
        let depth = place.depth as u64;
        let spot = Spot::new()
            .kind(place.kind)
            .block(place.block_bytes)
            .placement(place.placement);
        if arm == Arm::OpenSsl {
            return spot.with("mode", arm.mode(), arm.words());
        }
        // What is in flight follows from the block size, or from the mode.
        let named = self.config.depths.0.as_ref();
        let is_one = place.role == Role::Grid && named.is_none_or(|list| list.len() == 1);
        let spot = match (arm.is_sync(), is_one) {
            (true, _) => spot.following("depth", 1, ""),
            (_, true) => spot.following("depth", depth, ""),
            _ => spot.with("depth", depth, format!("depth {depth}")),
        };
        let spot = spot.also("backend", self.config.backend.name());
        let Some(policy) = arm.policy() else {
            return spot.with("mode", arm.mode(), arm.words());
        };
        let many = |count: usize, what: &str| match count {
            1 => String::new(),
            count => format!("{count} {what}"),
        };
        spot.with("lanes", place.lanes as u64, many(place.lanes, "lanes"))
            .with(
                "workers",
                place.workers as u64,
                many(place.workers, "workers"),
            )
            .with("mode", arm.mode(), arm.words())
            .named("policy", policy)
    }
}

/// Where a request is so small that what waiting for it takes are wake-ups.
pub(super) fn is_woken(place: Place, arm: Arm) -> bool {
    let is_small = place.block_bytes <= 64 && !place.kind.algorithm.is_public_key();
    arm == Arm::SYNC && place.placement == Placement::Split && is_small
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(text: &str, cpus: usize) -> Vec<Subject<Place, Arm>> {
        let section = kit::testing::section(text).unwrap();
        let host = Host {
            l2_bytes: 1 << 20,
            ..Host::with_cpus((0..cpus).collect::<Vec<_>>())
        };
        subjects(&section, &host)
    }

    #[test]
    fn the_default_depth_keeps_within_half_of_l2() {
        let all = measured("", 2);
        let grid = all.iter().filter(|one| one.place.role == Role::Grid);
        let places: Vec<_> = grid.map(|one| one.place).collect();
        let is_held = |one: &Place| one.depth * one.block_bytes <= 512 << 10;
        assert!(places.iter().all(is_held));
        let is_large = |one: &Place| one.block_bytes == 65_536 && one.depth == 8;
        assert!(places.iter().any(is_large));
    }

    #[test]
    fn no_two_points_have_equal_dimensions_and_no_two_the_same_words() {
        let many = "modes = ['sync', 'batch', 'async']\npolicies = ['armed', 'each', 'polled', 'armed']\ndepths = [8, 1, 32, 8]\nlanes = [1, 2]\nworkers = [1, 2]\nsizes_bytes = [1024, 1024]\nalgorithms = ['rsa-2048', 'aes-128-gcm']";
        for text in ["", "depths = [4, 16]", "lanes = [1, 3]", many] {
            for cpus in [1, 2, 4] {
                let all = measured(text, cpus);
                let points: BTreeSet<_> = all
                    .iter()
                    .map(|one| format!("{:?}", one.spot.dimensions()))
                    .collect();
                let words: BTreeSet<_> = all.iter().map(|one| one.spot.words()).collect();
                assert_eq!(
                    (points.len(), words.len()),
                    (all.len(), all.len()),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn a_loop_without_a_lane_stands_in_the_first_of_its_places() {
        let text = "sizes_bytes = [1024]\nalgorithms = ['aes-128-gcm']\ndepths = [8, 16]\nplacements = ['split']";
        let all = measured(text, 4);
        let depths = |arm: Arm| {
            let own = all.iter().filter(|one| one.arm == arm);
            own.map(|one| one.place.depth).collect::<Vec<_>>()
        };
        assert_eq!(depths(Arm::SYNC), [8]);
        assert_eq!(depths(Arm::OpenSsl), [8]);
        assert_eq!(depths(Arm::Raw), [8, 16]);
    }
}
