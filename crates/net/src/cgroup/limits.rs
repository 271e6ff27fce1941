//! Limits, and the files that they are written to.

use std::fmt::Write;
use std::path::Path;

use super::hierarchy::{Controller, Version, find};
use super::{CgroupError, read};

/// Shorter than the kernel's usual 100 ms, so that a task that has used up its share
/// waits for milliseconds only.
const PERIOD_US: f64 = 10_000.0;
/// The minimum quota of a period that the kernel takes, µs.
const QUOTA_US_MIN: f64 = 1_000.0;
/// The longest period that the kernel takes, µs.
const PERIOD_US_MAX: f64 = 1_000_000.0;

/// Limits for all tasks inside together; `None`: no limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// CPU time, in CPUs: 0.5 is half of one; at least 0.001.
    pub cpus: Option<f64>,
    pub cpu_set: Option<Vec<usize>>,
    /// Memory, bytes, at least 1 MiB.
    pub memory_bytes: Option<u64>,
    pub processes: Option<u32>,
}

impl Limits {
    pub(super) fn check(&self) -> Result<(), CgroupError> {
        let wrong = |limit, value: String, allowed| {
            Err(CgroupError::Limit {
                limit,
                value,
                allowed,
            })
        };
        match self {
            Self {
                cpus: Some(cpus), ..
            } if !(0.001..=8192.0).contains(cpus) => {
                wrong("CPU time", format!("{cpus} CPUs"), "0.001 to 8192")
            }
            Self {
                cpu_set: Some(cpus),
                ..
            } if cpus.is_empty() => wrong("the set of CPUs", "none".into(), "name at least one"),
            Self {
                memory_bytes: Some(bytes),
                ..
            } if *bytes < 1 << 20 => {
                wrong("memory", format!("{bytes} bytes"), "at least 1,048,576")
            }
            Self {
                processes: Some(0), ..
            } => wrong("the number of processes", "0".into(), "at least 1"),
            limits if limits.controllers().is_empty() => wrong(
                "a control group",
                "nothing".into(),
                "give at least one limit",
            ),
            _ => Ok(()),
        }
    }

    pub(super) fn controllers(&self) -> Vec<Controller> {
        [
            self.cpus.map(|_| Controller::Cpu),
            self.cpu_set.as_ref().map(|_| Controller::CpuSet),
            self.memory_bytes.map(|_| Controller::Memory),
            self.processes.map(|_| Controller::Processes),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Files and their values, in the order in which they are to be written.
    pub(super) fn settings(
        &self,
        version: Version,
        controllers: &[Controller],
    ) -> Result<Vec<(String, String)>, CgroupError> {
        let mut settings = Vec::new();
        for controller in controllers {
            match (controller, version) {
                (Controller::Cpu, _) => settings.extend(self.cpu_time(version)),
                (Controller::CpuSet, Version::One) => {
                    // Version 1 begins with no memory nodes at all.
                    let root = find(Controller::CpuSet)?.mount;
                    let nodes = read(&root.join(Path::new("cpuset.mems")))?;
                    settings.push(("cpuset.mems".into(), nodes.trim().to_owned()));
                    settings.extend(self.cpu_list());
                }
                (Controller::CpuSet, Version::Two) => settings.extend(self.cpu_list()),
                (Controller::Memory, version) => {
                    let file = match version {
                        Version::One => "memory.limit_in_bytes",
                        Version::Two => "memory.max",
                    };
                    settings.extend(
                        self.memory_bytes
                            .map(|bytes| (file.into(), bytes.to_string())),
                    );
                }
                (Controller::Processes, _) => {
                    settings.extend(
                        self.processes
                            .map(|most| ("pids.max".into(), most.to_string())),
                    );
                }
            }
        }
        Ok(settings)
    }

    pub(super) fn cpu_time(&self, version: Version) -> Vec<(String, String)> {
        let Some(cpus) = self.cpus else {
            return vec![];
        };
        let (quota, period) = quota_and_period_us(cpus);
        match version {
            Version::One => vec![
                ("cpu.cfs_period_us".into(), period.to_string()),
                ("cpu.cfs_quota_us".into(), quota.to_string()),
            ],
            Version::Two => vec![("cpu.max".into(), format!("{quota} {period}"))],
        }
    }

    fn cpu_list(&self) -> Option<(String, String)> {
        let mut list = String::new();
        for cpu in self.cpu_set.as_ref()? {
            let comma = if list.is_empty() { "" } else { "," };
            let _ = write!(list, "{comma}{cpu}");
        }
        Some(("cpuset.cpus".into(), list))
    }
}

/// Quota and period, µs, for this many CPUs on average.
pub(super) fn quota_and_period_us(cpus: f64) -> (f64, f64) {
    let period = PERIOD_US
        .max(QUOTA_US_MIN / cpus)
        .min(PERIOD_US_MAX)
        .round();
    ((period * cpus).max(QUOTA_US_MIN).round(), period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu_max(cpus: f64) -> String {
        let limits = Limits {
            cpus: Some(cpus),
            ..Limits::default()
        };
        limits.cpu_time(Version::Two)[0].1.clone()
    }

    #[test]
    fn small_shares_have_long_periods() {
        assert_eq!(cpu_max(0.5), "5000 10000");
        assert_eq!(cpu_max(2.0), "20000 10000");
        assert_eq!(cpu_max(0.01), "1000 100000");
        assert_eq!(cpu_max(0.001), "1000 1000000");
    }

    #[test]
    fn limits_out_of_range_are_refused() {
        let refused: [fn(&mut Limits); 6] = [
            |_| {},
            |limits| limits.cpus = Some(f64::NAN),
            |limits| limits.cpus = Some(-1.0),
            |limits| limits.cpu_set = Some(vec![]),
            |limits| limits.memory_bytes = Some(7),
            |limits| limits.processes = Some(0),
        ];
        for change in refused {
            let mut limits = Limits::default();
            change(&mut limits);
            assert!(limits.check().is_err(), "{limits:?}");
        }
    }
}
