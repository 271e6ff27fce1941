//! What to send, as user space says it and as the program reads it.

use std::time::Duration;

use sys::failure::Failure;
use wire::Spread;

use super::template::Template;

/// Sizes of a stream. `SIZES_MAX` in `bpf/generator.bpf.c`.
pub const SIZES_MAX: usize = 4;
/// Frames after which the order of sizes repeats. `ORDER_MAX` there.
pub const ORDER_MAX: usize = 16;
/// Binary digits after the point of a time in ns. `TIME_SHIFT` there.
const TIME_SHIFT: u32 = 20;
/// Bytes of a page that the program skips. `LEAD_BYTES` there.
const LEAD_BYTES: usize = 16;
/// So that a time fits in 64 bits.
const DURATION_MAX: Duration = Duration::from_secs(3600);
/// The slowest stream: the longest interval of two frames, ns.
const INTERVAL_NS_MAX: f64 = 3.6e12;
/// Frames that leave the kernel's loop together when the rate is paced: a due
/// frame waits for the rest of its batch.
const BATCH_PACED: u32 = 16;
const BATCH: u32 = 64;

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// A frame of each size, without its frame check sequence: UDP over IP,
    /// addressed to the first destination. Its last 18 bytes become the stamp.
    pub frames: Vec<Vec<u8>>,
    pub order: Vec<u8>,
    /// Different destinations, a power of two: frame `k` goes to
    /// `first + turn * stride`, its UDP source port is the first frame's plus
    /// `turn` (modulo 65,536), where [`wire::Spread`] says whose turn it is.
    pub destinations: u32,
    pub stride: u32,
    /// Different sources, a power of two; of IPv6 one. They follow the first frame's:
    /// [`Spread::source_turn`] says whose turn it is.
    pub sources: u32,
    pub trial: u8,
    pub stream: u8,
    /// Frames a second, evenly spaced; `None`: as many as it can.
    pub rate_pps: Option<f64>,
    pub duration: Duration,
    pub frames_max: Option<u64>,
    /// Maximum number of frames under way, where the generator follows a sink
    /// ([`Generator::follow`](super::Generator::follow)): sent, with no newer frame
    /// counted. After 2 ms without news they count as lost. `None` or 0: no limit.
    pub in_flight_max: Option<u32>,
}

pub(super) struct Image {
    /// `struct plan`.
    pub plan: Vec<u8>,
    pub page: Vec<u8>,
    pub batch: u32,
    /// Between two frames, ns; 0: as fast as possible.
    pub interval_ns: f64,
    lengths: Vec<usize>,
    is_v6: bool,
}

impl Image {
    /// Whether frames of both can pass through the same pages: whatever one
    /// leaves there, the other writes over.
    pub fn is_like(&self, other: &Self) -> bool {
        self.lengths == other.lengths && self.is_v6 == other.is_v6
    }
}

impl Plan {
    pub(super) fn image(&self) -> Result<Image, Failure> {
        let (templates, order) = self.sorted()?;
        let interval_ns = self.interval_ns()?;
        if self.duration > DURATION_MAX {
            return Err(Failure::new(format!(
                "a trial takes at most an hour, not {:?}",
                self.duration
            )));
        }
        let spread = self.spread()?;
        self.check_sources(templates.iter().any(|template| template.is_v6))?;
        Ok(Image {
            plan: self.encode(&templates, &order, (interval_ns, spread)),
            page: page(&templates),
            batch: if interval_ns > 0.0 {
                BATCH_PACED
            } else {
                BATCH
            },
            interval_ns,
            lengths: templates
                .iter()
                .map(|template| template.frame.len())
                .collect(),
            is_v6: templates.last().is_some_and(|template| template.is_v6),
        })
    }

    fn spread(&self) -> Result<Spread, Failure> {
        Spread::over(self.destinations)
            .filter(|_| self.destinations <= 65_536)
            .ok_or_else(|| {
                Failure::new(format!(
                    "a stream goes to 1 to 65536 destinations, a power of two: not to {}",
                    self.destinations
                ))
            })
    }

    fn check_sources(&self, is_v6: bool) -> Result<(), Failure> {
        let most = if is_v6 { 1 } else { 65_536 };
        if self.sources.is_power_of_two() && self.sources <= most {
            return Ok(());
        }
        Err(Failure::new(format!(
            "a stream comes from 1 to 65536 sources, a power of two, of IPv6 from one: not from {}",
            self.sources
        )))
    }

