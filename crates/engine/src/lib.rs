//! Lanes, sessions and workers.
