//! An engine made anew for each trial.

pub mod arm;
pub mod pump;
pub mod trial_run;
