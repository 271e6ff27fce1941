//! The integration tests of `wire` in one program; those that need a process of
//! their own are beside it and say why.

mod frames;
mod quic;
mod test_frames;
