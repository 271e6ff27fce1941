//! What is in a guest's image.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod archive;
mod modules;
mod program;
mod real;
mod support;
