//! Which connection a datagram belongs to, and which side it goes to.

use std::collections::HashMap;
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::Serialize;
use wire::quic::ConnectionId;

/// Who sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    Client,
    Server,
}

impl Side {
    pub const ALL: [Self; 2] = [Self::Client, Self::Server];

    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// A connection, and the side that receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) connection: usize,
    pub(crate) to: Side,
}

/// Source and destination.
pub(crate) type Path = (SocketAddr, SocketAddr);

#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// Two endpoints may choose the same id: one for either side of a connection, or of
    /// two connections.
    ids: HashMap<ConnectionId, Vec<Route>>,
    /// Lengths of ids that are in use, a bit each.
    lengths: u32,
    paths: HashMap<Path, Route>,
}

/// Ids, and paths, of all connections.
const ENTRIES_MAX: usize = 1 << 20;

/// Connections that share an id: more than chance or greed for short ids explains.
const SHARED_MAX: usize = 64;

impl Routes {
    /// That side chose the id to be sent to. Whether it is new.
    pub(crate) fn add_id(&mut self, id: ConnectionId, route: Route) -> bool {
        if self.ids.len() >= ENTRIES_MAX && !self.ids.contains_key(&id) {
            return false;
        }
        let known = self.ids.entry(id).or_default();
        let is_new = !known.contains(&route) && known.len() < SHARED_MAX;
        if is_new {
            known.push(route);
            self.lengths |= 1 << id.length();
        }
        is_new
    }

    /// Whoever uses the path next, in either direction, is meant by it.
    pub(crate) fn add_path(&mut self, path: Path, route: Route) {
        if self.paths.len() >= ENTRIES_MAX && !self.paths.contains_key(&path) {
            return;
        }
        self.paths.insert(path, route);
        let back = Route {
            to: route.to.other(),
            ..route
        };
        self.paths.insert((path.1, path.0), back);
    }

    /// Who may be meant by the id of a packet with a long header.
    pub(crate) fn of_id(&self, id: &ConnectionId, path: Path) -> Vec<Route> {
        let mut routes = self.ids.get(id).cloned().unwrap_or_default();
        self.put_path_first(&mut routes, path);
        routes
    }

    /// Who may be meant by a packet with a short header, whose id ends nobody knows where,
    /// with the id's length: longer ids first, since they are less likely chance.
    pub(crate) fn of_short(&self, packet: &[u8], path: Path) -> Vec<(usize, Route)> {
        let lengths = (0..=20)
            .rev()
            .filter(|length| self.lengths >> length & 1 == 1);
        let mut all = Vec::new();
        for length in lengths {
            let id = packet
                .get(1..=length)
                .and_then(|id| ConnectionId::new(id).ok());
            let Some(mut routes) = id.and_then(|id| self.ids.get(&id).cloned()) else {
                continue;
            };
            if length == 0 {
                // Without an id only the path tells.
                let own = self.paths.get(&path);
                routes.retain(|route| Some(route) == own);
            } else {
                self.put_path_first(&mut routes, path);
            }
            all.extend(routes.into_iter().map(|route| (length, route)));
        }
        all
    }

    /// Who uses that path, whatever the id.
    pub(crate) fn of_path(&self, path: Path) -> Option<Route> {
        self.paths.get(&path).copied()
    }

    fn put_path_first(&self, routes: &mut [Route], path: Path) {
        if let Some(own) = self.paths.get(&path) {
            routes.sort_by_key(|route| route != own);
        }
    }
}
