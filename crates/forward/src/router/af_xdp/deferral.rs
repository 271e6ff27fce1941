//! What busy polling wants of a link: while a program polls, the driver stays
//! quiet, and polls by itself only when the socket has not been polled for a while
//! (Documentation/networking/napi.rst, "IRQ mitigation").

use net::Namespace;
use net::sysfs::{Sysfs, SysfsError};

/// Settings of a link, with what they are set to.
const SETTINGS: [(&str, &str); 2] = [
    ("napi_defer_hard_irqs", "2"),
    // ns: a program that did not poll for so long is helped.
    ("gro_flush_timeout", "200000"),
];

/// Sets them on the links, which are in `namespace`. They go with the links, or are
/// restored on lent ones.
pub(super) fn set(namespace: &Namespace, links: [&str; 2]) -> Result<(), SysfsError> {
    let sysfs = Sysfs::of(namespace)?;
    for link in links {
        for (setting, value) in SETTINGS {
            sysfs.write(&format!("{link}/{setting}"), value)?;
        }
    }
    Ok(())
}
