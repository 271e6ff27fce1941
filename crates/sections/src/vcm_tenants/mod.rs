//! The section `vcm-tenants`: 1 to 16 virtual functions on one physical
//! function, equal, weighted, and beside a hostile one.
//!
//! A trial is of a case: it says who is at work, and under which weights and
//! limits. It gives values of all together and of each tenant, which are places
//! of their own. All cases run on one bench, in which every tenant is a virtual
//! function with a client thread; clients have one core, the worker another.

mod case;
mod findings;
mod rig;
#[cfg(test)]
mod tests;

use crypto::{Algorithm, Kind};
use kit::config::checks::{BLOCK_BYTES_MAX, check_blocks, check_kind, check_sized, check_slots};
use kit::fairness::{JAIN, LEAST_SHARE, SHARE};
use kit::load::benches::{CLIENT_CPU, NOTIFICATIONS, OVERHEAD_S, REQUESTS, SPEED, WORKER_CPU};
use kit::load::rig::Cores;
use kit::place::Placement;
use kit::prelude::*;
use kit::words::{size, what};
use policy::{Settings, WEIGHT_MAX};

use case::{Case, Hostile, Place};

/// Each has a client thread.
const TENANTS_MAX: usize = 64;
/// What a tenant must keep beside a hostile one.
const SHARE_KEPT: f64 = 0.95;
/// Starting the bench, an RSA key, and filling the memory, seconds.
const START_S: f64 = 1.0;
/// What a hostile tenant has in flight must be done before the next trial.
const HOSTILE_S: f64 = 0.06;

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Numbers of equal tenants
        tenants: Several<Count<1, TENANTS_MAX>> = [1, 2, 4, 8, 16],
        /// Weights of tenants that work together
        weights: Several<Count<1, { WEIGHT_MAX as usize }>> = [1, 2, 4],
        /// Tenants that take no heed of others
        hostile: Several<Name<Hostile>> = Hostile::ALL.map(Name),
        /// Algorithm of every request
        algorithm: Name<Algorithm> = "sha256",
        /// Bytes of one request
        block_bytes: Bytes<1, BLOCK_BYTES_MAX> = 8192,
        /// Requests that each keeps in flight; fewer where many would not fit the cache together
        depth: Count<1, { engine::DEPTH_MAX }> = 32,
        /// Notifications/s of a tenant that is capped (0: none is)
        cap_per_s: Count<0, { u32::MAX as usize }> = 2000,
        /// Requests/s of a tenant that has a quota (0: none has)
        quota_per_s: Count<0, 1_000_000_000> = 5000,
        /// Library that computes; of one with multi-buffer code the speed also depends on how full lanes are
        backend: BackendName = "aws-lc",
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct Tenants {
    config: Config,
    kind: Kind,
}

impl Tenants {
    fn cores(host: &Host) -> Option<Cores> {
        Cores::of(&host.cpus, Placement::Split)
    }

    fn cap(&self) -> u32 {
        u32::try_from(self.config.cap_per_s.get()).unwrap_or(u32::MAX)
    }

    fn hostile(&self, hostile: Hostile) -> bool {
        self.config.hostile.contains(&Name(hostile))
    }

    fn spot(&self, case: Case, place: Place, weight: Option<u32>) -> Spot {
        let spot = match place {
            Place::All => Spot::new().also("tenant", "all"),
            Place::Tenant(index) => {
                let number = (index + 1).to_string();
                Spot::new().with("tenant", number.as_str(), format!("tenant {number}"))
            }
            Place::Hostile => Spot::new().with("tenant", "hostile", "the hostile one"),
        };
        let spot = match weight {
            Some(weight) => spot.with("weight", u64::from(weight), format!("weight {weight}")),
            None => spot,
        };
        let (name, words) = case.said(&self.config);
        spot.with("case", name.as_str(), words)
    }

    /// The trial of all, and what it gives of each.
    fn of_case(&self, case: Case) -> Vec<Subject<Place, Case>> {
        let is_basic = matches!(case, Case::Polite | Case::Beside(_));
        let overhead_s = match case {
            Case::Beside(_) => HOSTILE_S,
            _ => 0.0,
        };
        let whole = Subject::new(Place::All, case, self.spot(case, Place::All, None))
            .weighing(1.0, overhead_s);
        let tenants = case.tenants(&self.config).into_iter();
        let tenants = tenants.map(|(place, weight)| {
            Subject::new(place, case, self.spot(case, place, Some(weight))).sharing_trial()
        });
        let all = std::iter::once(whole).chain(tenants);
        all.map(|subject| subject.ranked(u8::from(!is_basic)))
            .collect()
    }
}

