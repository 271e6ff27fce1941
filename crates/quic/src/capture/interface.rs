//! What a pcapng section says of an interface (draft-ietf-opsawg-pcapng, section 4.2).

use super::fields::Fields;
use super::link::LinkType;

const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;
const NS_PER_S: u64 = 1_000_000_000;

pub(super) struct Interface {
    pub link: LinkType,
    /// 0: packets are not cut.
    pub snap_bytes: u32,
    clock: Clock,
}

struct Clock {
    /// As `if_tsresol` has it: 10 to the minus n, or with the top bit 2 to the minus n.
    resolution: u8,
    offset_s: i64,
}

impl Interface {
    /// From the body of an interface description; `None` if a field or an option goes
    /// past its end, or an option has another length than it must have.
    pub fn read(mut body: Fields<'_>) -> Option<Self> {
        let link = LinkType(body.u16()?);
        body.u16()?;
        let snap_bytes = body.u32()?;
        let clock = Clock::read(body)?;
        Some(Self {
            link,
            snap_bytes,
            clock,
        })
    }

    /// See [`super::Frame::time_ns`].
    pub fn time_ns(&self, ticks: u64) -> u64 {
        self.clock.time_ns(ticks)
    }
}

impl Clock {
    fn read(mut options: Fields<'_>) -> Option<Self> {
        let mut clock = Self {
            resolution: 6,
            offset_s: 0,
        };
        // The last option need not be there.
        while !options.rest().is_empty() {
            let (code, bytes) = (options.u16()?, usize::from(options.u16()?));
            let mut value = options;
            options.take(bytes.next_multiple_of(4))?;
            match (code, bytes) {
                (0, _) => break,
                (IF_TSRESOL, 1) => clock.resolution = *value.take(1)?.first()?,
                (IF_TSOFFSET, 8) => clock.offset_s = value.i64()?,
                (IF_TSRESOL | IF_TSOFFSET, _) => return None,
                _ => {}
            }
        }
        Some(clock)
    }

    fn time_ns(&self, ticks: u64) -> u64 {
        let since_offset = self.scaled(ticks);
        let offset = i128::from(self.offset_s) * i128::from(NS_PER_S);
        let time = since_offset + offset;
        u64::try_from(time.max(0)).unwrap_or(u64::MAX)
    }

    /// No product overflows: 64 bits times 10^9 are 94.
    fn scaled(&self, ticks: u64) -> i128 {
        let ns = u128::from(ticks) * u128::from(NS_PER_S);
        let exponent = u32::from(self.resolution & 0x7f);
        let scaled = if self.resolution & 0x80 != 0 {
            ns >> exponent
        } else {
            // Where the power overflows, no count of ticks is a nanosecond.
            10_u128
                .checked_pow(exponent)
                .map_or(0, |divisor| ns / divisor)
        };
        i128::try_from(scaled).expect("94 bits at most")
    }
}
