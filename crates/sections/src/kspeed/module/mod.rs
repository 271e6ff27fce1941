//! Lockgate's kernel module in the guest: how a run is started, and what it
//! answers.

mod answer;
mod start;

pub(super) use answer::{Answer, Measured, parse};
pub(super) use start::{GCM_AAD_BYTES, GCM_TAG_BYTES, Start};
