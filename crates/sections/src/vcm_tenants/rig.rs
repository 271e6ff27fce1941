//! The bench with its tenants, and trials.

use std::sync::Arc;
use std::time::Duration;

use crypto::{Algorithm, Kind, Operation, RsaBits, RsaScheme, Workload};
use engine::{CryptoFunction, CryptoLane, LaneConfig, RegionId};
use kit::evidence::Evidence;
use kit::experiment::{Measure, Reading, Rig, Stopped, Subject};
use kit::host::Host;
use kit::load::benches::{CLIENT_CPU, NOTIFICATIONS, REQUESTS, SPEED, WORKER_CPU};
use kit::load::rig::{Bench, Cores, Course, Load, Record, Regime, Setup, Tenant, Window};
use kit::load::slots::Slots;
use kit::schedule::WARM_UP;
use model::fairness::{entitlements, share_kept, weighted_jain_index};
use policy::{Moderation, Quota, Settings};
use sys::memory::Mapping;
use trial::{Validity, Verdict};

use super::case::{Case, Hostile, Place, VICTIM_WEIGHTS};
use super::{JAIN, LEAST_SHARE, SHARE, Tenants};

/// A worker with less work than this leaves shares to chance.
const BUSY_MIN: f64 = 0.95;
/// A long trial asks so often whether it is to end.
const WINDOW: Duration = Duration::from_millis(100);
/// What is taken for L2 where the host does not say.
const L2_BYTES_USUAL: u64 = 1 << 20;
/// Shallower lanes run dry.
const DEPTH_MIN: usize = 4;
/// What floods.
const HUGE_BYTES: usize = 1 << 20;
const FLOOD_DEPTH: usize = 64;
pub(super) const SIGNER: Kind = Kind {
    algorithm: Algorithm::Rsa(RsaBits::B2048, RsaScheme::Pkcs1),
    operation: Operation::Sign,
};
const SIGNER_DEPTH: usize = 16;
/// As deep as the mute one fills its lane.
const MUTE_DEPTH: usize = 1024;

pub(super) struct OnBench {
    section: Tenants,
    bench: Bench,
    cores: Cores,
    /// Of the polite ones.
    workload: Arc<Workload>,
    /// Polite tenants of the bench, which come first; then one for each
    /// hostile kind.
    polite: usize,
    l2_bytes: u64,
}

impl OnBench {
    pub(super) fn start(section: &Tenants, host: &Host) -> Result<Self, Stopped> {
        let config = &section.config;
        let backend = config.backend.get();
        let workload = |kind, bytes| {
            let workload = Workload::new(backend, kind, bytes).map_err(Stopped::failed)?;
            Ok::<_, Stopped>(Arc::new(workload))
        };
        let tenant = |workload: &Arc<Workload>, depth_max| Tenant {
            workloads: vec![Arc::clone(workload)],
            depth_max,
            tasks_max: 1,
        };
        let block_bytes = config.block_bytes.get();
        let usual = workload(section.kind, block_bytes)?;
        let most = Case::all(config).into_iter();
        let most = most.map(|case| case.tenants(config).len()).max();
        let polite = most.unwrap_or(0).max(VICTIM_WEIGHTS.len());
        let mut tenants = vec![tenant(&usual, config.depth.get()); polite];
        for hostile in Hostile::ALL {
            // Of one that does not take part there is a seat, but no more.
            tenants.push(match hostile {
                _ if !section.hostile(hostile) => tenant(&usual, 1),
                Hostile::Flood => tenant(&workload(section.kind, HUGE_BYTES)?, FLOOD_DEPTH),
                Hostile::Signer => tenant(&workload(SIGNER, block_bytes)?, SIGNER_DEPTH),
                Hostile::Mute => tenant(&usual, 1),
            });
        }
        let cores = Tenants::cores(host).ok_or_else(|| Stopped::NotSupported {
            what: "a core each for clients and worker".to_owned(),
            remedy: "allow more CPUs (taskset, cpuset)".to_owned(),
        })?;
        let setup = Setup {
            cores,
            backend: Arc::clone(backend),
            tenants,
        };
        Ok(Self {
            section: section.clone(),
            bench: Bench::start(&setup).map_err(Stopped::failed)?,
            cores,
            workload: usual,
            polite,
            l2_bytes: host.l2_bytes,
        })
    }

