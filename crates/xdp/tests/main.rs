//! The integration tests of `xdp` in one program; those that need a process of
//! their own are beside it and say why.

mod programs;
mod socket_loopback;
