//! The section `vcm-guests`: guests that share a crypto device's worker, equal, weighted,
//! and beside a hostile one.
//!
//! A trial is of a case: it says who is at work, and under which weights. It gives values
//! of all together and of each tenant, which are places of their own. Tenants live in two
//! homes. Front-ends that play guests keep the worker busy, so that shares are contended
//! for. QEMU guests have the stock driver; emulated, they compete for the host's CPUs first.

mod case;
mod findings;
mod fronts;
mod guests;
mod rig;
#[cfg(test)]
mod tests;
mod window;

use crypto::{Algorithm, Kind};
use kit::config::checks::{check_blocks, check_kind};
use kit::controllers::contender::ControllerName;
use kit::fairness::{JAIN, LEAST_SHARE, SHARE};
use kit::guest::crypto::find;
use kit::guest::{BOOT_S, check_cpu};
use kit::load::rig::Cores;
use kit::place::Placement;
use kit::prelude::*;
use kit::words::size;

use case::{Case, Home, Hostile};

const REQUESTS: Measure = Measure::higher("requests_per_s", "requests/s");
const SPEED: Measure = Measure::higher("speed_mb_per_s", "MB/s");
const INTERRUPTS: Measure = Measure::lower("interrupts_per_request", "per request");
const WORKER_CPU: Measure = Measure::fact("worker_cpu_percent", "% of a core");
/// What of the worker's time the engine charged to a tenant.
const CHARGED: Measure = Measure::fact("charged_percent", "% of a core");
/// What a hostile one did, and what of that the device refused.
const TURNS: Measure = Measure::fact("turns_per_s", "1/s");
const REFUSED: Measure = Measure::fact("refused_per_s", "1/s");

/// What a good tenant must keep beside a hostile one.
const SHARE_KEPT: f64 = 0.95;
const GUESTS_MAX: usize = 4;
/// Starting the engine and its devices.
const START_S: f64 = 0.1;
/// Connections, sessions, and what a controller needs to settle.
const OVERHEAD_S: f64 = 0.14;
/// A guest's trial is so much longer, and takes that besides: commands into guests, which
/// do not come at the same moment.
const GUEST_WEIGHT: f64 = 4.0;
const GUEST_OVERHEAD_S: f64 = 1.2;
/// The kernel's driver encrypts so.
const ALGORITHM: Algorithm = Algorithm::Aes128Cbc;

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Where tenants live: front-ends that play guests, or guests
        homes: List<Name<Home>> = Home::ALL.map(Name),
        /// Numbers of tenants at once
        guests: List<Count<1, GUESTS_MAX>> = [1, 2, 4],
        /// What a hostile tenant does; one in a guest can ask for work alone
        hostile: Several<Name<Hostile>> = Hostile::ALL.map(Name),
        /// Bytes of one request of AES-128-CBC
        sizes_bytes: List<Bytes<16, 65_536>> = [16_384, 512],
        /// Requests that each keeps in flight
        depth: Count<1, 256> = 64,
        /// Controllers, of which each tenant has one of its own; the first also where no other is named
        controllers: List<Name<ControllerName>> = ["adaptive", "speed-monitor-prose"],
        /// Processors of a guest
        vcpus: Count<1, 8> = 1,
        /// CPU model of the guests, with flags
        cpu: String = "max",
        /// Release of the guests' kernel; empty: the first of the cache
        kernel: String = "",
        /// Library that computes
        backend: BackendName = BackendName::default(),
    }
}

impl Config {
    fn controller(&self) -> &'static str {
        let first = self.controllers.iter().next();
        first.expect("a list has one at least").0.0
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct VcmGuests(Config);

/// Whose values they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Whose {
    /// Of all tenants together.
    All,
    /// Of one, counted from 0.
    Tenant(usize),
    /// Of the one that is hostile.
    Hostile,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    home: Home,
    block_bytes: usize,
    whose: Whose,
}

impl VcmGuests {
    fn cores(host: &Host) -> Option<Cores> {
        Cores::of(&host.cpus, Placement::Split)
    }

    fn homes(&self, host: &Host) -> Vec<Home> {
        let wanted = Home::ALL.into_iter();
        let wanted = wanted.filter(|home| self.0.homes.contains(&Name(*home)));
        let has_room = |home: &Home| *home == Home::Guest || Self::cores(host).is_some();
        wanted.filter(has_room).collect()
    }

