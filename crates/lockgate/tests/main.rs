//! The integration tests of `lockgate` in one program; those that need a process of
//! their own are beside it and say why.

mod common;
mod interrupt;
mod results;
mod speed;
mod sweep;
mod tier;
mod usage;
mod vm;
mod vm_arms;
