//! Notification policies, shares and quotas as pure state machines: no clock,
//! no thread.
#![forbid(unsafe_code)]

mod control;
pub mod controllers;
mod gather;
mod hybrid;
mod idle;
mod learnt;
mod moderation;
mod moderator;
mod policy;
mod price;
mod quota;
mod refill;
mod schedule;
mod settings;
mod turns;

pub use control::{Controller, Counters, PERIOD_NS_MAX, PERIOD_NS_MIN, Turn};
pub use gather::{Gather, Patience};
pub use hybrid::{Hybrid, Slept, Step, Waited};
pub use idle::Idle;
pub use moderation::{Decision, Moderation, Progress, UnknownModeration};
pub use moderator::{Gate, Moderator};
pub use policy::{Policy, PolicyError};
pub use price::Price;
pub use quota::{Allowance, BURST_NS_MAX, Bucket, Quota, QuotaError};
pub use refill::Refill;
pub use schedule::{Schedule, Visit, WEIGHT_MAX};
pub use settings::{COUNT_MAX, INTERVAL_NS_MAX, Settings, SettingsError, TIMEOUT_US_MAX};
pub use turns::{Standing, Turns};
