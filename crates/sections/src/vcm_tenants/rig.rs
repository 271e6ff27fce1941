//! The bench with its tenants, and trials.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use crypto::{Algorithm, Kind, Operation, RsaBits, RsaScheme, Workload};
use engine::{CryptoFunction, CryptoLane, LaneConfig};
use kit::experiment::Rig;
use kit::fairness::{SHARE, fairness};
use kit::host::Host;
use kit::load::benches::{self, CLIENT_CPU, NOTIFICATIONS, REQUESTS, SPEED, WARM_UP, WORKER_CPU};
use kit::load::rig::{Bench, Cores, Course, Load, Record, Regime, Tenant, Window};
use kit::load::slots::Slots;
use kit::subject::{Reading, Stopped, Subject};
use policy::{Moderation, Quota, Settings};
use trial::{Validity, Verdict};

use super::Tenants;
use super::case::{Case, Hostile, Place, VICTIM_WEIGHTS};

/// A worker with less work than this leaves shares to chance.
const BUSY_MIN: f64 = 0.95;
/// What is taken for L2 where the host does not say.
const L2_BYTES_USUAL: u64 = 1 << 20;
/// Shallower lanes run dry.
const DEPTH_MIN: usize = 4;
/// What floods.
const HUGE_BYTES: usize = 1 << 20;
const FLOOD_DEPTH: usize = 64;
pub(super) const SIGNER: Kind = Kind::new(
    Algorithm::Rsa(RsaBits::B2048, RsaScheme::Pkcs1),
    Operation::Sign,
);
const SIGNER_DEPTH: usize = 16;
/// As deep as the mute one fills its lane.
const MUTE_DEPTH: usize = 1024;

/// Why a bench gave nothing.
type Failure = Box<dyn Error + Send + Sync>;

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

/// A tenant in a trial.
struct AtWork {
    seat: usize,
    weight: u32,
    load: Load,
}

impl OnBench {
    pub(super) fn start(section: &Tenants, host: &Host) -> Result<Self, Failure> {
        let config = &section.config;
        let backend = config.backend.get();
        let workload = |kind, bytes| Workload::new(backend, kind, bytes).map(Arc::new);
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
        let cores = Tenants::cores(host).expect("else there are no subjects");
        Ok(Self {
            section: section.clone(),
            bench: Bench::start(cores, backend, &tenants)?,
            cores,
            workload: usual,
            polite,
            l2_bytes: host.l2_bytes,
        })
    }

    fn seat(&self, hostile: Hostile) -> usize {
        self.polite + hostile as usize
    }

    /// Everyone at work, a hostile one last.
    fn at_work(&self, case: Case) -> Vec<AtWork> {
        let tenants = case.tenants(&self.section.config);
        let stride = self.workload.slot.stride;
        let wished = self.section.config.depth.get();
        let depth = depth(wished, tenants.len(), stride, self.l2_bytes);
        let at_work = |(index, (place, weight))| {
            let (seat, load) = match (place, case) {
                (Place::Hostile, Case::Beside(hostile)) => match hostile {
                    Hostile::Flood => (self.seat(hostile), Load::closed(0, FLOOD_DEPTH)),
                    Hostile::Signer => (self.seat(hostile), Load::closed(0, SIGNER_DEPTH)),
                    // No thread of its own: its lane is filled by hand.
                    Hostile::Mute => (self.seat(hostile), idle()),
                },
                _ => (index, Load::closed(0, depth)),
            };
            AtWork { seat, weight, load }
        };
        tenants.into_iter().enumerate().map(at_work).collect()
    }

    /// Loads of all seats, each with its rules; who is not at work has no lane.
    fn prepare(&mut self, case: Case, at_work: &[AtWork]) -> Result<Vec<Load>, Failure> {
        let config = &self.section.config;
        let mut loads = Vec::new();
        for seat in 0..self.polite + Hostile::ALL.len() {
            let own = at_work.iter().find(|one| one.seat == seat);
            let load = own.map_or_else(idle, |own| own.load);
            let mut regime = Regime::fixed(Moderation::Armed, Settings::UNLIMITED);
            let mut quota = Quota::UNLIMITED;
            match case {
                Case::Cap if seat == 0 => {
                    let cap = Settings::cap(self.section.cap())?;
                    regime = Regime::fixed(Moderation::Each, cap);
                }
                Case::Quota if seat == 0 => {
                    quota = quota.and_requests(config.quota_per_s.get() as u64)?;
                }
                _ => {}
            }
            let function = self.bench.function(seat);
            if let Some(own) = own {
                function.set_weight(own.weight)?;
            }
            function.set_quota(quota);
            self.bench.apply(seat, regime.for_tasks(load.tasks))?;
            loads.push(load);
        }
        Ok(loads)
    }

