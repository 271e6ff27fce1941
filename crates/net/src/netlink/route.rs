//! Routes, one or 100,000 at a time, and what the kernel would do with a
//! destination.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};

use super::address::{check_prefix, family};
use super::channel::Request;
use super::{Netlink, NetlinkError, decode, encode, until_whole};

/// The table that the kernel looks in for most destinations.
pub const MAIN_TABLE: u32 = RouteHeader::RT_TABLE_MAIN as u32;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RouteKind {
    #[default]
    Unicast,
    Local,
    Broadcast,
    Blackhole,
    Unreachable,
    Prohibit,
    Throw,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub destination: IpAddr,
    /// How many of its first bits they share; 0: the default route.
    pub prefix_length: u8,
    /// The next router; `None`: the destination is a neighbour.
    pub gateway: Option<IpAddr>,
    /// The number of the link; `None`: the gateway decides, or there is none.
    pub interface: Option<u32>,
    /// Of several routes to a destination, the lowest metric is taken; `None`: 0 for
    /// IPv4, 1024 for IPv6.
    pub metric: Option<u32>,
    /// The table it is in, e.g. 254 for `main`.
    pub table: u32,
    pub kind: RouteKind,
    /// The most bytes that a packet on it may have, where it has a limit of its own
    /// (ip-route(8), `mtu`).
    pub mtu: Option<u32>,
    /// The type of service that it is for (RFC 791, section 3.1); 0: any. Only read.
    pub type_of_service: u8,
    /// Whether it holds for some sources only, or for a time. Only read.
    pub is_conditional: bool,
    /// Number of next hops, of which each packet takes one; of several, neither gateway
    /// nor link is set. Only read.
    pub hops: usize,
}

impl Route {
    /// A route of the main table without gateway, link or metric.
    pub fn new(destination: IpAddr, prefix_length: u8, kind: RouteKind) -> Self {
        Self {
            destination,
            prefix_length,
            gateway: None,
            interface: None,
            metric: None,
            table: MAIN_TABLE,
            kind,
            mtu: None,
            type_of_service: 0,
            is_conditional: false,
            hops: 1,
        }
    }

    pub fn via(destination: IpAddr, prefix_length: u8, gateway: IpAddr, interface: u32) -> Self {
        Self {
            gateway: Some(gateway),
            interface: Some(interface),
            ..Self::new(destination, prefix_length, RouteKind::Unicast)
        }
    }

    fn message(&self) -> Result<RouteMessage, NetlinkError> {
        check_prefix(self.destination, self.prefix_length)?;
        let mut message = RouteMessage::default();
        message.header.address_family = family(self.destination);
        message.header.destination_prefix_length = self.prefix_length;
        message.header.table = u8::try_from(self.table).unwrap_or(RouteHeader::RT_TABLE_UNSPEC);
        message.header.protocol = RouteProtocol::Static;
        message.header.kind = self.kind.into();
        message.header.scope = match (self.gateway, self.kind) {
            (None, RouteKind::Unicast) => RouteScope::Link,
            (None, RouteKind::Local) => RouteScope::Host,
            _ => RouteScope::Universe,
        };
        let attributes = &mut message.attributes;
        if self.prefix_length > 0 {
            attributes.push(RouteAttribute::Destination(self.destination.into()));
        }
        if self.table > u32::from(u8::MAX) {
            attributes.push(RouteAttribute::Table(self.table));
        }
        attributes.extend(
            self.gateway
                .map(|gateway| RouteAttribute::Gateway(gateway.into())),
        );
        attributes.extend(self.interface.map(RouteAttribute::Oif));
        attributes.extend(self.metric.map(RouteAttribute::Priority));
        let metrics = self.mtu.map(|mtu| vec![RouteMetric::Mtu(mtu)]);
        attributes.extend(metrics.map(RouteAttribute::Metrics));
        Ok(message)
    }
}

