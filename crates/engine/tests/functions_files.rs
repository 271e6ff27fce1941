//! In a process of its own: limits are the whole process's.
//!
//! Each lane needs an open file.
#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

#[path = "common/works.rs"]
mod works;

use lockgate_engine::{FunctionConfig, LaneConfig, LaneError};

fn limit_open_files(soft: u64, hard: u64) {
    let limit = libc::rlimit {
        rlim_cur: soft,
        rlim_max: hard,
    };
    // SAFETY: one readable rlimit.
    let failed = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    assert_eq!(failed, 0, "a process may lower its limits");
}

#[test]
fn the_soft_limit_of_open_files_is_raised_and_the_hard_one_is_named() {
    let rig = works::free_running(1);
    limit_open_files(64, 128);
    let config = FunctionConfig {
        lanes_max: 256,
        ..FunctionConfig::default()
    };
    let function = rig.engine.function(config).unwrap();
    let mut lanes = Vec::new();
    let error = loop {
        match function.lane(0, LaneConfig::default()) {
            Ok(lane) => lanes.push(lane),
            Err(error) => break error,
        }
    };
    assert!(lanes.len() > 64, "{} lanes, then {error}", lanes.len());
    assert!(
        matches!(error, LaneError::Files { limit: 128 }),
        "{error:?}"
    );
    assert!(error.to_string().contains("ulimit"), "{error}");
    // What was refused took nothing with it.
    lanes.pop();
    works::until("the lane's files are free", || {
        function.lane(0, LaneConfig::default()).is_ok()
    });
}
