//! The integration tests of `trial` in one program; those that need a process of
//! their own are beside it and say why.

mod claims;
mod properties;
mod schema;
