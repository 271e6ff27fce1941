//! Cells and arms: what is measured, and in which ways.

use std::fmt;
use std::str::FromStr;

use crypto::Kind;
use policy::Policy;

use crate::place::Placement;

/// How a client keeps requests in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Submit one, wait for it.
    Sync,
    /// Submit as many as the depth, wait for all.
    Batch,
    /// Keep as many as the depth in flight.
    Async,
}

impl Mode {
    pub const ALL: [Self; 3] = [Self::Sync, Self::Batch, Self::Async];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Batch => "batch",
            Self::Async => "async",
        }
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.name() == name)
            .ok_or_else(|| format!("unknown mode '{name}'; known: sync, batch, async"))
    }
}

/// One place in the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    pub placement: Placement,
    pub kind: Kind,
    pub block_bytes: usize,
    pub depth: usize,
    pub lanes: usize,
    pub workers: usize,
    pub role: Role,
}

/// Why a cell is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// It is a place in the grid.
    Grid,
    /// To find the depth that is enough.
    Ladder,
    /// As many requests in flight as half of L2 holds: what notifications and
    /// rings cost when there is work enough.
    Deep,
}

impl Cell {
    /// The algorithm, and the operation where it is not the usual one.
    pub fn what(&self) -> String {
        crate::words::what(self.kind)
    }
}

/// One way to do a cell's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// Through a lane, closed loop.
    Lane(Mode, Policy),
    /// Through a lane, open loop: requests at a chosen rate, latency from the
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
    /// Waiting for whole batches.
    pub const BATCH: Self = Self::Lane(Mode::Batch, Policy::ARMED);
    /// Pipelined, asleep where that is worth a wake-up.
    pub const HYBRID: Self = Self::Lane(Mode::Async, Policy::HYBRID);
    /// Pipelined, never notified.
    pub const POLLED: Self = Self::Lane(Mode::Async, Policy::POLLED);
    /// Pipelined, a notification for every completion.
    pub const EACH: Self = Self::Lane(Mode::Async, Policy::EACH);

    /// The dimension `mode`.
    pub fn mode(self) -> &'static str {
        match self {
            Self::Lane(mode, _) => mode.name(),
            Self::Paced(_) => "open-loop",
            Self::Raw => "raw",
            Self::OpenSsl => "openssl-speed",
        }
    }

    /// The dimension `depth`: a client that waits for each request has one in
    /// flight, whatever the lane could hold.
    pub fn depth(self, cell: &Cell) -> usize {
        match self {
            Self::Lane(Mode::Sync, _) => 1,
            _ => cell.depth,
        }
    }

    /// What of `cell` tells this arm's points apart: two trials with the same
    /// would be one point measured twice.
    pub fn place_in(self, cell: &Cell) -> Cell {
        let role = Role::Grid;
        let depth = self.depth(cell);
        match self {
            Self::Lane(..) | Self::Paced(_) => Cell {
                depth,
                role,
                ..*cell
            },
            Self::Raw => Cell {
                lanes: 1,
                workers: 1,
                role,
                ..*cell
            },
            Self::OpenSsl => Cell {
                depth: 1,
                lanes: 1,
                workers: 1,
                role,
                ..*cell
            },
        }
    }

    /// The dimension `policy`.
    pub fn policy(self) -> Option<Policy> {
        match self {
            Self::Lane(_, policy) | Self::Paced(policy) => Some(policy),
            Self::Raw | Self::OpenSsl => None,
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.policy()) {
            (Self::Raw, _) => f.write_str("the back-end's own loop"),
            (Self::OpenSsl, _) => f.write_str("openssl speed"),
            (_, Some(policy)) => write!(f, "{}, {policy}", self.mode()),
            (_, None) => f.write_str(self.mode()),
        }
    }
}
