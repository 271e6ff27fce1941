//! What the tester offers in one trial.

use std::time::Duration;

use super::error::BenchError;
use super::setup::{PortKind, Setup};
use crate::tester::line::{self, IMIX, Shape};
use crate::tester::stream::{FrameSize, Link, Stream};
use crate::topology::plan::{self, Side};
use crate::topology::{Family, Routes, Spec};

/// Longest trial: an hour. RFC 2544, section 24, asks for 60 s.
pub const DURATION_MAX: Duration = Duration::from_secs(3600);

/// The smallest limit of frames under way: two batches of the kernel's loop, so that
/// some arrive while others are made.
pub const IN_FLIGHT_MIN: u32 = 128;

/// The longest IP packet that is sent (RFC 894).
const PACKET_BYTES_MAX: u32 = 1500;

/// What Ethernet adds: addresses and type 14, frame check sequence 4.
pub(crate) const ETHERNET_BYTES: u32 = 18;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Directions {
    #[default]
    OneWay,
    /// Both at the same time, each at the offer's rate (RFC 2544, section 14).
    TwoWay,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offer {
    pub size: FrameSize,
    /// Frames a second in each direction; `None`: as many as the port can.
    pub rate_pps: Option<f64>,
    pub duration: Duration,
    pub directions: Directions,
    pub family: Family,
    /// Different destinations: a power of two up to 65,536.
    pub destinations: u32,
    /// Different sources, hosts on the link: a power of two up to 32,768, with IPv6 one;
    /// each sends to each destination.
    pub sources: u32,
    /// Routes of the table that become others meanwhile, each second.
    pub changes_per_s: u32,
    /// Maximum number of frames each way: a burst (RFC 2544, section 26.4).
    pub frames_max: Option<u64>,
    /// Maximum number of frames under way each way: sent, with no newer frame
    /// counted. Frames of which nothing was heard for 2 ms count as lost. Where
    /// queues hold that many, none is lost for want of room and no CPU time is spent
    /// on such frames: without a rate, the result is the most that a router carries.
    /// For live frames only; `None`: no limit.
    pub in_flight_max: Option<u32>,
}

impl Default for Offer {
    /// Half a second of 64-byte IPv4 frames to one destination, one way, as
    /// fast as the port can.
    fn default() -> Self {
        Self {
            size: FrameSize::Fixed(64),
            rate_pps: None,
            duration: Duration::from_millis(500),
            directions: Directions::OneWay,
            family: Family::V4,
            destinations: 1,
            sources: 1,
            changes_per_s: 0,
            frames_max: None,
            in_flight_max: None,
        }
    }
}

impl Offer {
    /// Checks the offer against the bench.
    ///
    /// # Errors
    /// [`BenchError::Offer`] and [`BenchError::Spec`] name the value and the
    /// limit.
    pub fn check(&self, setup: &Setup) -> Result<(), BenchError> {
        if self.duration.is_zero() || self.duration > DURATION_MAX {
            return Err(BenchError::Offer(format!(
                "a trial of {:?}: more than none and at most {DURATION_MAX:?} is possible",
                self.duration
            )));
        }
        if let Some(rate) = self.rate_pps
            && !(rate.is_finite() && rate > 0.0)
        {
            return Err(BenchError::Offer(format!(
                "{rate} frames/s: a positive rate is needed, or none for the most possible"
            )));
        }
        if let Some(most) = self.in_flight_max
            && (most < IN_FLIGHT_MIN || setup.ports != PortKind::LiveFrame)
        {
            return Err(BenchError::Offer(format!(
                "at most {most} frames under way by {} ports: {IN_FLIGHT_MIN} or more, by {} ports, are possible",
                setup.ports.name(),
                PortKind::LiveFrame.name(),
            )));
        }
        self.check_size(setup)?;
        let ends = (self.sources, self.destinations);
        plan::addresses(&setup.topology, Side::Zero, self.family, ends)?;
        if self.changes_per_s > 0 && setup.topology.routes == Routes::Networks {
            return Err(BenchError::Offer(format!(
                "{} changes of routes a second without a table of routes: none is possible",
                self.changes_per_s
            )));
        }
        Ok(())
    }

    /// What the port on side `from` sends.
    pub(super) fn stream(
        &self,
        spec: &Spec,
        from: Side,
        link: Link,
        trial: u8,
    ) -> Result<Stream, BenchError> {
        Ok(Stream {
            trial,
            id: u8::from(from == Side::One),
            link,
            addresses: plan::addresses(spec, from, self.family, (self.sources, self.destinations))?,
            size: self.size,
            rate_pps: self.rate_pps,
            duration: self.duration,
            frames_max: self.frames_max,
            in_flight_max: self.in_flight_max,
        })
    }

    pub fn shape(&self, setup: &Setup) -> Shape {
        Shape {
            size: self.size,
            family: self.family,
            tagged: setup.topology.vlan.is_some(),
        }
    }

    fn check_size(&self, setup: &Setup) -> Result<(), BenchError> {
        let (least, mtu) = (line::bytes_min(self.family), setup.topology.mtu);
        let most = mtu.min(PACKET_BYTES_MAX) + ETHERNET_BYTES;
        let [shortest, longest] = match self.size {
            FrameSize::Fixed(bytes) => [bytes; 2],
            // Its shortest grows as far as it must.
            FrameSize::Imix => [
                least,
                IMIX.iter().fold(0, |most, (_, bytes)| most.max(*bytes)),
            ],
        };
        if shortest >= least && longest <= most {
            return Ok(());
        }
        Err(BenchError::Offer(format!(
            "frames of {longest} bytes ({}): {least} to {most} are possible with this protocol and an MTU of {mtu} bytes; choose another size, or an MTU of {PACKET_BYTES_MAX}",
            self.size
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Cpus;

    #[test]
    fn what_cannot_be_offered_is_refused_with_its_value() {
        let setup = Setup::new(Cpus::among(&[0, 1]));
        assert!(Offer::default().check(&setup).is_ok());
        type Change = fn(&mut Offer);
        let cases: [(&str, Change); 8] = [
            ("NaN", |offer| offer.rate_pps = Some(f64::NAN)),
            ("-1", |offer| offer.rate_pps = Some(-1.0)),
            ("0ns", |offer| offer.duration = Duration::ZERO),
            ("127", |offer| offer.in_flight_max = Some(127)),
            ("63", |offer| offer.size = FrameSize::Fixed(63)),
            ("1519", |offer| offer.size = FrameSize::Fixed(1519)),
            ("84", |offer| offer.family = Family::V6),
            ("7 changes", |offer| offer.changes_per_s = 7),
        ];
        for (value, change) in cases {
            let mut offer = Offer::default();
            change(&mut offer);
            let error = offer.check(&setup).unwrap_err().to_string();
            assert!(error.contains(value), "{error}");
        }
    }

    #[test]
    fn imix_needs_the_mtu_of_its_longest_frame() {
        let mut setup = Setup::new(Cpus::among(&[0, 1]));
        for family in [Family::V4, Family::V6] {
            let imix = Offer {
                size: FrameSize::Imix,
                family,
                ..Offer::default()
            };
            setup.topology.mtu = 1500;
            assert!(imix.check(&setup).is_ok());
            setup.topology.mtu = 1499;
            let error = imix.check(&setup).unwrap_err().to_string();
            for part in ["1518", "imix", "1499"] {
                assert!(error.contains(part), "{error}");
            }
        }
    }
}
