//! What ethtool(8) sets, over its generic netlink family
//! (`Documentation/networking/ethtool-netlink.rst`): offloads.

use std::collections::BTreeSet;

use super::attribute::{Attributes, attributes, find, text};
use super::generic::Family;
use super::link::check_name;
use super::{Netlink, NetlinkError};
use crate::setting::{OFF, ON};

/// Messages (`linux/ethtool_netlink_generated.h`).
const FEATURES_GET: u8 = 11;
const FEATURES_SET: u8 = 12;

const HEADER: u16 = 1;
const HEADER_NAME: u16 = 2;
const HEADER_FLAGS: u16 = 3;
const OMIT_REPLY: u32 = 2;

const FEATURES_WANTED: u16 = 3;
const FEATURES_ACTIVE: u16 = 4;
const BITSET_BITS: u16 = 3;
const BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

/// What the journal calls an offload, before its name.
pub(crate) const OFFLOAD: &str = "offload:";

fn header(link: &str, flags: u32) -> Attributes {
    let header = Attributes::default()
        .text(HEADER_NAME, link)
        .number(HEADER_FLAGS, flags);
    Attributes::default().nested(HEADER, &header)
}

impl Netlink {
    /// The offloads of a link that are on, by their names, e.g. `rx-gro`.
    ///
    /// # Errors
    /// [`NetlinkError`]; [`NetlinkError::Unsupported`] before kernel 5.6.
    pub fn offloads(&mut self, link: &str) -> Result<BTreeSet<String>, NetlinkError> {
        self.features(link, FEATURES_ACTIVE)
    }

    /// The offloads of a link that are requested and can be switched: the driver, or
    /// the kernel for lack of another, may have some of them off.
    pub(crate) fn wanted_offloads(&mut self, link: &str) -> Result<BTreeSet<String>, NetlinkError> {
        self.features(link, FEATURES_WANTED)
    }

    fn features(&mut self, link: &str, which: u16) -> Result<BTreeSet<String>, NetlinkError> {
        check_name(link)?;
        let what = format!("read the offloads of {link}");
        let answer = self
            .ethtool(&what)?
            .exchange(&what, FEATURES_GET, header(link, 0))?;
        let bits = find(&answer, which)
            .and_then(|set| find(set, BITSET_BITS))
            .unwrap_or_default();
        Ok(attributes(bits)
            .filter_map(|(_, bit)| find(bit, BIT_NAME).map(text))
            .collect())
    }

    /// Switches offloads on or off, by their names (`ethtool -k`): `rx-gro`, which
    /// also gives a veth NAPI without an XDP program; `tx-checksum-ip-generic`,
    /// `tx-tcp-segmentation`, `tx-tcp6-segmentation` and `tx-generic-segmentation`,
    /// off before a program sees TCP.
    ///
    /// # Errors
    /// [`NetlinkError`], also where the link ignores the request.
    pub fn set_offloads(
        &mut self,
        link: &str,
        wanted: &[(&str, bool)],
    ) -> Result<(), NetlinkError> {
        check_name(link)?;
        let what = format!("set the offloads of {link}");
        for &(name, on) in wanted {
            self.loans
                .note(link, &format!("{OFFLOAD}{name}"), if on { ON } else { OFF })?;
        }
        let bits = wanted
            .iter()
            .fold(Attributes::default(), |bits, &(name, on)| {
                let bit = Attributes::default()
                    .text(BIT_NAME, name)
                    .flag(BIT_VALUE, on);
                bits.nested(BIT, &bit)
            });
        let set = Attributes::default().nested(BITSET_BITS, &bits);
        let order = header(link, OMIT_REPLY).nested(FEATURES_WANTED, &set);
        self.ethtool(&what)?.exchange(&what, FEATURES_SET, order)?;
        let active = self.offloads(link)?;
        match wanted
            .iter()
            .find(|&&(name, on)| active.contains(name) != on)
        {
            None => Ok(()),
            Some((name, on)) => Err(NetlinkError::Refused {
                what,
                reason: format!(
                    "{name} stays {}: the driver has it fixed ('ethtool -k {link}' says which are)",
                    if *on { "off" } else { "on" }
                ),
                source: std::io::ErrorKind::Unsupported.into(),
            }),
        }
    }

    fn ethtool(&mut self, what: &str) -> Result<&mut Family, NetlinkError> {
        self.ethtool
            .as_mut()
            .ok_or_else(|| NetlinkError::Unsupported {
                what: what.to_owned(),
                lacking: "netlink for ethtool (CONFIG_ETHTOOL_NETLINK, since 5.6)",
            })
    }
}
