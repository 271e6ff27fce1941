//! What the tests of all crates share: skips that are seen and counted, and
//! tests that need the host's time.
//!
//! A test that needs time runs its body in [`timed`] or [`alone`]. A body that fails
//! runs once more. Where it fails again, and the host was busy each time (its
//! hypervisor gave the CPUs to others, or other programs ran), the test is
//! *inconclusive*: listed, counted as skipped. On a quiet host it fails. What holds
//! however busy the host is says [`certainly!`]: that is never excused.
#![forbid(unsafe_code)]

mod again;
mod host;
mod note;
mod place;
mod programs;
mod time;

pub use again::Again;
pub use host::{Snapshot, Use};
pub use note::{left_out, skipped, warn};
pub use programs::has_programs;
pub use time::{Certain, alone, alone_as_root, booting, noisy, timed, timed_as_root, until};

/// As `assert!(matches!(…))`, and shows the value; `std` has one from Rust 1.96.
#[macro_export]
macro_rules! assert_matches {
    ($value:expr, $pattern:pat $(if $guard:expr)?) => {
        $crate::assert_matches!($value, $pattern $(if $guard)?, "no match")
    };
    ($value:expr, $pattern:pat $(if $guard:expr)?, $($about:tt)+) => {
        match &$value {
            $pattern $(if $guard)? => {}
            other => panic!("{}: {other:?} is not {}", format!($($about)+), stringify!($pattern)),
        }
    };
}

/// Whether this process has root's rights; if not, it reports the test as skipped.
pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skipped("not root; run the tests as root");
    }
    root
}

pub fn is_thorough() -> bool {
    std::env::var("LOCKGATE_THOROUGH").is_ok_and(|value| value == "1")
}

/// Cases of a property: the usual number, or, when a thorough search is asked
/// for, that many.
pub fn cases(usual: u32, thorough: u32) -> u32 {
    if is_thorough() { thorough } else { usual }
}
