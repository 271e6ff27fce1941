//! What tests share.

use proptest::test_runner::Config;

/// 64 cases, or 4,096 when `LOCKGATE_THOROUGH=1`; no files of past failures.
pub(crate) fn cases() -> Config {
    let thorough = std::env::var_os("LOCKGATE_THOROUGH").is_some_and(|value| value == "1");
    Config {
        cases: if thorough { 4_096 } else { 64 },
        failure_persistence: None,
        ..Config::default()
    }
}
