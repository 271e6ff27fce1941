//! One arm in user space, measured once.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use crypto::{
    Algorithm, Kind, Operation, UnknownAlgorithm, UnknownBackend, UnknownOperation, Workload,
    WorkloadError,
};
use engine::DEPTH_MAX;

use crate::kspeed::trial_line::{
    Latency, LatencyRecorder, TRIAL_LINE_SCHEMA, ThreadCount, TrialLine,
};
use crate::kspeed::userspace::choice::backend;
use kit::load::fresh::arm::{Arm, Cell, Role};
use kit::load::fresh::trial_run::{Rig, Sample, Slice, TrialError};
use kit::place::{Placement, place, usable_cpus};
use probe::calibration::AUTO;

/// How requests are kept in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadMode {
    /// The back-end's own loop over as many requests as the depth: no lane,
    /// no second thread.
    Raw,
    /// Through a lane: submit one, wait for it.
    Sync,
    /// Through a lane: submit as many as the depth, wait for all.
    Batch,
    /// Through a lane: keep as many as the depth in flight.
    Async,
}

impl LoadMode {
    const ALL: [Self; 4] = [Self::Raw, Self::Sync, Self::Batch, Self::Async];

    /// As flags and lines say it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Sync => "sync",
            Self::Batch => "batch",
            Self::Async => "async",
        }
    }

    const fn arm(self) -> Arm {
        match self {
            Self::Raw => Arm::Raw,
            Self::Sync => Arm::SYNC,
            Self::Batch => Arm::BATCH,
            Self::Async => Arm::ASYNC,
        }
    }
}

impl FromStr for LoadMode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|mode| mode.name() == name);
        found.ok_or_else(|| format!("unknown mode '{name}'; known: raw, sync, batch, async"))
    }
}

/// One arm.
#[derive(Clone, Debug, PartialEq)]
pub struct UserSpace {
    /// What is computed.
    pub algorithm: Algorithm,
    /// Which operation of it.
    pub operation: Operation,
    /// Input bytes of a request.
    pub size_bytes: usize,
    /// How requests are kept in flight.
    pub mode: LoadMode,
    /// Requests in flight; of `sync` one, whatever stands here.
    pub depth: u32,
    /// Who computes: a back-end's name, or `auto` for the fastest here.
    pub backend: String,
    /// Time of counting.
    pub time: Duration,
}

impl UserSpace {
    /// 16 requests of 512 bytes in flight for 200 ms, of the algorithm of that
    /// name; without an operation its first.
    ///
    /// # Errors
    /// [`UserSpaceError::Algorithm`], [`UserSpaceError::Operation`] name those
    /// there are.
    pub fn named(algorithm: &str, operation: Option<&str>) -> Result<Self, UserSpaceError> {
        let algorithm: Algorithm = algorithm.parse()?;
        let operation = match operation {
            Some(name) => name.parse()?,
            None => algorithm.operations()[0],
        };
        Ok(Self {
            algorithm,
            operation,
            size_bytes: 512,
            mode: LoadMode::Async,
            depth: 16,
            backend: AUTO.to_owned(),
            time: Duration::from_millis(200),
        })
    }
}

/// The values that an arm may have.
pub struct Limits;

