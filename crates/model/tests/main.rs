//! The integration tests of `model` in one program; those that need a process of
//! their own are beside it and say why.

mod cause;
mod device;
mod properties;
