//! The ports of a router: `bpf/ports.h`.

use sys::failure::Failure;

use crate::object::{Map, Object};

/// The most ports of a router, VLANs among them.
pub const PORTS_MAX: usize = 64;
/// Interfaces are looked up by the low bits of their number, modulo this.
const INTERFACES: usize = 4096;
const NO_PORT: u8 = 0xff;
const PORT_BYTES: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterPort {
    pub ifindex: u32,
    pub address: [u8; 6],
    /// If it is a VLAN: the interface that carries it, and its tag (1 to 4094).
    pub vlan: Option<(u32, u16)>,
    /// A frame must come from where its source would be sent to, as with the kernel's
    /// `rp_filter` 1 (RFC 3704, section 2.2).
    pub strict_source: bool,
    /// Frames of IPv6 that come in here are the kernel's, e.g. since it drops them
    /// (`disable_ipv6`).
    pub no_ipv6: bool,
    /// Whose decisions about its frames are obeyed.
    pub decided: Decided,
}

/// What else on this host decides about the frames of a port: those are the kernel's,
/// which asks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// About IPv4 that comes in here: netfilter's hooks between the ports.
    pub ipv4: bool,
    pub ipv6: bool,
    /// About all that comes in here, e.g. a filter of tc.
    pub incoming: bool,
    /// About all that leaves here, e.g. a queueing discipline that shapes.
    pub outgoing: bool,
}

impl RouterPort {
    fn carrier(&self) -> u32 {
        self.vlan.map_or(self.ifindex, |(carrier, _)| carrier)
    }
}

/// What a router leaves out; all `false` for the kernel's behaviour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterOptions {
    /// Every frame goes to the kernel: where it decides by more than a frame's
    /// addresses and type of service, e.g. by rules with ports.
    pub all_to_kernel: bool,
    /// Sources are not checked, which saves a look-up and differs from the kernel.
    pub any_source: bool,
    /// The cache is not asked: where there are rules.
    pub no_cache: bool,
    /// Every frame goes to the kernel, which has IPsec policies.
    pub policies: bool,
}

fn not_that_many(ports: usize) -> Failure {
    Failure::new(format!(
        "a router has 1 to {PORTS_MAX} ports, VLANs among them: not {ports}"
    ))
}

pub(super) struct Ports {
    ports: Map,
    devices: Map,
    vlans: Map,
    carriers: Vec<u32>,
}

impl Ports {
    /// Describes its ports to the program; the calling thread must be in their
    /// network namespace.
    pub fn new(
        object: &Object,
        ports: &[RouterPort],
        options: RouterOptions,
    ) -> Result<Self, Failure> {
        if ports.is_empty() {
            return Err(not_that_many(0));
        }
        let mut carriers: Vec<_> = ports.iter().map(RouterPort::carrier).collect();
        carriers.sort_unstable();
        carriers.dedup();
        let this = Self {
            ports: object.map(".data.ports")?,
            devices: object.map("devices")?,
            vlans: object.map("vlans")?,
            carriers,
        };
        for (place, carrier) in (0..).zip(&this.carriers) {
            this.devices.write(place, &carrier.to_ne_bytes())?;
        }
        this.write(ports, options)?;
        Ok(this)
    }

    pub fn carriers(&self) -> &[u32] {
        &self.carriers
    }

    /// The place of a carrier in the program's `devices`.
    pub fn device(&self, carrier: u32) -> Option<u32> {
        let place = self.carriers.binary_search(&carrier).ok()?;
        u32::try_from(place).ok()
    }

    /// Writes the ports anew, if any are left. The carriers must stay.
    pub fn write(&self, ports: &[RouterPort], options: RouterOptions) -> Result<(), Failure> {
        let value = self.encode(ports, options)?;
        for (place, port) in (0_u32..).zip(ports) {
            if let Some((carrier, tag)) = port.vlan {
                let key = [carrier.to_ne_bytes(), u32::from(tag.to_be()).to_ne_bytes()];
                self.vlans.write_key(&key.concat(), &place.to_ne_bytes())?;
            }
        }
        self.ports.write(0, &value)
    }

    /// `struct ports`.
    fn encode(&self, ports: &[RouterPort], options: RouterOptions) -> Result<Vec<u8>, Failure> {
        if ports.len() > PORTS_MAX {
            return Err(not_that_many(ports.len()));
        }
        let mut out = Vec::with_capacity(PORTS_MAX * PORT_BYTES + INTERFACES + 8);
        let mut places = vec![NO_PORT; INTERFACES];
        for (place, port) in (0_u8..).zip(ports) {
            let low = port.ifindex as usize % INTERFACES;
            if let Some(other) = ports.get(usize::from(places[low])) {
                return Err(Failure::new(format!(
                    "interfaces {} and {} have the same number modulo {INTERFACES}; make one of them anew",
                    other.ifindex, port.ifindex
                )));
            }
            places[low] = place;
            out.extend(self.encode_port(port)?);
        }
        out.resize(PORTS_MAX * PORT_BYTES, 0);
        out.extend(places);
        let flags = [
            options.all_to_kernel,
            options.any_source,
            options.no_cache,
            options.policies,
        ];
        out.extend(bits(&flags).to_ne_bytes());
        out.extend([0; 4]);
        Ok(out)
    }

    fn encode_port(&self, port: &RouterPort) -> Result<Vec<u8>, Failure> {
        let carrier = port.carrier();
        let tag = port.vlan.map_or(0, |(_, tag)| tag);
        if tag > 4094 || (tag == 0 && port.vlan.is_some()) {
            return Err(Failure::new(format!(
                "{tag} is not a valid VLAN of a port: 1 to 4094 are"
            )));
        }
        // A carrier that is not among those loaded is no device: the frame is
        // left to the kernel.
        let device = self.device(carrier);
        let mut out = Vec::with_capacity(PORT_BYTES);
        out.extend(port.ifindex.to_ne_bytes());
        out.extend(carrier.to_ne_bytes());
        out.extend(port.address);
        out.extend(tag.to_be_bytes());
        out.extend(device.unwrap_or(u32::MAX).to_ne_bytes());
        let decided = port.decided;
        let flags = [
            port.strict_source,
            port.no_ipv6,
            decided.ipv4,
            decided.ipv6,
            decided.incoming,
            decided.outgoing,
        ];
        out.extend(bits(&flags).to_ne_bytes());
        Ok(out)
    }
}

/// The first is the lowest.
fn bits(flags: &[bool]) -> u32 {
    let lowest_last = flags.iter().rev();
    lowest_last.fold(0, |bits, flag| bits << 1 | u32::from(*flag))
}
