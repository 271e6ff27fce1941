//! One trial of each arm.

use std::collections::BTreeMap;
use std::time::Duration;

use crypto::{Algorithm, Ceiling, Kind};
use kit::evidence::Evidence;
use kit::experiment::Rig;
use kit::host::Host;
use kit::load::alone::{Alone, AloneError, Slice, alone, raw};
use kit::load::benches::{REQUESTS, SPEED, WORKERS_CPU, reading};
use kit::load::once;
use kit::load::rig::Load;
use kit::load::workloads::Workloads;
use kit::observe::step_ns;
use kit::openssl;
use kit::place::{Cpus, Placement, place};
use kit::subject::{Reading, Stopped, Subject};
use policy::Policy;
use probe::tier;
use trial::{Validity, Verdict};

use super::arm::Arm;
use super::{CryptoPeers, Place, dpdk, ring_loop};

/// What one call of another program measures: often several places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Call {
    OpenSsl(Vec<String>),
    Dpdk(dpdk::Call),
}

impl Call {
    /// None of an arm of our own. `sizes` are all that are measured of a kind.
    pub(super) fn of(place: &Place, arm: Arm, sizes: &[usize]) -> Option<Self> {
        let (kind, block_bytes) = (place.kind, place.block_bytes);
        let dpdk = |burst| Self::Dpdk(dpdk::Call::of(kind, burst, block_bytes, sizes));
        let openssl = || Self::OpenSsl(openssl::arguments(kind, block_bytes));
        match arm {
            Arm::OpenSsl => Some(openssl()),
            Arm::Dpdk32 => Some(dpdk(32)),
            Arm::Dpdk1 => Some(dpdk(1)),
            _ => None,
        }
    }

    /// How long it takes, about.
    pub(super) fn seconds(&self, kind: Kind) -> f64 {
        match self {
            Self::OpenSsl(_) => openssl::seconds(kind),
            Self::Dpdk(call) => call.seconds(),
        }
    }

    fn command(&self, cpus: &Cpus) -> String {
        match self {
            Self::OpenSsl(arguments) => {
                let prefix = tier::openssl_prefix();
                format!("{prefix}{} {}", openssl::PROGRAM, arguments.join(" "))
            }
            Self::Dpdk(call) => call.command(cpus.clients[0], cpus.workers[0]),
        }
    }

    fn run(&self, cpus: &Cpus) -> Option<String> {
        match self {
            Self::OpenSsl(arguments) => openssl::printed(arguments, cpus.workers[0]),
            Self::Dpdk(call) => call.run(cpus.clients[0], cpus.workers[0]),
        }
    }

    fn requests_per_s(&self, output: &str, place: &Place) -> Option<f64> {
        let (kind, block_bytes) = (place.kind, place.block_bytes);
        match self {
            Self::OpenSsl(_) => openssl::requests_per_s(output, kind, block_bytes),
            Self::Dpdk(call) => call.operations_per_s(output, block_bytes),
        }
    }
}

pub(super) struct OnCores {
    experiment: CryptoPeers,
    cpus: Cpus,
    workloads: Workloads,
    subjects: Vec<Subject<Place, Arm>>,
    /// The first call of each program that gave no figure.
    silent: BTreeMap<Arm, String>,
}

impl OnCores {
    pub(super) fn new(
        experiment: &CryptoPeers,
        host: &Host,
        subjects: &[Subject<Place, Arm>],
    ) -> Result<Self, Stopped> {
        let cpus = place(&host.cpus, Placement::Split, 1, 1);
        let cpus = cpus.expect("without two CPUs there is no subject");
        let kinds = subjects.iter().map(|own| &own.place);
        let kinds = kinds.map(|place| (place.kind, place.block_bytes));
        Ok(Self {
            experiment: experiment.clone(),
            cpus,
            workloads: Workloads::new(&experiment.config.backend, kinds)?,
            subjects: subjects.to_vec(),
            silent: BTreeMap::new(),
        })
    }

    fn engine(&self, place: &Place, slice: Slice<'_>) -> Result<(f64, Evidence), Stopped> {
        let (_, workload) = self.workloads.get(place.kind, place.block_bytes);
        let (backend, cpus) = (self.experiment.config.backend.get(), &self.cpus);
        let load = (Load::closed(0, place.depth), Policy::POLLED);
        let record = once::trial(backend, workload, cpus, load, slice);
        let record = record.map_err(Stopped::failed)?;
        let window = record.whole().ok_or(Stopped::Interrupted)?;
        let reading = reading(&window, &record.facts, cpus, workload, (place.depth, 1));
        let given = reading.value(REQUESTS).zip(reading.evidence);
        Ok(given.expect("every window gives both"))
    }

