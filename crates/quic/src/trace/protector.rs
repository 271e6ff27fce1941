//! What opens the packets of one side at one level.

use crypto::Backend;
use wire::quic::FirstByte;

use crate::protection::{HeaderKey, OpenError, Opened, PacketKey, TAG_BYTES, Unmasked};
use crate::{Protocol, Secret, Suite};

/// A copy of one packet, and where its number begins.
pub(crate) struct Sealed<'p> {
    pub(crate) bytes: &'p [u8],
    pub(crate) number_at: usize,
}

/// What the header of an opened packet says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) first: FirstByte,
    pub(crate) number: u64,
}

/// The keys of one side at one level. Those of 1-RTT packets change by phases (RFC 9001
/// §6).
pub(crate) struct Protector<'b> {
    backend: &'b dyn Backend,
    protocol: Protocol,
    suite: Suite,
    header: HeaderKey,
    /// Of the phase after `now`.
    next_secret: Secret,
    before: Option<PacketKey<'b>>,
    now: PacketKey<'b>,
    next: PacketKey<'b>,
    phase: u64,
}

impl<'b> Protector<'b> {
    /// # Errors
    /// `None` where the back-end lacks the suite, or the secret is none of it.
    pub(crate) fn new(
        backend: &'b dyn Backend,
        protocol: Protocol,
        suite: Suite,
        secret: &Secret,
    ) -> Option<Self> {
        if secret.as_bytes().len() != suite.secret_bytes() {
            return None;
        }
        let key = |secret: &Secret| PacketKey::derive(backend, protocol, suite, secret).ok();
        let next_secret = protocol.next_secret(suite, secret);
        Some(Self {
            backend,
            protocol,
            suite,
            header: HeaderKey::derive(protocol, suite, secret),
            before: None,
            now: key(secret)?,
            next: key(&next_secret)?,
            next_secret,
            phase: 0,
        })
    }

    pub(crate) fn suite(&self) -> Suite {
        self.suite
    }

    /// Key updates that this side has made.
    pub(crate) fn phase(&self) -> u64 {
        self.phase
    }

    /// Opens a packet into `buffer`, which then has its payload alone.
    pub(crate) fn open(
        &mut self,
        sealed: &Sealed<'_>,
        largest: Option<u64>,
        buffer: &mut Vec<u8>,
    ) -> Result<Shown, OpenError> {
        buffer.clear();
        buffer.extend_from_slice(sealed.bytes);
        let packet = Unmasked::new(&self.header, buffer, sealed.number_at, largest)?;
        let opened = self.open_in_phase(packet)?;
        let shown = Shown {
            first: opened.first,
            number: opened.number,
        };
        let header_bytes = sealed.bytes.len() - opened.payload.len() - TAG_BYTES;
        buffer.truncate(sealed.bytes.len() - TAG_BYTES);
        buffer.drain(..header_bytes);
        Ok(shown)
    }

    fn open_in_phase<'p>(&mut self, packet: Unmasked<'p>) -> Result<Opened<'p>, OpenError> {
        let first = packet.first();
        let is_odd = self.phase & 1 == 1;
        let is_other = !first.is_long() && first.is_key_phase_set() != is_odd;
        if !is_other {
            return packet.open(&self.now).map_err(|(_, error)| error);
        }
        let (packet, error) = match packet.open(&self.next) {
            Ok(opened) => {
                self.advance();
                return Ok(opened);
            }
            // The tag matches: no other key opens it.
            Err((_, error @ OpenError::ReservedBits)) => return Err(error),
            Err(failed) => failed,
        };
        let before = self.before.as_ref().ok_or(error)?;
        packet.open(before).map_err(|(_, error)| error)
    }

    fn advance(&mut self) {
        let next_secret = self.protocol.next_secret(self.suite, &self.next_secret);
        let after = PacketKey::derive(self.backend, self.protocol, self.suite, &next_secret);
        let after = after.expect("the phases before had keys");
        let now = std::mem::replace(&mut self.next, after);
        self.before = Some(std::mem::replace(&mut self.now, now));
        self.next_secret = next_secret;
        self.phase += 1;
    }
}