    fn run(
        &mut self,
        case: Case,
        at_work: &[AtWork],
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Record, Failure> {
        let loads = self.prepare(case, at_work)?;
        let mute = self.bench.function(self.seat(Hostile::Mute));
        let is_mute = case == Case::Beside(Hostile::Mute);
        // Lives until the trial is over.
        let _full = is_mute.then(|| fill(mute, &self.workload)).transpose()?;
        let course = Course::steady(WARM_UP, slice, loads);
        let record = self.bench.run(&course, &|| !go_on());
        // What is limited would be waited for by the next trial.
        self.bench.function(0).set_quota(Quota::UNLIMITED);
        Ok(record?)
    }

    /// The whole, and beside it each tenant.
    fn reading(&self, case: Case, at_work: &[AtWork], record: &Record, window: &Window) -> Reading {
        let speeds: Vec<_> = at_work
            .iter()
            .map(|one| window.mb_per_s(one.seat))
            .collect();
        let weights: Vec<_> = at_work.iter().map(|one| f64::from(one.weight)).collect();
        let fairness = || fairness(&speeds, &weights);
        let fairness = case.is_shared_out().then(fairness).flatten();
        let (whole, shares) = fairness.unzip();
        let shares = shares.unwrap_or_default();
        // What hostile ones have in flight is theirs: that it fills caches is
        // part of what others must bear.
        let polite = at_work.iter().filter(|one| one.seat < self.polite);
        let in_flight = (polite.map(|one| one.load.depth).sum(), 1);
        let (cpus, all) = (self.cores.cpus(), window.together());
        let of_all = benches::reading(&all, &record.facts, &cpus, &self.workload, in_flight);
        let judged = |values| Reading {
            verdict: busy(case, window.worker_cpus()),
            evidence: of_all.evidence,
            ..Reading::new(values)
        };
        let tenants = at_work.iter().enumerate().map(|(index, one)| {
            let mut values = vec![
                (SPEED, speeds[index]),
                (REQUESTS, window.requests_per_s(one.seat)),
                (NOTIFICATIONS, window.notifications_per_s(one.seat)),
            ];
            values.extend(shares.get(index).map(|&share| (SHARE, share)));
            judged(values)
        });
        let mut values = vec![
            (SPEED, speeds.iter().sum()),
            (CLIENT_CPU, all.client_cpus(0) * 100.0),
            (WORKER_CPU, window.worker_cpus() * 100.0),
        ];
        values.extend(whole.into_iter().flatten());
        Reading {
            beside: tenants.collect(),
            ..judged(values)
        }
    }
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
        let record = self.run(case, &at_work, slice, go_on);
        let record = record.map_err(Stopped::Failed)?;
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
        "the worker ran {:.0}% of the time, below {:.0}%: something else limited the tenants",
        busy * 100.0,
        BUSY_MIN * 100.0
    );
    let remedy = "measure larger blocks (block_bytes), or on a quiet host";
    Verdict::new(Validity::GeneratorBound, reason, remedy)
}

/// Requests that each of this many tenants keeps in flight: as wished, fewer
/// where three quarters of L2 would not hold them all.
pub(super) fn depth(wished: usize, tenants: usize, stride: usize, l2_bytes: u64) -> usize {
    let known = Some(l2_bytes).filter(|bytes| *bytes > 0);
    let l2_bytes = usize::try_from(known.unwrap_or(L2_BYTES_USUAL)).unwrap_or(usize::MAX);
    let fits = l2_bytes / 4 * 3 / (tenants * stride).max(1);
    wished.min(fits.max(DEPTH_MIN))
}

/// A lane of that function, full, which is not reaped while it lives.
fn fill(function: &CryptoFunction, workload: &Workload) -> Result<CryptoLane, Failure> {
    let config = LaneConfig {
        depth: MUTE_DEPTH,
        ..LaneConfig::default()
    };
    let mut lane = function.lane(0, config, 1, 1)?;
    let session = function.session(workload.kind.algorithm, &workload.material)?;
    let slots = Slots::of_lane(&mut lane, workload, MUTE_DEPTH)?;
    let session = lane.attach(&session)?;
    for slot in 0..MUTE_DEPTH {
        slots.enqueue(&mut lane, session, slot, slot as u64)?;
    }
    lane.kick();
    Ok(lane)
}
