//! IPv4 (RFC 791), as hosts and routers must read it (RFC 1122, section 3.2.1;
//! RFC 1812, section 5.2.2).

mod option;
mod packet;
mod repr;

pub use option::{HeaderOption, OPTIONS_BYTES_MAX, Options, OptionsIter};
pub use packet::{Packet, decrement_ttl};
pub use repr::{Fragment, Repr};

pub const HEADER_BYTES: usize = 20;