    /// Everyone at work, by seat.
    fn at_work(&self, case: Case) -> Vec<AtWork> {
        let tenants = case.tenants(&self.section.config);
        let stride = self.workload.slot.stride;
        let wished = self.section.config.depth.get();
        let depth = depth(wished, tenants.len(), stride, self.l2_bytes);
        let at_work = |(place, weight)| {
            let (seat, load) = match (place, case) {
                (Place::Hostile, Case::Beside(hostile)) => {
                    let load = match hostile {
                        Hostile::Flood => Load::closed(0, FLOOD_DEPTH),
                        Hostile::Signer => Load::closed(0, SIGNER_DEPTH),
                        // No thread of its own: its lane is filled by hand.
                        Hostile::Mute => idle(),
                    };
                    (self.seat(hostile), load)
                }
                (Place::Tenant(index), _) => (index, Load::closed(0, depth)),
                (Place::Hostile | Place::All, _) => unreachable!("no case has it"),
            };
            AtWork { seat, weight, load }
        };
        tenants.into_iter().map(at_work).collect()
    }

    fn seat(&self, hostile: Hostile) -> usize {
        self.polite + hostile as usize
    }

    /// Loads of all seats, each with its rules; who is not at work has no lane.
    fn prepare(&mut self, case: Case, at_work: &[AtWork]) -> Result<Vec<Load>, Stopped> {
        let config = &self.section.config;
        let mut loads = Vec::new();
        for seat in 0..self.polite + Hostile::ALL.len() {
            let own = at_work.iter().find(|one| one.seat == seat);
            let load = own.map_or_else(idle, |own| own.load);
            let mut regime = Regime::fixed(Moderation::Armed, Settings::UNLIMITED);
            let mut quota = Quota::UNLIMITED;
            match case {
                Case::Cap if seat == 0 => {
                    let cap = Settings::cap(self.section.cap()).map_err(Stopped::failed)?;
                    regime = Regime::fixed(Moderation::Each, cap);
                }
                Case::Quota if seat == 0 => {
                    let per_s = config.quota_per_s.get() as u64;
                    quota = quota.and_requests(per_s).map_err(Stopped::failed)?;
                }
                _ => {}
            }
            let function = self.bench.function(seat);
            if let Some(own) = own {
                function.set_weight(own.weight).map_err(Stopped::failed)?;
            }
            function.set_quota(quota);
            let regime = regime.for_tasks(load.tasks);
            self.bench.apply(seat, regime).map_err(Stopped::failed)?;
            loads.push(load);
        }
        Ok(loads)
    }

    /// The whole, and beside it each tenant.
    fn reading(&self, case: Case, at_work: &[AtWork], record: &Record, window: &Window) -> Reading {
        let speed = |one: &AtWork| window.mb_per_s(one.seat);
        let clients: f64 = at_work.iter().map(|one| window.client_cpus(one.seat)).sum();
        let speeds: Vec<_> = at_work.iter().map(speed).collect();
        let weights: Vec<_> = at_work.iter().map(|one| f64::from(one.weight)).collect();
        let fairness = || Fairness::of(&speeds, &weights);
        let fairness = case.is_shared_out().then(fairness).flatten();
        let Fairness { whole, shares } = fairness.unwrap_or_default();
        let polite = at_work.iter().filter(|one| one.seat < self.polite);
        // What hostile ones have in flight is theirs: that it fills caches is
        // part of what others must bear.
        let in_flight: usize = polite.map(|one| one.load.depth).sum();
        let all = window.tenants.iter();
        let evidence = Evidence {
            requests: all.map(|share| share.counters.requests).sum(),
            times: record.facts.times,
            step_ns: record.facts.step_ns,
            pause_ns: record.facts.pause_ns,
            busy_cpus: window.worker_cpus() + clients,
            in_flight_bytes: in_flight * self.workload.slot.stride,
            cores: self.cores,
            cpus: self.cores.all().len(),
            crowd: 0,
            rates: None,
        };
        let verdict = busy(case, window.worker_cpus());
        let judged = |values| Reading {
            verdict: verdict.clone(),
            evidence: Some(evidence),
            ..Reading::new(values)
        };
        let mut values = vec![
            (SPEED, speeds.iter().sum()),
            (CLIENT_CPU, clients * 100.0),
            (WORKER_CPU, window.worker_cpus() * 100.0),
        ];
        values.extend(whole);
        let mut reading = judged(values);
        let tenants = at_work.iter().enumerate().map(|(index, one)| {
            let mut values = vec![
                (SPEED, speeds[index]),
                (REQUESTS, window.requests_per_s(one.seat)),
                (NOTIFICATIONS, window.notifications_per_s(one.seat)),
            ];
            values.extend(shares.get(index).map(|&share| (SHARE, share)));
            judged(values)
        });
        reading.beside = tenants.collect();
        reading
    }
}

