//! What the source says: how much of user space's speed the kernel's
//! benchmark showed on an accelerator (source 003, "优化结果").

/// One of its figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Published {
    pub(super) size_bytes: usize,
    /// One request after the other, as `tcrypt` does; not stated for 1024 B.
    pub(super) serial: Option<f64>,
    /// Many in flight, with callbacks.
    pub(super) asynchronous: f64,
}

pub(super) const PUBLISHED: [Published; 2] = [
    Published {
        size_bytes: 64,
        serial: Some(0.10),
        asynchronous: 0.33,
    },
    Published {
        size_bytes: 1024,
        serial: None,
        asynchronous: 1.0,
    },
];

/// What it was measured on.
pub(super) const TEST_BED: &str = "an accelerator that it does not name, built for small requests, kernel against user space on the same hardware";
