//! What tests share.

use proptest::test_runner::Config;

/// 64 cases, or 4,096 when `LOCKGATE_THOROUGH=1`; no files of past failures.
pub(crate) fn cases() -> Config {
    Config {
        cases: testing::cases(64, 4_096),
        failure_persistence: None,
        ..Config::default()
    }
}
