//! Rules: which table is looked in for whom (ip-rule(8)).

use std::net::IpAddr;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};

use super::address::family;
use super::{Netlink, NetlinkError};

/// Priorities of the rules that every namespace begins with: the tables local,
/// main and default, for all packets.
const USUAL: [u32; 3] = [0, 32_766, 32_767];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Selector {
    All,
    Addresses,
    More,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub priority: u32,
    pub selector: Selector,
    /// Whether it looks in a table, and takes what it finds there.
    pub is_plain_lookup: bool,
}

impl Rule {
    /// Whether it is one of the three that every namespace begins with.
    pub fn is_usual(&self) -> bool {
        self.selector == Selector::All && self.is_plain_lookup && USUAL.contains(&self.priority)
    }
}

impl Netlink {
    /// The rules of one family: `0.0.0.0` or `::` says which.
    pub fn rules(&mut self, of: IpAddr) -> Result<Vec<Rule>, NetlinkError> {
        let mut message = RuleMessage::default();
        message.header.family = family(of);
        let answers = self.list("list the rules", &RouteNetlinkMessage::GetRule(message))?;
        let rules = answers.iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewRule(rule) => Some(described(rule)),
            _ => None,
        });
        Ok(rules.collect())
    }
}

fn described(message: &RuleMessage) -> Rule {
    let header = &message.header;
    let by_header = header.tos != 0 || header.src_len != 0 || header.dst_len != 0;
    let mut rule = Rule {
        priority: 0,
        selector: if by_header {
            Selector::Addresses
        } else {
            Selector::All
        },
        is_plain_lookup: header.action == RuleAction::ToTable,
    };
    for attribute in &message.attributes {
        let selector = match attribute {
            RuleAttribute::Priority(priority) => {
                rule.priority = *priority;
                Selector::All
            }
            // -1: it does not suppress any.
            RuleAttribute::SuppressPrefixLen(u32::MAX)
            | RuleAttribute::SuppressIfGroup(u32::MAX)
            | RuleAttribute::Table(_)
            | RuleAttribute::Protocol(_) => Selector::All,
            RuleAttribute::Destination(_)
            | RuleAttribute::Source(_)
            | RuleAttribute::Iifname(_) => Selector::Addresses,
            _ => Selector::More,
        };
        rule.selector = rule.selector.max(selector);
    }
    rule
}
