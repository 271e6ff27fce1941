//! What a container or service manager allows this process.

use serde_json::Value;

use crate::Host;
use crate::cgroups;
use crate::fact::{Found, bytes_text, ok};
use crate::machine::Machine;
use crate::row::Row::{self, One};

pub(super) const FACTS: &[Row] = &[
    One("limits.cpus", "CPU quota", cpu),
    One("limits.memory_bytes", "Memory limit", memory),
];

/// The tightest CPU quota on the way from the root to our cgroup, in CPUs.
fn cpu(on: &Machine) -> Found {
    let host = &on.host;
    let dirs = cgroups::dirs(host, "cpu");
    let quotas = dirs
        .iter()
        .filter_map(|dir| quota_v2(host, dir).or_else(|| quota_v1(host, dir)));
    match quotas.min_by(f64::total_cmp) {
        None => ok(Value::Null, "none"),
        Some(cpus) => ok(cpus, format!("{cpus} CPUs' time a period, by cgroup"))
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

fn memory(on: &Machine) -> Found {
    // Version 1 writes "no limit" as the largest multiple of the page size.
    let unlimited = 1 << 62;
    let limit = |dir: &String| {
        let limits = ["memory.max", "memory.limit_in_bytes"]
            .map(|name| on.host.parsed::<u64>(&format!("{dir}/{name}")));
        limits
            .into_iter()
            .flatten()
            .filter(|&bytes| bytes < unlimited)
            .min()
    };
    match cgroups::dirs(&on.host, "memory")
        .iter()
        .filter_map(limit)
        .min()
    {
        None => ok(Value::Null, "none"),
        Some(bytes) => ok(bytes, format!("{}, by cgroup", bytes_text(bytes))),
    }
}