impl Experiment for Tenants {
    const NAME: &'static str = "vcm-tenants";
    const TITLE: &'static str = "VCM: virtual functions, equal, weighted, and beside a hostile one";
    const QUESTION: Question = Question {
        what: "What a tenant keeps of its speed beside a hostile one",
        against: "the VCM paper's assumption that no virtual function takes another's share",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Case;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        let kind = Kind::from(config.algorithm.0);
        let own = Self { config, kind };
        let Config {
            backend,
            block_bytes,
            depth,
            weights,
            ..
        } = &own.config;
        check_sized("algorithm", kind)?;
        check_kind("algorithm", backend, kind)?;
        check_blocks("block_bytes", kind, [block_bytes.get()])?;
        if own.hostile(Hostile::Signer) {
            check_kind("hostile", backend, rig::SIGNER)?;
        }
        if weights.len() > TENANTS_MAX {
            let reason = format!("{} weights, the limit is {TENANTS_MAX}", weights.len());
            return Err(ConfigError::value("weights", reason));
        }
        if own.cap() > 0 {
            Settings::cap(own.cap()).map_err(|error| ConfigError::value("cap_per_s", error))?;
        }
        let cases = Case::all(&own.config);
        let most = cases.iter().map(|case| case.tenants(&own.config).len());
        let Some(most) = most.max() else {
            let reason = "with no hostile tenant, weights or limits either nothing is measured";
            return Err(ConfigError::value("tenants", reason));
        };
        let remedy = "lower depth, block_bytes or tenants";
        let all = (most.saturating_mul(depth.get()), block_bytes.get());
        check_slots("depth", all, remedy)?;
        Ok(own)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<Place, Case>> {
        let cases = Self::cores(host).map_or_else(Vec::new, |_| Case::all(&self.config));
        cases
            .into_iter()
            .flat_map(|case| self.of_case(case))
            .collect()
    }

    fn left_out(&self, host: &Host) -> Option<String> {
        let reason = "shares are told apart only where clients and worker have a CPU each: this process may use one";
        Self::cores(host).is_none().then(|| reason.to_owned())
    }

    /// Shorter gives the slow tenants too few turns; longer says no more than
    /// another round would.
    fn times(&self) -> Times {
        Times::new((0.02, 0.1), OVERHEAD_S)
    }

    fn start_s(&self, _: &Subjects<Self>) -> f64 {
        START_S
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let bench = rig::OnBench::start(self, host).map_err(Stopped::Failed)?;
        Ok(Box::new(bench))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![
            SPEED,
            REQUESTS,
            NOTIFICATIONS,
            CLIENT_CPU,
            WORKER_CPU,
            JAIN,
            LEAST_SHARE,
            SHARE,
        ]
    }

    /// What each victim keeps beside each hostile tenant.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Case>> {
        let is_kept = |subject: &&Subject<Place, Case>| is_victim(&subject.place, &subject.arm);
        let pair = |subject: &Subject<Place, Case>| {
            let arms = (subject.arm, Case::Polite);
            Pair::at(subject.place, arms, SPEED).wanting(SHARE_KEPT)
        };
        subjects.iter().filter(is_kept).map(pair).collect()
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let of = format!(
            "{}, {}, up to {} in flight each",
            what(self.kind),
            size(self.config.block_bytes.get()),
            self.config.depth.get()
        );
        let kept = format!(
            "{of}. Interleaved pairs with the 95% interval of their median; the target is {SHARE_KEPT}. Above 1: the hostile one leaves some of its own share."
        );
        let together = format!("{of}; clients on one core, the worker on another.");
        let shared = format!(
            "{of}. Each keeps its lane full. A share is a tenant's speed over what its weight entitles it to of the sum; Jain's index of speeds over weights is 1 when all have that."
        );
        let of_all = [
            Cells::of(SPEED, "all"),
            Cells::of(LEAST_SHARE, "least share"),
            Cells::of(JAIN, "Jain's index"),
            Cells::of(WORKER_CPU, "worker"),
            Cells::Verdict,
        ];
        let of_each = [
            Cells::of(SPEED, "speed"),
            Cells::of(REQUESTS, "requests"),
            Cells::of(NOTIFICATIONS, "notifications"),
            Cells::of(SHARE, "share"),
            Cells::Ratio(SPEED, Case::Polite, "kept"),
            Cells::Verdict,
        ];
        vec![
            Rows::new(
                "Speed beside a hostile tenant over that beside a polite one",
                kept,
                "share kept",
                Shown::Ratio(SPEED, Case::Polite),
            )
            .series("case")
            .only(is_victim)
            .into(),
            Rows::new(
                "Speed of equal virtual functions on one worker, together",
                together,
                "speed",
                Shown::Value(SPEED),
            )
            .only(|place, case| *place == Place::All && matches!(case, Case::Equal(_)))
            .into(),
            Sheet::new("How virtual functions share one worker", shared, of_all)
                .only(|place, case: &Case| *place == Place::All && case.is_shared_out())
                .into(),
            Sheet::new(
                "Each virtual function's part",
                "A quota may be used for 10 ms in advance. What is kept beside a hostile tenant: medians of interleaved pairs with their 95% interval.",
                of_each,
            )
            .only(|place, case| *place != Place::All && !matches!(case, Case::Equal(_)))
            .into(),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }
}

fn is_victim(place: &Place, case: &Case) -> bool {
    matches!((place, case), (Place::Tenant(_), Case::Beside(_)))
}
