//! The tests of the repository itself.

mod counts;
mod docs;
mod edges;
mod fuzz_corpus;
mod licences;
mod programs;
mod sources;
mod style;
