//! Results to terminal, JSON, CSV, Markdown and HTML (pure).
#![forbid(unsafe_code)]

pub mod compare;
pub mod csv;
mod dots;
mod grid;
pub mod html;
pub mod json;
pub mod markdown;
mod markup;
pub mod number;
mod page;
pub mod probe_text;
mod scale;
mod style;
pub mod terminal;
mod words;
mod wrap;

pub use style::Style;
