//! The VCM paper: Li Shuai, Sun Lei, Guo Songhui, "Interrupt frequency
//! optimization method of encryption device based on single root I/O
//! virtualization", Application Research of Computers, doi
//! 10.3969/j.issn.1001-3695.2018.03.0220.
//!
//! [`printed`] has its equations (1) to (10) as they stand there, slips
//! included; [`corrected`] what they must be for their units to add up;
//! [`published`] its figures. Its letters, and what they are per:
//!
//! | letter | meaning | unit here |
//! | --- | --- | --- |
//! | I | interrupts | 1/s |
//! | T | time of one interrupt | s |
//! | t | time of one *group* (Lockgate's `t` is per byte) | s |
//! | L | bytes of a group: a cipher's block | bytes |
//! | B | bytes of a request | bytes |
//! | V | speed | the paper's MB/s, which are MiB/s (2^20 bytes) |
//! | n | groups | 1/s |

pub mod corrected;
pub mod printed;
pub mod published;
mod split;

pub use split::{Pieces, split_pieces};

use crate::capacity::{Costs, CostsError};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device {
    interrupt_s: f64,
    group_s: f64,
    group_bytes: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{what} of {value} is not valid; give a finite one above 0")]
pub struct DeviceError {
    pub what: &'static str,
    pub value: f64,
}

impl Device {
    /// `T` (s), `t` (s) and `L` (bytes).
    ///
    /// # Errors
    /// [`DeviceError`] unless all are finite and above zero.
    pub fn new(interrupt_s: f64, group_s: f64, group_bytes: f64) -> Result<Self, DeviceError> {
        for (what, value) in [
            ("an interrupt time", interrupt_s),
            ("a group time", group_s),
            ("a group size", group_bytes),
        ] {
            if !value.is_finite() || value <= 0.0 {
                return Err(DeviceError { what, value });
            }
        }
        Ok(Self {
            interrupt_s,
            group_s,
            group_bytes,
        })
    }

    /// `T`, s.
    pub fn interrupt_s(&self) -> f64 {
        self.interrupt_s
    }

    /// `t`, s per group.
    pub fn group_s(&self) -> f64 {
        self.group_s
    }

    /// `L`, bytes.
    pub fn group_bytes(&self) -> f64 {
        self.group_bytes
    }

    /// The same device in Lockgate's prices: `t` per byte, and no price of a
    /// request, of which the paper knows none.
    ///
    /// # Errors
    /// [`CostsError`] where a constant is so large that its price in ns is not
    /// finite.
    pub fn costs(&self) -> Result<Costs, CostsError> {
        Costs::new(
            self.interrupt_s * 1e9,
            0.0,
            self.group_s / self.group_bytes * 1e9,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_needs_all_three() {
        assert!(Device::new(1e-5, 2e-8, 16.0).is_ok());
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Device::new(wrong, 2e-8, 16.0).is_err());
            assert!(Device::new(1e-5, wrong, 16.0).is_err());
        }
        let error = Device::new(1e-5, 2e-8, 0.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a group size of 0 is not valid; give a finite one above 0"
        );
    }

    #[test]
    fn prices_are_per_byte() {
        let costs = Device::new(1e-5, 2e-8, 16.0).unwrap().costs().unwrap();
        assert!((costs.notification_ns() - 10_000.0).abs() < 1e-9);
        assert!((costs.byte_ns() - 1.25).abs() < 1e-12);
        assert_eq!(costs.request_ns(), 0.0);
    }
}
