//! How a request ended.

/// How one request ended: one byte, so that it fits a completion ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "what did not end well must not be used"]
#[repr(u8)]
pub enum Status {
    Ok,
    /// The tag or signature does not match; the destination holds no plaintext.
    AuthenticationFailed,
    /// An input of the right length that the algorithm refuses. That is an RSA
    /// ciphertext outside the range of the modulus, with OAEP also one without a
    /// message of the destination's length (PKCS#1 v1.5 never says that: see
    /// [`Job`](crate::Job)), a peer's public value outside its group, or a packet of the
    /// other key phase. The destination holds zeros.
    InvalidInput,
    BadLength,
    /// Source and destination overlap in part, or a segment is null; nothing was done.
    BadSegment,
    /// The back-end has no such operation, or the key belongs to another
    /// or lacks its private half; nothing was done.
    Unsupported,
    BackendFailed,
    /// The lane closed before a worker took the request; nothing was done.
    Cancelled,
    WorkerFailed,
}
