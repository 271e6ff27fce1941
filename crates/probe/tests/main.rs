//! The integration tests of `probe`.

mod probe;
