//! A load on this host's cores as a subject of the diagnosis.

mod generator;
mod subject;

pub(super) use subject::{Real, Spec};
