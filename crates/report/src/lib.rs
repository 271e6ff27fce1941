//! Results to terminal, JSON, CSV, Markdown and HTML (pure).
#![forbid(unsafe_code)]

pub mod html;
pub mod number;