impl Netlink {
    /// Adds a route.
    ///
    /// # Errors
    /// [`NetlinkError`], e.g. when there is one already, or no way to the
    /// gateway because the link is down.
    pub fn add_route(&mut self, route: &Route) -> Result<(), NetlinkError> {
        self.order(
            &format!("add the route to {}", Named(route)),
            &RouteNetlinkMessage::NewRoute(route.message()?),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Adds a route, in place of one to the same destination if there is one.
    pub fn replace_route(&mut self, route: &Route) -> Result<(), NetlinkError> {
        self.order(
            &format!("set the route to {}", Named(route)),
            &RouteNetlinkMessage::NewRoute(route.message()?),
            NLM_F_CREATE | netlink_packet_core::NLM_F_REPLACE,
        )
    }

    /// Removes a route.
    ///
    /// # Errors
    /// [`NetlinkError`]; [`NetlinkError::is_absent`] where there is none.
    pub fn remove_route(&mut self, route: &Route) -> Result<(), NetlinkError> {
        self.order(
            &format!("remove the route to {}", Named(route)),
            &RouteNetlinkMessage::DelRoute(route.message()?),
            0,
        )
    }

    /// Adds many routes: a million in some seconds. Returns how many.
    ///
    /// # Errors
    /// [`NetlinkError`] for the first that is refused; those before it, and a
    /// few hundred after it, are there.
    pub fn add_routes(
        &mut self,
        routes: impl IntoIterator<Item = Route>,
    ) -> Result<usize, NetlinkError> {
        // The first that is no route ends the list, and is the error then.
        let mut malformed = None;
        let flags = NLM_F_CREATE | NLM_F_EXCL;
        let requests = routes.into_iter().map_while(|route| match route.message() {
            Ok(message) => Some(encode(&RouteNetlinkMessage::NewRoute(message), flags)),
            Err(error) => {
                malformed = Some(error);
                None::<Request>
            }
        });
        let sent = self.route.batch("add many routes", requests)?;
        malformed.map_or(Ok(sent), Err)
    }

    /// All routes of one family in all tables: `0.0.0.0` or `::` says which.
    pub fn routes(&mut self, of: IpAddr) -> Result<Vec<Route>, NetlinkError> {
        until_whole(|| {
            let mut all = Vec::new();
            self.each_route(of, &mut |route| all.push(route))?;
            Ok(all)
        })
    }

    /// As [`routes`](Self::routes), one after the other: a full table would take some
    /// hundred MB at once.
    ///
    /// # Errors
    /// [`NetlinkError::Changed`]: some may be missing then ([`until_whole`]).
    pub fn each_route(
        &mut self,
        of: IpAddr,
        each: &mut dyn FnMut(Route),
    ) -> Result<(), NetlinkError> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(of);
        let request = encode(&RouteNetlinkMessage::GetRoute(message), NLM_F_DUMP);
        self.route
            .exchange("list the routes", &request, &mut |kind, payload| {
                route_of(&decode(kind, payload)?)
                    .into_iter()
                    .for_each(&mut *each);
                Ok(())
            })
    }

    /// The route that a packet to `destination` would take, or why there is
    /// none.
    ///
    /// # Errors
    /// [`NetlinkError::Refused`] where the kernel would drop it.
    pub fn route_to(&mut self, destination: IpAddr) -> Result<Route, NetlinkError> {
        let what = format!("find the route to {destination}");
        let mut message = RouteMessage::default();
        message.header.address_family = family(destination);
        message.header.destination_prefix_length = if destination.is_ipv4() { 32 } else { 128 };
        let attributes = &mut message.attributes;
        attributes.push(RouteAttribute::Destination(destination.into()));
        let answers = self.ask(&what, &RouteNetlinkMessage::GetRoute(message), 0)?;
        answers
            .iter()
            .find_map(route_of)
            .ok_or(NetlinkError::Malformed {
                what,
                reason: "no route is in it".to_owned(),
            })
    }
}

struct Named<'a>(&'a Route);

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(text, "{}/{}", self.0.destination, self.0.prefix_length)?;
        match self.0.gateway {
            Some(gateway) => write!(text, " via {gateway}"),
            None => Ok(()),
        }
    }
}

fn route_of(message: &RouteNetlinkMessage) -> Option<Route> {
    match message {
        RouteNetlinkMessage::NewRoute(route) => described(route),
        _ => None,
    }
}

/// `None` for what is neither IPv4 nor IPv6.
pub(crate) fn described(message: &RouteMessage) -> Option<Route> {
    let header = &message.header;
    let any = match header.address_family {
        netlink_packet_route::AddressFamily::Inet => IpAddr::from([0; 4]),
        netlink_packet_route::AddressFamily::Inet6 => IpAddr::from([0; 16]),
        _ => return None,
    };
    let mut route = Route {
        table: u32::from(header.table),
        type_of_service: header.tos,
        is_conditional: header.source_prefix_length > 0,
        ..Route::new(any, header.destination_prefix_length, header.kind.into())
    };
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => route.destination = ip(address)?,
            RouteAttribute::Gateway(address) => route.gateway = ip(address),
            RouteAttribute::Oif(index) => route.interface = Some(*index),
            RouteAttribute::Priority(metric) => route.metric = Some(*metric),
            RouteAttribute::Table(table) => route.table = *table,
            RouteAttribute::MultiPath(hops) => route.hops = hops.len(),
            RouteAttribute::Metrics(metrics) => {
                route.mtu = metrics.iter().find_map(|metric| match metric {
                    RouteMetric::Mtu(mtu) => Some(*mtu),
                    _ => None,
                });
            }
            RouteAttribute::CacheInfo(info) => route.is_conditional |= info.expires != 0,
            _ => {}
        }
    }
    Some(route)
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(v4) => Some(IpAddr::V4(*v4)),
        RouteAddress::Inet6(v6) => Some(IpAddr::V6(*v6)),
        _ => None,
    }
}

impl From<RouteKind> for RouteType {
    fn from(kind: RouteKind) -> Self {
        match kind {
            RouteKind::Unicast => Self::Unicast,
            RouteKind::Local => Self::Local,
            RouteKind::Broadcast => Self::Broadcast,
            RouteKind::Blackhole => Self::BlackHole,
            RouteKind::Unreachable => Self::Unreachable,
            RouteKind::Prohibit => Self::Prohibit,
            RouteKind::Throw => Self::Throw,
            RouteKind::Other => Self::Unspec,
        }
    }
}

impl From<RouteType> for RouteKind {
    fn from(kind: RouteType) -> Self {
        match kind {
            RouteType::Unicast => Self::Unicast,
            RouteType::Local => Self::Local,
            RouteType::Broadcast => Self::Broadcast,
            RouteType::BlackHole => Self::Blackhole,
            RouteType::Unreachable => Self::Unreachable,
            RouteType::Prohibit => Self::Prohibit,
            RouteType::Throw => Self::Throw,
            _ => Self::Other,
        }
    }
}
