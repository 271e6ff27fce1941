//! One trial of each arm.

use std::collections::BTreeMap;
use std::sync::Arc as Shared;
use std::time::Duration;

use crypto::{Algorithm, Ceiling, KeyMaterial, Kind, Workload, WorkloadError};
use kit::evidence::Evidence;
use kit::experiment::Rig;
use kit::host::Host;
use kit::load::alone::{Alone, AloneError, Slice, alone, raw};
use kit::load::benches::{REQUESTS, SPEED, WORKERS_CPU, reading};
use kit::load::once;
use kit::load::rig::Load;
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
    /// One a place.
    workloads: Vec<Shared<Workload>>,
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
        let mut own = Self {
            experiment: experiment.clone(),
            cpus,
            workloads: Vec::new(),
            subjects: subjects.to_vec(),
            silent: BTreeMap::new(),
        };
        for Subject { place, .. } in subjects {
            if own.workload(place).is_none() {
                let workload = own.make(place).map_err(Stopped::failed)?;
                own.workloads.push(Shared::new(workload));
            }
        }
        Ok(own)
    }

    fn workload(&self, place: &Place) -> Option<&Shared<Workload>> {
        let is_own = |own: &&Shared<Workload>| {
            (own.kind, own.block_bytes) == (place.kind, place.block_bytes)
        };
        self.workloads.iter().find(is_own)
    }

    /// With the key of an earlier one where that may be: a new one for RSA takes
    /// up to seconds.
    fn make(&self, place: &Place) -> Result<Workload, WorkloadError> {
        let backend = self.experiment.config.backend.get();
        let same_keys = |own: &&Shared<Workload>| {
            let pair = (own.kind.algorithm, place.kind.algorithm);
            matches!(pair, (Algorithm::Rsa(own, _), Algorithm::Rsa(wanted, _)) if own == wanted)
        };
        match self.workloads.iter().find(same_keys) {
            Some(own) => {
                let key = KeyMaterial::take(&mut own.material.expose().to_vec());
                Workload::with_key(backend, place.kind, place.block_bytes, key)
            }
            None => Workload::new(backend, place.kind, place.block_bytes),
        }
    }

    fn engine(&self, place: &Place, slice: Slice<'_>) -> Result<(f64, Evidence), Stopped> {
        let workload = self.workload(place).expect("every place has one");
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
        let workload = self.workload(place).expect("every place has one");
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
        let is_own = |one: &Subject<Place, Arm>| (one.place, one.arm) == (own.place, own.arm);
        let at = self.subjects.iter().position(is_own);
        let after = &self.subjects[at.map_or(0, |at| at + 1)..];
        let beside = after.iter().take_while(|one| one.shares_trial);
        let places: Vec<_> = beside.map(|one| one.place).collect();
        let step_ns = step_ns(self.cpus.workers[0]);
        let is_silent = self.silent.contains_key(&own.arm);
        // Once more: it may have been starved.
        for _ in 0..if is_silent { 1 } else { 2 } {
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
                    self.reading(
                        place,
                        requests_per_s,
                        seen.evidence(self.cpus.workers[0], 0),
                    )
                }
                None => Reading {
                    verdict: no_figure(&call.command(&self.cpus)),
                    ..Reading::new(Vec::new())
                },
            };
            let mut reading = seen(&own.place);
            reading.beside = places.iter().map(seen).collect();
            if reading.verdict.is_valid() || reading.beside.iter().any(|one| one.verdict.is_valid())
            {
                return Ok(reading);
            }
        }
        let command = || call.command(&self.cpus);
        let command = self.silent.entry(own.arm).or_insert_with(command);
        Err(Stopped::Doubted(no_figure(command)))
    }

    fn reading(&self, place: &Place, requests_per_s: f64, evidence: Evidence) -> Reading {
        let mb_per_s = requests_per_s * place.block_bytes as f64 / 1e6;
        // Bytes a second say nothing of a public key.
        let speed = (!place.is_public_key()).then_some((SPEED, mb_per_s));
        let values = [
            Some((REQUESTS, requests_per_s)),
            speed,
            Some((WORKERS_CPU, self.cpus.workers[0] as f64)),
        ];
        let mut reading = Reading::new(values.into_iter().flatten().collect());
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
