//! One run of the module, as it is asked for.

use std::time::Duration;

use crate::kspeed::catalogue::{Driver, Kind};

/// Warm-up before requests count.
const WARM_UP_MS: u128 = 5;
/// As tcrypt does.
pub(in super::super) const GCM_AAD_BYTES: usize = 8;
pub(in super::super) const GCM_TAG_BYTES: usize = 16;

/// What is asked of the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Start {
    pub(in super::super) driver: &'static Driver,
    /// The module's name of the mode.
    pub(in super::super) mode: &'static str,
    pub(in super::super) size_bytes: usize,
    pub(in super::super) depth: usize,
    pub(in super::super) threads: usize,
    pub(in super::super) duration: Duration,
    /// Whether every request's latency is taken.
    pub(in super::super) latency: bool,
}

impl Start {
    /// The line for the module's `control`.
    pub(in super::super) fn line(&self) -> String {
        let kind = self.driver.kind;
        let mut line = format!(
            "start type={} driver={} mode={} op={} size={} depth={} threads={} ms={} warmup_ms={WARM_UP_MS} latency={}",
            kind.kernel_type(),
            self.driver.name,
            self.mode,
            kind.operation(),
            self.size_bytes,
            self.depth,
            self.threads,
            self.duration.as_millis().max(1),
            u8::from(self.latency),
        );
        if kind.key_bytes() > 0 {
            line += &format!(" key={}", kind.key_bytes());
        }
        if kind == Kind::Cbc {
            line += " place=in";
        }
        if kind == Kind::Gcm {
            line += &format!(" aad={GCM_AAD_BYTES} tag={GCM_TAG_BYTES}");
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kspeed::catalogue::DRIVERS;

    #[test]
    fn a_line_names_everything_once() {
        for driver in DRIVERS {
            let start = Start {
                driver,
                mode: "async",
                size_bytes: 512,
                depth: 16,
                threads: 1,
                duration: Duration::from_millis(50),
                latency: true,
            };
            let line = start.line();
            let mut keys: Vec<_> = line
                .split(' ')
                .filter_map(|word| Some(word.split_once('=')?.0))
                .collect();
            let count = keys.len();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), count, "{line}");
            assert_eq!(line.contains("aad="), driver.kind == Kind::Gcm);
            assert_eq!(line.contains("key="), driver.kind != Kind::Sha256);
            assert!(line.contains("ms=50 "));
        }
    }
}
