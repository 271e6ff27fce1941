//! The integration tests of `lab` in one program; those that need a process of
//! their own are beside it and say why.

mod kspeed;
mod peers;
mod probe;
mod router;
mod speed;
mod support;
mod vcm;
mod vcm_cause;
mod vcm_tenants;