    fn spot(&self, place: &Place, case: Case, weight: u32) -> Spot {
        let spot = Spot::new()
            .named("home", place.home)
            .block(place.block_bytes)
            .also("depth", self.0.depth.get() as u64)
            .also("backend", self.0.backend.name());
        let spot = match place.whose {
            Whose::All => spot.also("tenant", "all"),
            Whose::Tenant(index) => {
                let number = (index + 1).to_string();
                spot.with("tenant", number.as_str(), format!("tenant {number}"))
            }
            Whose::Hostile => spot.with("tenant", "hostile", "the hostile one"),
        };
        let spot = match case {
            Case::Weighted(_) if place.whose != Whose::All => {
                spot.following("weight", u64::from(weight), format!("weight {weight}"))
            }
            _ => spot,
        };
        let controller = case.controller(place.home, &self.0).unwrap_or("as asked");
        let is_usual = !matches!(case, Case::Equal(_, Some(_)));
        let said = if is_usual { "" } else { controller };
        spot.named("case", case)
            .following("tenants", case.tenants().len() as u64, "")
            .with("controller", controller, said)
    }

    /// What the target is of, then front-ends, then guests: they boot for a while.
    fn rank(&self, place: &Place, case: Case) -> u8 {
        let is_target = matches!(case, Case::Beside(_)) || case == Case::TWO;
        let is_first = self.0.sizes_bytes.values().next() == Some(place.block_bytes);
        match (place.home, is_first, is_target) {
            (Home::FrontEnd, true, true) => 0,
            (Home::FrontEnd, true, false) => 1,
            (Home::FrontEnd, false, _) => 2,
            (Home::Guest, true, true) => 3,
            (Home::Guest, true, false) => 4,
            (Home::Guest, false, _) => 5,
        }
    }

    /// The trial of all, and what it gives of each.
    fn of_case(&self, home: Home, block_bytes: usize, case: Case) -> Vec<Subject<Place, Case>> {
        let subject = |whose, weight| {
            let place = Place {
                home,
                block_bytes,
                whose,
            };
            Subject::new(place, case, self.spot(&place, case, weight))
                .ranked(self.rank(&place, case))
        };
        let whole = subject(Whose::All, 1);
        let whole = match home {
            Home::FrontEnd => whole,
            Home::Guest => whole.weighing(GUEST_WEIGHT, GUEST_OVERHEAD_S),
        };
        let tenants = case.tenants().into_iter().enumerate();
        // One alone is all.
        let tenants = tenants.filter(|_| case.tenants().len() > 1);
        let tenants = tenants.map(|(index, tenant)| {
            let whose = match tenant.hostile {
                Some(_) => Whose::Hostile,
                None => Whose::Tenant(index),
            };
            subject(whose, tenant.weight).sharing_trial()
        });
        std::iter::once(whole).chain(tenants).collect()
    }

    /// Guests that some subjects need at once.
    fn guests_of(subjects: &Subjects<Self>) -> usize {
        let in_guests = subjects.iter().filter(|own| own.place.home == Home::Guest);
        let counts = in_guests.map(|own| own.arm.tenants().len());
        counts.max().unwrap_or(0)
    }
}