    fn interval_ns(&self) -> Result<f64, Failure> {
        let Some(rate) = self.rate_pps else {
            return Ok(0.0);
        };
        let interval = 1e9 / rate;
        // Also refuses what is no number. Above a frame a ns nothing differs.
        if rate > 0.0 && interval <= INTERVAL_NS_MAX {
            Ok(interval.max(1.0))
        } else {
            Err(Failure::new(format!(
                "a rate must be positive, at least a frame an hour, not {rate} frames/s"
            )))
        }
    }

    /// The frames by rising size, and the order in their new numbers.
    fn sorted(&self) -> Result<(Vec<Template>, Vec<u8>), Failure> {
        let sizes = self.frames.len();
        if !(1..=SIZES_MAX).contains(&sizes) {
            return Err(Failure::new(format!(
                "a stream has 1 to {SIZES_MAX} sizes, not {sizes}"
            )));
        }
        let is_known = |index: &u8| usize::from(*index) < sizes;
        if !(1..=ORDER_MAX).contains(&self.order.len()) || !self.order.iter().all(is_known) {
            return Err(Failure::new(format!(
                "the order of sizes has 1 to {ORDER_MAX} entries, each below {sizes}: not {:?}",
                self.order
            )));
        }
        let mut templates = Vec::new();
        for (index, frame) in (0_u8..).zip(&self.frames) {
            templates.push((index, Template::parse(frame)?));
        }
        templates.sort_by_key(|(_, template)| template.frame.len());
        let first = &templates[0].1;
        if !templates
            .iter()
            .all(|(_, template)| template.matches(first))
        {
            return Err(Failure::new(
                "the frames of a stream must have the same headers, their lengths and checksums aside",
            ));
        }
        let place = |old: u8| templates.iter().position(|(index, _)| *index == old);
        let order = self
            .order
            .iter()
            .filter_map(|old| u8::try_from(place(*old)?).ok())
            .collect();
        Ok((templates.into_iter().map(|(_, t)| t).collect(), order))
    }

    /// `struct plan` of `bpf/generator.bpf.c`, field by field.
    fn encode(
        &self,
        templates: &[Template],
        order: &[u8],
        (interval_ns, spread): (f64, Spread),
    ) -> Vec<u8> {
        let first = &templates[0];
        let mut out = Vec::with_capacity(400);
        for index in 0..SIZES_MAX {
            let template = templates.get(index).unwrap_or(first);
            out.extend(template.head());
            out.extend(count(template.frame.len()).to_ne_bytes());
            out.extend(template.ip_sum().to_ne_bytes());
            out.extend(template.udp_sum().to_ne_bytes());
        }
        let mut turns = [0; ORDER_MAX];
        turns[..order.len()].copy_from_slice(order);
        out.extend(turns);
        out.extend(count(order.len()).to_ne_bytes());
        out.extend(count(templates.len()).to_ne_bytes());
        out.extend(first.destination.to_ne_bytes());
        out.extend((self.destinations - 1).to_ne_bytes());
        out.extend(self.stride.to_ne_bytes());
        out.extend(first.source.to_ne_bytes());
        out.extend((self.sources - 1).to_ne_bytes());
        out.extend(count(first.ip_offset).to_ne_bytes());
        out.extend(first.source_port.to_ne_bytes());
        out.extend([u8::from(first.is_v6), u8::from(first.has_udp_sum)]);
        out.extend([b'L', b'G', self.trial, self.stream]);
        out.extend(spread.shift().to_ne_bytes());
        let interval = interval_ns * f64::from(1_u32 << TIME_SHIFT);
        out.extend((interval.round() as u64).to_ne_bytes());
        let duration = u64::try_from(self.duration.as_nanos()).unwrap_or(u64::MAX);
        out.extend(duration.to_ne_bytes());
        out.extend(self.frames_max.unwrap_or(u64::MAX).to_ne_bytes());
        out.extend(self.in_flight_max.unwrap_or(0).to_ne_bytes());
        out.extend(self.destinations.trailing_zeros().to_ne_bytes());
        out
    }
}

fn page(templates: &[Template]) -> Vec<u8> {
    let longest = templates.last().map_or(&[][..], |last| &last.frame);
    [&[0; LEAD_BYTES], longest].concat()
}

fn count(value: usize) -> u32 {
    u32::try_from(value).expect("lengths of frames and of short lists")
}
