//! What a virtual function is made of, and how many there may be.

use std::sync::{Arc, Mutex, PoisonError};

use policy::{Quota, Settings, WEIGHT_MAX};

pub const FUNCTIONS_MAX: usize = 1024;

pub const FUNCTION_LANES_MAX: usize = 256;

/// Lanes that a virtual function may make per second, and in one burst. Each costs
/// its worker about 50 µs, mostly to unmap its memory at the end, which is charged to
/// no tenant.
pub const FUNCTION_LANES_PER_S: u64 = FUNCTION_LANES_MAX as u64;

/// The largest request of a virtual function: what a worker may have to do in one
/// go for it, while others wait. More is refused when it is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimit {
    /// Bytes of source and additional data, at least 1; bytes that are named twice
    /// count twice.
    pub bytes: usize,
    pub segments: usize,
}

impl RequestLimit {
    /// As large as lanes take them: for an owner's own.
    pub const NONE: Self = Self {
        bytes: usize::MAX,
        segments: usize::MAX,
    };
}

impl Default for RequestLimit {
    fn default() -> Self {
        Self {
            bytes: 64 << 10,
            segments: 64,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyLimit {
    pub sessions: usize,
    /// Bytes of the keys as given. What a back-end makes of a key is a bounded
    /// multiple of that.
    pub bytes: usize,
}

impl KeyLimit {
    /// As many as there is memory for: for an owner's own.
    pub const NONE: Self = Self {
        sessions: usize::MAX,
        bytes: usize::MAX,
    };
}

impl Default for KeyLimit {
    fn default() -> Self {
        Self {
            sessions: 4096,
            bytes: 1 << 20,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionConfig {
    /// Its share of a worker beside others that have work: 1 to
    /// [`policy::WEIGHT_MAX`]. A lane of no virtual function
    /// has weight 1.
    pub weight: u32,
    /// Requests and bytes a second, over all its lanes.
    pub quota: Quota,
    /// How far notifications are held back, over all its lanes. The settings of a
    /// [`LaneConfig`](crate::LaneConfig) are not used.
    pub settings: Settings,
    pub lanes_max: usize,
    pub request_max: RequestLimit,
    pub keys_max: KeyLimit,
}

impl Default for FunctionConfig {
    fn default() -> Self {
        Self {
            weight: 1,
            quota: Quota::UNLIMITED,
            settings: Settings::UNLIMITED,
            lanes_max: 8,
            request_max: RequestLimit::default(),
            keys_max: KeyLimit::default(),
        }
    }
}

/// Why a virtual function cannot be made or changed so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FunctionError {
    #[error("weight {weight} must be from 1 to {WEIGHT_MAX}")]
    Weight { weight: u32 },
    #[error("a virtual function of {lanes} lanes: give 1 to {FUNCTION_LANES_MAX}")]
    Lanes { lanes: usize },
    #[error(
        "a largest request of {} bytes and {} segments: give 1 at least of each", .limit.bytes, .limit.segments
    )]
    RequestMax { limit: RequestLimit },
    #[error("{FUNCTIONS_MAX} virtual functions are the most; remove one or start another engine")]
    TooMany,
}

impl FunctionConfig {
    pub(crate) fn check(&self) -> Result<(), FunctionError> {
        check_weight(self.weight)?;
        if !(1..=FUNCTION_LANES_MAX).contains(&self.lanes_max) {
            let lanes = self.lanes_max;
            return Err(FunctionError::Lanes { lanes });
        }
        let limit = self.request_max;
        if limit.bytes == 0 || limit.segments == 0 {
            return Err(FunctionError::RequestMax { limit });
        }
        Ok(())
    }
}

pub(crate) fn check_weight(weight: u32) -> Result<(), FunctionError> {
    if (1..=WEIGHT_MAX).contains(&weight) {
        Ok(())
    } else {
        Err(FunctionError::Weight { weight })
    }
}

#[derive(Debug)]
pub(crate) struct Numbers(Mutex<Vec<u32>>);

impl Default for Numbers {
    fn default() -> Self {
        Self(Mutex::new((0..FUNCTIONS_MAX as u32).rev().collect()))
    }
}

impl Numbers {
    pub(crate) fn take(self: &Arc<Self>) -> Result<Number, FunctionError> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = free.pop().ok_or(FunctionError::TooMany)?;
        Ok(Number {
            value,
            of: Arc::clone(self),
        })
    }
}

/// A virtual function's number: free again when no lane and no handle
/// knows the function any more.
#[derive(Debug)]
pub(crate) struct Number {
    pub(crate) value: u32,
    of: Arc<Numbers>,
}

impl Drop for Number {
    fn drop(&mut self) {
        let mut free = self.of.0.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(self.value);
    }
}
