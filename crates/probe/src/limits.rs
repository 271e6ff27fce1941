//! What a container or service manager allows this process.

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::cgroups;
use crate::fact::{Judge, bytes_text, fact};

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    vec![cpu(host), memory(host)]
}

/// The tightest CPU quota on the way from the root to our cgroup, in CPUs.
fn cpu(host: &Host) -> Fact {
    let (key, label) = ("limits.cpus", "CPU quota");
    let dirs = cgroups::dirs(host, "cpu");
    let quota = dirs
        .iter()
        .filter_map(|dir| quota_v2(host, dir).or_else(|| quota_v1(host, dir)));
    match quota.min_by(f64::total_cmp) {
        None => fact(key, label, Value::Null, "none"),
        Some(cpus) => fact(key, label, cpus, format!("{cpus} CPUs' time a period, by cgroup"))
            .degraded("the kernel stops this process for part of each period, which spoils latencies: measure without a CPU limit (Kubernetes: no `limits.cpu`; systemd: `CPUQuota=`)"),
    }
}

/// `max 100000` or `200000 100000`: quota and period in microseconds.
fn quota_v2(host: &Host, dir: &str) -> Option<f64> {
    let line = host.line(&format!("{dir}/cpu.max"))?;
    let (quota, period) = line.split_once(' ')?;
    ratio(quota.parse().ok()?, period.trim().parse().ok()?)
}

/// -1 is no quota.
fn quota_v1(host: &Host, dir: &str) -> Option<f64> {
    let quota = host.parsed::<u64>(&format!("{dir}/cpu.cfs_quota_us"))?;
    ratio(quota, host.parsed(&format!("{dir}/cpu.cfs_period_us"))?)
}

fn ratio(quota_us: u64, period_us: u64) -> Option<f64> {
    (period_us > 0).then(|| (quota_us as f64 * 100.0 / period_us as f64).round() / 100.0)
}

fn memory(host: &Host) -> Fact {
    let (key, label) = ("limits.memory_bytes", "Memory limit");
    // Version 1 writes "no limit" as the largest multiple of the page size.
    let unlimited = 1 << 62;
    let limit = cgroups::dirs(host, "memory")
        .iter()
        .flat_map(|dir| {
            [
                format!("{dir}/memory.max"),
                format!("{dir}/memory.limit_in_bytes"),
            ]
        })
        .filter_map(|path| host.parsed::<u64>(&path))
        .filter(|&bytes| bytes < unlimited)
        .min();
    match limit {
        None => fact(key, label, Value::Null, "none"),
        Some(bytes) => fact(
            key,
            label,
            bytes,
            format!("{}, by cgroup", bytes_text(bytes)),
        ),
    }
}