    /// A loop that has the worker's CPU to itself.
    fn alone(
        &self,
        (place, arm): (&Place, Arm),
        slice: Slice<'_>,
    ) -> Result<(f64, Evidence), Stopped> {
        let (cpu, depth) = (self.cpus.workers[0], place.depth);
        let backend = self.experiment.config.backend.get();
        let (_, workload) = self.workloads.get(place.kind, place.block_bytes);
        let in_flight_bytes = match arm {
            Arm::Ceiling => 0,
            _ => workload.footprint_bytes() * depth,
        };
        let did = match (arm, aes_rounds(place.kind)) {
            (Arm::Ring, _) => ring_loop::trial(workload, depth, cpu, slice),
            (Arm::Ceiling, Some(rounds)) => ceiling(rounds, place.block_bytes, cpu, slice),
            _ => raw(backend, workload, depth, cpu, slice),
        };
        let did = did.map_err(Stopped::failed)?;
        Ok((did.requests_per_s(), did.evidence(cpu, in_flight_bytes)))
    }

    /// Another program, which counts its own CPU time: what it printed of its
    /// place, and of those that share its call.
    fn program(&mut self, own: &Subject<Place, Arm>, call: &Call) -> Result<Reading, Stopped> {
        let is_other = |one: &&Subject<Place, Arm>| (one.place, one.arm) != (own.place, own.arm);
        let after = self.subjects.iter().skip_while(is_other).skip(1);
        let beside = after.take_while(|one| one.shares_trial);
        let places: Vec<_> = beside.map(|one| one.place).collect();
        let (cpu, step_ns) = (self.cpus.workers[0], step_ns(self.cpus.workers[0]));
        // Once more: it may have been starved.
        let attempts = if self.silent.contains_key(&own.arm) {
            1
        } else {
            2
        };
        for _ in 0..attempts {
            let output = call.run(&self.cpus).unwrap_or_default();
            let seen = |place: &Place| match call.requests_per_s(&output, place) {
                Some(requests_per_s) => {
                    // A rate is all that it prints; a second of it is what was measured.
                    let seen = Alone {
                        requests: requests_per_s,
                        seconds: 1.0,
                        cpu: Duration::from_secs(1),
                        step_ns,
                        ..Alone::default()
                    };
                    self.reading(place, requests_per_s, seen.evidence(cpu, 0))
                }
                None => Reading {
                    verdict: no_figure(&call.command(&self.cpus)),
                    ..Reading::new(Vec::new())
                },
            };
            let own = seen(&own.place);
            let beside: Vec<_> = places.iter().map(seen).collect();
            if beside
                .iter()
                .chain([&own])
                .any(|one| one.verdict.is_valid())
            {
                return Ok(Reading { beside, ..own });
            }
        }
        let command = || call.command(&self.cpus);
        let command = self.silent.entry(own.arm).or_insert_with(command);
        Err(Stopped::Doubted(no_figure(command)))
    }

    fn reading(&self, place: &Place, requests_per_s: f64, evidence: Evidence) -> Reading {
        let mb_per_s = requests_per_s * place.block_bytes as f64 / 1e6;
        let mut reading = Reading::new(vec![
            (REQUESTS, requests_per_s),
            (WORKERS_CPU, self.cpus.workers[0] as f64),
        ]);
        // Bytes a second say nothing of a public key.
        if !place.is_public_key() {
            reading.values.push((SPEED, mb_per_s));
        }
        reading.evidence = Some(evidence);
        reading
    }
}

impl Rig<CryptoPeers> for OnCores {
    fn trial(
        &mut self,
        subject: &Subject<Place, Arm>,
        length: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let (place, arm, slice) = (&subject.place, subject.arm, Slice { length, go_on });
        let sizes = self.experiment.sizes(place.kind);
        let (requests_per_s, evidence) = match (arm, Call::of(place, arm, &sizes)) {
            (_, Some(call)) => return self.program(subject, &call),
            (Arm::Engine, _) => self.engine(place, slice)?,
            _ => self.alone((place, arm), slice)?,
        };
        Ok(self.reading(place, requests_per_s, evidence))
    }
}

fn no_figure(command: &str) -> Verdict {
    let remedy = format!("run it and read its error: {command}");
    Verdict::new(Validity::TooFewSamples, "it printed no figure", remedy)
}

/// Bytes that this many rounds would encrypt, as requests of a block.
fn ceiling(
    rounds: usize,
    block_bytes: usize,
    cpu: usize,
    slice: Slice<'_>,
) -> Result<Alone, AloneError> {
    // Made where it runs: it looks for what suits that core.
    alone(cpu, slice, || {
        let mut ceiling = Ceiling::new(rounds).expect("only a CPU that has one has the arm");
        Ok(move || Ok(ceiling.pass() as f64 / block_bytes as f64))
    })
}

/// The AES rounds of a block with that key; none of what is not AES.
pub(super) fn aes_rounds(kind: Kind) -> Option<usize> {
    use Algorithm as A;
    match kind.algorithm {
        A::Aes128Ecb | A::Aes128Cbc | A::Aes128Ctr | A::Aes128Gcm | A::Aes128Xts => Some(10),
        A::Aes192Ecb | A::Aes192Cbc | A::Aes192Ctr | A::Aes192Gcm => Some(12),
        A::Aes256Ecb | A::Aes256Cbc | A::Aes256Ctr | A::Aes256Gcm | A::Aes256Xts => Some(14),
        _ => None,
    }
}