impl Experiment for VcmGuests {
    const NAME: &'static str = "vcm-guests";
    const TITLE: &'static str = "VCM: guests that share a crypto device's worker";
    const CREATES: &'static [&'static str] = &[
        "up to four QEMU processes, and sockets of crypto devices in temporary folders; they end with the section, and with lockgate",
    ];
    /// Guests are paused while front-ends are measured.
    const TOGETHER: &'static str = "home";
    const QUESTION: Question = Question {
        what: "What a guest keeps of its share of a worker beside a hostile one",
        against: "the same guest beside an equal one",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Case;
    /// What the guests are, where there are any.
    type Notes = Option<Spot>;

    fn new(config: Config) -> Result<Self, ConfigError> {
        check_cpu(&config.cpu)?;
        let kind = Kind::from(ALGORITHM);
        check_kind("backend", &config.backend, kind)?;
        check_blocks("sizes_bytes", kind, config.sizes_bytes.values())?;
        Ok(Self(config))
    }

    fn config(&self) -> &Config {
        &self.0
    }

    /// Without guests front-ends are measured all the same.
    fn needs(&self, _: &Probe) -> Result<(), PlanError> {
        match self.0.homes.contains(&Name(Home::FrontEnd)) {
            true => Ok(()),
            false => find(&self.0.kernel).map(drop),
        }
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<Place, Case>> {
        let mut subjects = Vec::new();
        for home in self.homes(host) {
            for block_bytes in self.0.sizes_bytes.values() {
                let cases = Case::all(&self.0, home).into_iter();
                subjects.extend(cases.flat_map(|case| self.of_case(home, block_bytes, case)));
            }
        }
        subjects
    }

    fn left_out(&self, host: &Host) -> Option<String> {
        let is_wanted = self.0.homes.contains(&Name(Home::FrontEnd));
        let reason =
            "front-ends share a worker only where both have a CPU each: this process may use one";
        (is_wanted && Self::cores(host).is_none()).then(|| reason.to_owned())
    }

    fn times(&self) -> Times {
        Times::new((0.06, 0.25), OVERHEAD_S)
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        START_S + BOOT_S * Self::guests_of(subjects) as f64
    }

    fn steps(&self) -> Vec<String> {
        let is_wanted = self.0.homes.contains(&Name(Home::Guest));
        let said = || match find(&self.0.kernel) {
            Ok(parts) => format!(
                "guests, where the budget has time for any: {}",
                parts.words()
            ),
            Err(error) => format!("guests are left out: {error}"),
        };
        is_wanted.then(said).into_iter().collect()
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        Ok(Box::new(rig::OnDevices::start(self, host)?))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![
            REQUESTS,
            SPEED,
            INTERRUPTS,
            WORKER_CPU,
            CHARGED,
            JAIN,
            LEAST_SHARE,
            SHARE,
            TURNS,
            REFUSED,
        ]
    }

    /// What the good one keeps beside each hostile one; what many do over one; what other
    /// controllers do over the first.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Case>> {
        let pair = |subject: &Subject<Place, Case>| {
            let (place, case) = (subject.place, subject.arm);
            let to = |reference| Pair::at(place, (case, reference), REQUESTS);
            match (place.whose, case) {
                (Whose::Tenant(0), Case::Beside(_)) => Some(to(Case::TWO).wanting(SHARE_KEPT)),
                (Whose::All, Case::Equal(count, controller)) => match (controller, count) {
                    (None, 1) => None,
                    (None, _) => Some(to(Case::ALONE)),
                    (Some(_), _) => Some(to(Case::Equal(count, None))),
                },
                _ => None,
            }
        };
        let pairs = subjects.iter().filter_map(pair);
        let is_there = |own: &Pair<Place, Case>| {
            let (place, case) = &own.reference;
            let mut all = subjects.iter();
            all.any(|own| own.place == *place && own.arm == *case)
        };
        pairs.filter(is_there).collect()
    }

    fn views(&self) -> Vec<View<Place, Case>> {
        let of = format!(
            "AES-128-CBC, {} in flight each; counted by the device, over the same time for all.",
            self.0.depth.get()
        );
        let kept = format!(
            "{of} Interleaved pairs with the 95% interval of their median; the target is {SHARE_KEPT}. Above 1: the hostile one leaves some of its own share, of the worker or of its cache. All the work: requests of 1 MiB, 1,024 of them; in guests of 124 KiB, eight threads with 64."
        );
        let shared = format!(
            "{of} Front-ends are told as they ask where no controller is named. A share is a tenant's requests over what its weight entitles it to of all; Jain's index of requests over weights is 1 when all have that. Guests that are emulated share the host's CPUs with the worker that serves them."
        );
        let each = format!(
            "{of} Charged: what of the worker's time the engine put down to a tenant. A turn of a hostile one: a queue filled, a kick, a session, or all sessions that it gets."
        );
        let of_all = [
            Cells::of(REQUESTS, "requests"),
            Cells::of(SPEED, "speed"),
            Cells::of(INTERRUPTS, "interrupts"),
            Cells::of(LEAST_SHARE, "least share"),
            Cells::of(JAIN, "Jain's index"),
            Cells::of(WORKER_CPU, "worker"),
            Cells::Verdict,
        ];
        let of_each = [
            Cells::of(REQUESTS, "requests"),
            Cells::of(SHARE, "share"),
            Cells::of(CHARGED, "charged"),
            Cells::of(TURNS, "turns"),
            Cells::of(REFUSED, "refused"),
            Cells::of(WORKER_CPU, "worker"),
            Cells::Ratio(REQUESTS, Case::TWO, "kept"),
            Cells::Verdict,
        ];
        vec![
            Rows::new(
                "A tenant's requests beside a hostile one over those beside an equal one",
                kept,
                "share kept",
                Shown::Ratio(REQUESTS, Case::TWO),
            )
            .series("block_bytes")
            .only(|place: &Place, case: &Case| {
                place.whose == Whose::Tenant(0) && matches!(case, Case::Beside(_))
            })
            .into(),
            Sheet::new("How tenants share one worker", shared, of_all)
                .only(|place: &Place, case: &Case| {
                    place.whose == Whose::All && !matches!(case, Case::Beside(_))
                })
                .into(),
            Sheet::new("Each tenant's part", each, of_each)
                .only(|place: &Place, case: &Case| {
                    place.whose != Whose::All && !matches!(case, Case::Equal(..))
                })
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

/// A place, as sentences name it.
fn at(place: &Place) -> String {
    format!("{}, {}", place.home, size(place.block_bytes))
}
