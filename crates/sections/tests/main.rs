//! The sections, each run once and tiny, so that none rots.

mod conformance;
mod interrupt;
mod kspeed;
mod peers;
mod router;
mod speed;
mod vcm;
mod vcm_tenants;
