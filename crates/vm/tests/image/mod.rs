//! What is in a guest's image.

mod archive;
mod modules;
mod program;
mod real;
mod support;
