//! The integration tests of `crypto` in one program; those that need a process of
//! their own are beside it and say why.

mod agreement;
mod aws_lc_chose;
mod cavp;
mod concurrent_writer;
mod contract;
mod differential;
mod known_answers;
mod public_keys;
mod published;
mod refusals;
mod residue;
mod support;
mod wycheproof;
