//! The integration tests of `report` in one program; those that need a process of
//! their own are beside it and say why.

mod common;
mod compare;
mod exporters;
mod fixture;
mod html;
mod properties;
mod spread;
