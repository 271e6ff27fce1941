//! How routers stand: plain data, for people and programs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::router::Firewall;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortShown {
    pub name: String,
    pub kind: String,
    /// Where its other end is, in words; empty for a device.
    pub other: String,
    pub running: bool,
    pub mtu: u32,
    pub addresses: Vec<String>,
    pub received: u64,
    pub sent: u64,
    pub received_dropped: u64,
    pub sent_dropped: u64,
    /// Kernel threads that receive here, where the file asks for them.
    #[serde(default)]
    pub threads: Vec<i32>,
    /// Of the frames that came in here.
    pub xdp: Option<XdpShown>,
}

/// What the XDP program did since it stands on its ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct XdpShown {
    pub received: u64,
    pub forwarded: u64,
    pub dropped: u64,
    /// Answers that were kept, and those that were asked for.
    pub hits: u64,
    pub misses: u64,
    /// Frames that went to the kernel, by reason.
    pub to_kernel: BTreeMap<String, u64>,
    /// Why it leaves all frames to the kernel, if it does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failed: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeciderShown {
    /// E.g. `nftables: chain f of table ip t (forward)`.
    pub name: String,
    /// Which frames it decides about: `IPv4`, `IPv6`, both, `in by PORT` or `out by PORT`.
    pub about: String,
    /// Those frames are the kernel's, which asks it; `false`: they are forwarded unasked.
    pub is_obeyed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouterShown {
    pub name: String,
    pub namespace: String,
    pub path: String,
    #[serde(default)]
    pub firewall: Firewall,
    /// What else decides about frames that XDP would forward.
    #[serde(default)]
    pub deciders: Vec<DeciderShown>,
    pub ports: Vec<PortShown>,
    /// Routes in the main table of the kernel, IPv4 and IPv6.
    pub routes: [u64; 2],
    /// Of all ports.
    pub xdp: Option<XdpShown>,
    /// The control plane in words; empty without one.
    pub control: String,
}

#[cfg(feature = "bpf")]
impl DeciderShown {
    pub(super) fn of(
        decider: &net::Decider,
        firewall: Firewall,
        links: &[net::netlink::Link],
    ) -> Self {
        use net::deciders::About;

        let name_of = |index: u32| {
            let link = links.iter().find(|link| link.index == index);
            link.map_or_else(|| format!("link {index}"), |link| link.name.clone())
        };
        Self {
            name: decider.name.clone(),
            about: match decider.about {
                About::Ipv4 => "IPv4".to_owned(),
                About::Ipv6 => "IPv6".to_owned(),
                About::Incoming(index) => format!("in by {}", name_of(index)),
                About::Outgoing(index) => format!("out by {}", name_of(index)),
                About::Policies => "IPv4 and IPv6".to_owned(),
            },
            is_obeyed: firewall == Firewall::Obey || decider.about == About::Policies,
        }
    }
}

#[cfg(feature = "bpf")]
impl XdpShown {
    pub(super) fn of<E>(counted: Result<xdp::Counters, E>) -> Self
    where
        E: std::error::Error + 'static,
    {
        let counted = match counted {
            Ok(counted) => counted,
            Err(error) => {
                return Self {
                    failed: sys::failure::with_causes(&error),
                    ..Self::default()
                };
            }
        };
        let reasons = xdp::Reason::ALL.into_iter();
        let passed = reasons.map(|reason| (words(reason), counted.passed(reason)));
        Self {
            received: counted.received,
            forwarded: counted.forwarded,
            dropped: counted.dropped,
            hits: counted.hits,
            misses: counted.misses,
            to_kernel: passed.filter(|(_, count)| *count > 0).collect(),
            failed: String::new(),
        }
    }
}

/// `NoRoute` as people read it.
#[cfg(feature = "bpf")]
fn words(reason: xdp::Reason) -> String {
    let mut text = String::new();
    for letter in format!("{reason:?}").chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.extend(letter.to_lowercase());
    }
    text
}
