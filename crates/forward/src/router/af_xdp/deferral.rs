//! What busy polling wants of a link: while a program polls, the driver stays
//! quiet, and looks by itself only when nobody has polled for a while
//! (Documentation/networking/napi.rst, "IRQ mitigation").

use net::Namespace;
use net::sysfs::{Sysfs, SysfsError};

use super::failed;
use crate::router::RouterError;

/// Settings of a link, with what they are set to.
const SETTINGS: [(&str, &str); 2] = [
    ("napi_defer_hard_irqs", "2"),
    // ns: a program that did not poll for so long is helped.
    ("gro_flush_timeout", "200000"),
];

/// The settings of links, put back when dropped.
pub(super) struct Deferral {
    sysfs: Sysfs,
    before: Vec<(String, String)>,
}

impl Deferral {
    /// Sets them at the links, which are in `namespace`.
    pub(super) fn set(namespace: &Namespace, links: [&str; 2]) -> Result<Self, RouterError> {
        let context = || "cannot prepare the router's ports for busy polling".to_owned();
        let sysfs = Sysfs::of(namespace).map_err(failed(context()))?;
        let mut deferral = Self {
            sysfs,
            before: Vec::new(),
        };
        for link in links {
            for (setting, value) in SETTINGS {
                let change = deferral.change(format!("{link}/{setting}"), value);
                change.map_err(failed(context()))?;
            }
        }
        Ok(deferral)
    }

    fn change(&mut self, path: String, value: &str) -> Result<(), SysfsError> {
        let before = self.sysfs.read(&path)?;
        self.sysfs.write(&path, value)?;
        self.before.push((path, before.trim().to_owned()));
        Ok(())
    }
}

impl Drop for Deferral {
    fn drop(&mut self) {
        for (path, value) in &self.before {
            // The link may be gone, and its settings with it.
            let _ = self.sysfs.write(path, value);
        }
    }
}
