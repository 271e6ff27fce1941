//! Fields in the byte order of the machine that wrote the capture.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    Little,
    Big,
}

impl Order {
    pub fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }
}

/// What is left of a header or a block. Each field is `None` where the bytes end.
#[derive(Clone, Copy)]
pub(super) struct Fields<'b> {
    order: Order,
    rest: &'b [u8],
}

impl<'b> Fields<'b> {
    pub fn new(order: Order, rest: &'b [u8]) -> Self {
        Self { order, rest }
    }

    pub fn rest(&self) -> &'b [u8] {
        self.rest
    }

    pub fn take(&mut self, bytes: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk().copied()
    }

    pub fn u16(&mut self) -> Option<u16> {
        let bytes = self.array()?;
        Some(match self.order {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        })
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(self.order.u32(self.array()?))
    }

    pub fn i64(&mut self) -> Option<i64> {
        let bytes = self.array()?;
        Some(match self.order {
            Order::Little => i64::from_le_bytes(bytes),
            Order::Big => i64::from_be_bytes(bytes),
        })
    }

    /// A time stamp of pcapng, whose upper half comes first in either order.
    pub fn ticks(&mut self) -> Option<u64> {
        let (high, low) = (self.u32()?, self.u32()?);
        Some(u64::from(high) << 32 | u64::from(low))
    }
}
