//! The integration tests of `disk` in one program: what the kernel's dm-crypt and
//! cryptsetup wrote.
#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod damage;
mod images;
mod kernel;
mod live;
