//! The integration tests of `policy` in one program; those that need a process of
//! their own are beside it and say why.

mod common;
mod controllers;
