//! Capacity models, their fit, and what makes a speed fall: pure arithmetic
//! on `f64`. No clock, no thread; whatever is random takes a seed.
//!
//! One equation runs through all of it, for one second of one core:
//!
//! ```text
//! T·I + c·N + t·V ≤ 1      and      N ≤ D·I  when the client waits for notifications
//! ```
//!
//! `I` notifications/s at `T` each, `N` requests/s at `c` each, `V` bytes/s
//! at `t` each, `D` requests in flight. [`capacity`] predicts from it, [`fit`]
//! finds the prices, [`paper`] is its ancestor, [`cause`] says why a speed
//! falls, [`fairness`] how tenants share what there is.
#![forbid(unsafe_code)]

pub mod capacity;
pub mod cause;
pub mod fairness;
pub mod fit;
pub mod paper;

#[cfg(test)]
fn close(left: f64, right: f64) {
    assert!(
        (left - right).abs() <= 1e-12 * right.abs(),
        "{left} is not {right}"
    );
}
