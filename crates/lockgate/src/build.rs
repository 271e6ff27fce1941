//! What built this program.

use trial::Build;

const GIT_REVISION: &str = env!("LOCKGATE_GIT_REVISION");

/// What `--version` says.
pub const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("LOCKGATE_GIT_REVISION"),
    ")"
);

pub fn build() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git_revision: GIT_REVISION.to_owned(),
        libraries: probe::site::library_versions(),
    }
}