impl Limits {
    /// Bytes of a request.
    pub const SIZE_BYTES: RangeInclusive<usize> = 1..=1 << 20;
    /// Requests in flight.
    pub const DEPTH: RangeInclusive<usize> = 1..=DEPTH_MAX;
    /// Milliseconds of measuring.
    pub const MS: RangeInclusive<usize> = 1..=600_000;
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum UserSpaceError {
    /// A value out of its range.
    #[error("{what} {got} is out of range: {} to {}; give another", .limit.start(), .limit.end())]
    Value {
        /// Which.
        what: &'static str,
        /// What was asked.
        got: usize,
        /// What is allowed.
        limit: RangeInclusive<usize>,
    },
    /// No such algorithm.
    #[error(transparent)]
    Algorithm(#[from] UnknownAlgorithm),
    /// No such operation.
    #[error(transparent)]
    Operation(#[from] UnknownOperation),
    /// No such back-end here.
    #[error(transparent)]
    Backend(#[from] UnknownBackend),
    /// The back-end does not have the algorithm or the operation.
    #[error("back-end {backend} has no {} of {}; it may be another's: auto asks all", .kind.operation, .kind.algorithm)]
    Kind {
        /// Which.
        backend: String,
        /// What was asked.
        kind: Kind,
    },
    /// The algorithm cannot take it.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// This process may use no CPU that can be named.
    #[error("the CPUs that this process may use cannot be listed")]
    Cpus(#[source] std::io::Error),
    /// It went wrong while running.
    #[error("the trial failed")]
    Trial(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl UserSpaceError {
    /// Whether the caller asked for something impossible.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Value { .. }
                | Self::Algorithm(_)
                | Self::Operation(_)
                | Self::Kind { .. }
                | Self::Backend(UnknownBackend::Name { .. })
                | Self::Workload(WorkloadError::Block { .. } | WorkloadError::Operation { .. })
        )
    }

    /// Whether this host lacks what was asked for.
    #[must_use]
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::Backend(UnknownBackend::Unavailable(_)))
    }
}

impl From<TrialError> for UserSpaceError {
    fn from(error: TrialError) -> Self {
        Self::Trial(Box::new(error))
    }
}

/// Measures one arm. Client and worker share a core where there is only one.
///
/// # Errors
/// [`UserSpaceError`].
pub fn measure(asked: &UserSpace) -> Result<TrialLine, UserSpaceError> {
    check(asked)?;
    let kind = Kind {
        algorithm: asked.algorithm,
        operation: asked.operation,
    };
    Workload::check(kind, asked.size_bytes)?;
    let arm = asked.mode.arm();
    let cell = cell(asked, kind)?;
    let in_flight = arm.depth(&cell);
    let backend = backend(&asked.backend, kind, asked.size_bytes, in_flight)?;
    let workload = Workload::new(&backend, kind, asked.size_bytes)?;
    let cpus = usable_cpus().map_err(UserSpaceError::Cpus)?;
    let cpus = place(&cpus, cell.placement, 1, 1).expect("split only where there are two CPUs");
    let rig = Rig {
        backend: &backend,
        cell,
        workload: &workload,
        cpus: &cpus,
    };
    let sample = match asked.mode {
        LoadMode::Raw => rig.raw(Slice::whole(asked.time)),
        _ => rig.lanes(arm, 0.0, Slice::whole(asked.time)),
    }?;
    Ok(line(asked, &workload, backend.name(), in_flight, &sample))
}

fn check(asked: &UserSpace) -> Result<(), UserSpaceError> {
    let ms = usize::try_from(asked.time.as_millis()).unwrap_or(usize::MAX);
    let values = [
        ("size", asked.size_bytes, Limits::SIZE_BYTES),
        ("depth", asked.depth as usize, Limits::DEPTH),
        ("ms", ms, Limits::MS),
    ];
    match values.into_iter().find(|(_, got, may)| !may.contains(got)) {
        Some((what, got, limit)) => Err(UserSpaceError::Value { what, got, limit }),
        None => Ok(()),
    }
}

fn cell(asked: &UserSpace, kind: Kind) -> Result<Cell, UserSpaceError> {
    let cpus = usable_cpus().map_err(UserSpaceError::Cpus)?;
    let placement = if cpus.len() < 2 {
        Placement::Shared
    } else {
        Placement::Split
    };
    Ok(Cell {
        placement,
        kind,
        block_bytes: asked.size_bytes,
        depth: asked.depth as usize,
        lanes: 1,
        workers: 1,
        role: Role::Grid,
    })
}

fn line(
    asked: &UserSpace,
    workload: &Workload,
    backend: &str,
    in_flight: usize,
    sample: &Sample,
) -> TrialLine {
    let seconds = sample.requests as f64 / sample.requests_per_s.max(f64::MIN_POSITIVE);
    let in_flight = u32::try_from(in_flight).unwrap_or(u32::MAX);
    let thread = ThreadCount {
        completed: sample.requests,
        in_flight_max: in_flight,
        ..ThreadCount::default()
    };
    TrialLine {
        schema: TRIAL_LINE_SCHEMA,
        ok: true,
        source: "user-space".to_owned(),
        r#type: of_kernel(asked).to_owned(),
        algorithm: asked.algorithm.to_string(),
        driver: backend.to_owned(),
        is_async: None,
        mode: asked.mode.name().to_owned(),
        op: asked.operation.to_string(),
        size_bytes: workload.block_bytes as u64,
        key_bytes: workload.material.expose().len() as u64,
        depth: in_flight,
        thread_count: 1,
        elapsed_ns: (seconds * 1e9).round() as u64,
        completed: sample.requests,
        bytes: sample.requests * workload.block_bytes as u64,
        errors: 0,
        // A back-end answers its known answers before it is offered.
        verified: true,
        verified_by: "known-answer".to_owned(),
        latency_ns: latency(sample),
        threads: vec![thread],
    }
}

/// The kernel's word for what the algorithm is.
fn of_kernel(asked: &UserSpace) -> &'static str {
    match asked.operation {
        Operation::Hash => "ahash",
        _ if asked.algorithm.is_public_key() => "akcipher",
        operation if asked.algorithm.tag_bytes(operation) > 0 => "aead",
        _ => "skcipher",
    }
}

fn latency(sample: &Sample) -> Latency {
    let mut recorder = LatencyRecorder::default();
    if let Some(histogram) = &sample.latency {
        histogram
            .recorded()
            .for_each(|(ns, count)| recorder.record_many(ns, count));
    }
    recorder.latency()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cbc(mode: LoadMode) -> UserSpace {
        UserSpace {
            algorithm: Algorithm::Aes128Cbc,
            operation: Operation::Encrypt,
            size_bytes: 512,
            mode,
            depth: 4,
            backend: "auto".to_owned(),
            time: Duration::from_millis(100),
        }
    }

    #[test]
    fn every_mode_gives_a_line_that_adds_up() {
        testing::timed(|| {
            for mode in LoadMode::ALL {
                let is_timed = mode != LoadMode::Raw;
                let line = measure(&cbc(mode)).expect("it measures");
                assert!(line.completed > 0, "{mode:?}");
                assert_eq!(line.bytes, line.completed * 512);
                assert_eq!(line.depth, if mode == LoadMode::Sync { 1 } else { 4 });
                assert_eq!((line.r#type.as_str(), line.key_bytes), ("skcipher", 16));
                assert_eq!(line.latency_ns.count > 0, is_timed, "{mode:?}");
            }
        });
    }

    #[test]
    fn kinds_have_the_kernels_names() {
        let kind = |algorithm: Algorithm| {
            of_kernel(&UserSpace {
                algorithm,
                operation: algorithm.operations()[0],
                ..cbc(LoadMode::Raw)
            })
        };
        assert_eq!(kind(Algorithm::Aes128Gcm), "aead");
        assert_eq!(kind(Algorithm::Sha256), "ahash");
        assert_eq!(kind(Algorithm::Aes256Xts), "skcipher");
        assert_eq!(kind(Algorithm::EcdsaP256), "akcipher");
    }

    #[test]
    fn what_cannot_be_is_refused_with_value_and_limit() {
        let refused = |asked: UserSpace, parts: &[&str]| {
            let error = measure(&asked).unwrap_err();
            assert!(error.is_usage(), "{error}");
            for part in parts {
                assert!(error.to_string().contains(part), "{part}: {error}");
            }
        };
        let own = || cbc(LoadMode::Async);
        refused(UserSpace { depth: 0, ..own() }, &["depth 0", "1 to"]);
        refused(
            UserSpace {
                size_bytes: 17,
                ..own()
            },
            &["17", "16"],
        );
        refused(
            UserSpace {
                backend: "qat".to_owned(),
                ..own()
            },
            &["qat", "aws-lc"],
        );
        refused(
            UserSpace {
                backend: "kernels".to_owned(),
                algorithm: Algorithm::EcdsaP256,
                operation: Operation::Sign,
                ..own()
            },
            &["kernels", "ecdsa"],
        );
    }
}