/// A tenant in a trial.
struct AtWork {
    seat: usize,
    weight: u32,
    load: Load,
}

/// Of a tenant without a thread at work.
fn idle() -> Load {
    Load::closed(0, 1).with_tasks(0)
}

impl Rig<Tenants> for OnBench {
    fn trial(
        &mut self,
        subject: &Subject<Place, Case>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let case = subject.arm;
        let at_work = self.at_work(case);
        let loads = self.prepare(case, &at_work)?;
        let mute = self.bench.function(self.seat(Hostile::Mute));
        let is_mute = case == Case::Beside(Hostile::Mute);
        // Lives until the trial is over.
        let _full = is_mute.then(|| fill(mute, &self.workload)).transpose()?;
        let course = Course {
            window: WINDOW,
            ..Course::steady(WARM_UP, slice, loads)
        };
        let record = self.bench.run(&course, &|| !go_on());
        // What is limited would be waited for by the next trial.
        self.bench.function(0).set_quota(Quota::UNLIMITED);
        let record = record.map_err(Stopped::failed)?;
        let window = record.whole().filter(|_| go_on());
        let window = window.ok_or(Stopped::Interrupted)?;
        Ok(self.reading(case, &at_work, &record, &window))
    }
}

fn busy(case: Case, busy: f64) -> Verdict {
    if busy >= BUSY_MIN || case.is_limited() {
        return Verdict::valid();
    }
    let reason = format!(
        "the worker ran {:.0}% of the time, below {:.0}%: it was not it that limited the tenants",
        busy * 100.0,
        BUSY_MIN * 100.0
    );
    let remedy = "measure larger blocks (block_bytes), or on a quiet host";
    Verdict::new(Validity::GeneratorBound, reason, remedy)
}

/// How evenly shares follow weights.
#[derive(Default)]
struct Fairness {
    whole: Vec<(Measure, f64)>,
    /// Each one's share of what its weight entitles it to.
    shares: Vec<f64>,
}

impl Fairness {
    /// None where nothing was done.
    fn of(speeds: &[f64], weights: &[f64]) -> Option<Self> {
        let demands = vec![f64::INFINITY; weights.len()];
        let entitled = entitlements(speeds.iter().sum(), &demands, weights).ok()?;
        let whole = vec![
            (JAIN, weighted_jain_index(speeds, weights).ok()?),
            (LEAST_SHARE, share_kept(speeds, &entitled).ok()?),
        ];
        let pairs = speeds.iter().zip(&entitled);
        let shares = pairs.map(|(speed, own)| speed / own).collect();
        Some(Self { whole, shares })
    }
}

/// Requests that each of so many tenants keeps in flight: as wished, fewer
/// where three quarters of L2 would not hold them all.
pub(super) fn depth(wished: usize, tenants: usize, stride: usize, l2_bytes: u64) -> usize {
    let l2_bytes = if l2_bytes == 0 {
        L2_BYTES_USUAL
    } else {
        l2_bytes
    };
    let l2_bytes = usize::try_from(l2_bytes).unwrap_or(usize::MAX);
    let fits = l2_bytes / 4 * 3 / (tenants * stride).max(1);
    wished.min(fits.max(DEPTH_MIN))
}

/// A lane of that function, full, which nobody reaps while it lives.
fn fill(function: &CryptoFunction, workload: &Workload) -> Result<CryptoLane, Stopped> {
    let config = LaneConfig {
        depth: MUTE_DEPTH,
        ..LaneConfig::default()
    };
    let lane = function.lane(0, config, 1, 1);
    let mut lane = lane.map_err(Stopped::failed)?;
    let session = function.session(workload.kind.algorithm, &workload.material);
    let session = session.map_err(Stopped::failed)?;
    let memory = Mapping::new(workload.slot.stride * MUTE_DEPTH).map_err(Stopped::failed)?;
    let slots = |region| Slots {
        workload,
        region,
        base: 0,
    };
    let mut written = Ok(());
    slots(RegionId::SLAB).write(MUTE_DEPTH, |offset, bytes| {
        written = written.and(memory.write(offset, bytes));
    });
    written.map_err(Stopped::failed)?;
    let region = lane.register(Arc::new(memory)).map_err(Stopped::failed)?;
    let session = lane.attach(&session).map_err(Stopped::failed)?;
    for slot in 0..MUTE_DEPTH {
        let call = slots(region).enqueue(&mut lane, session, slot, slot as u64);
        call.map_err(Stopped::failed)?;
    }
    lane.kick();
    Ok(lane)
}
