//! The section `kspeed`: what asynchronous crypto of a kernel can do, and how
//! much of it each way to measure shows. Lockgate's kernel module in four modes,
//! the kernel's own `tcrypt`, the socket AF_ALG and user space's own crypto, in
//! one guest and interleaved (source 003).
//!
//! `guest` boots, `rig` has it run scripts; `module`, `tcrypt` and
//! [`program`] say what is run and read what it prints.

mod clock;
mod findings;
mod grid;
mod guest;
mod host;
mod method;
pub mod program;
mod rig;
mod tcrypt;

use kit::config::checks::{check_blocks, check_count};
use kit::guest::{BOOT_S, check_cpu};
use kit::prelude::*;
use trial::Price;

use kit::guest::kspeed::Driver;
use method::{Means, Method};
use rig::{CALLBACK, IN_INTERRUPT, MEASURES, OnGuest, REQUESTS, SUBMIT, WAIT, WARM_UP};

/// Shorter and a guest's timer tick weighs; longer says no more than another
/// round would, and an interrupt is to end the run within a second.
const SLICE_S: (f64, f64) = (0.04, 0.15);
const SECONDS_MAX: f64 = 0.8;
/// The command into the guest, the module's own warm-up and clean-up.
const OVERHEAD_S: f64 = 0.06;
/// Loading and unloading the modules of one driver.
const LOAD_S: f64 = 0.15;
/// Starting lockgate in the guest, its checks and set-up, and what it measures
/// longer than a slice.
const PROGRAM_S: f64 = 1.0;
/// With more, a round would take hours.
const PLACES_MAX: usize = 512;

/// Which methods are compared.
const PAIRS: [(Method, Method); 8] = [
    (Method::Async, Method::Sync),
    (Method::Batch, Method::Sync),
    (Method::Resubmit, Method::Async),
    (Method::Tcrypt, Method::Sync),
    (Method::Sync, Method::Tcrypt),
    (Method::TcryptMb, Method::Batch),
    (Method::AfAlg, Method::Async),
    (Method::Async, Method::Engine),
];
/// The same thing is measured where neither shows less than this of the other.
const SAME_MIN: f64 = 0.9;
/// What an asynchronous device gains at least by being kept busy, in an emulated
/// guest: driver, bytes, depth, factor.
const GAIN: (&str, usize, usize, f64) = ("virtio_crypto_aes_cbc", 512, 16, 3.5);

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Drivers of the guest's kernel; any other in its /proc/crypto by that name, measured by the module alone
        drivers: List<Name<Driver>> = Driver::USUAL.map(Name),
        /// Modules of the guest's kernel to load for drivers that are only named
        modules: Several<String> = [""; 0],
        /// Bytes of the key of drivers that are only named; 0: the shortest in /proc/crypto
        key_bytes: Count<0, 512> = 0,
        /// Where ciphers write in the module: as tcrypt does it (CBC in place, others not), in place, or apart
        destination: Name<Destination> = "usual",
        /// Bytes of one request
        sizes_bytes: List<Bytes<16, 65_536>> = [64, 512, 1024, 4096, 16_384, 65_536],
        /// Requests in flight of batch, async, resubmit and engine; tcrypt's num_mb
        depth: Count<1, 256> = 16,
        /// Kernel threads that submit, in total
        threads: List<Count<1, 64>> = [1],
        /// Ways to measure
        methods: List<Name<Method>> = Method::ALL.map(Name),
        /// Seconds that tcrypt takes for each of its sizes; 0: it counts the cycles of a few operations
        tcrypt_seconds: Count<0, 4> = 0,
        /// Virtual CPUs of the guest
        vcpus: Count<1, { vm::VCPUS_MAX as usize }> = 1,
        /// QEMU's model of the guest's CPU
        cpu: String = "max",
        /// Release of the guest's kernel; empty: the first of the cache; host: this host's own kernel, by the module alone
        kernel: String = "",
        /// With kernel = host: that Lockgate's module may be loaded into this host's kernel; it is unloaded at the end
        load_module: bool = false,
    }
}

/// Where a cipher's output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    Usual,
    InPlace,
    Apart,
}

impl Destination {
    const ALL: [Self; 3] = [Self::Usual, Self::InPlace, Self::Apart];

    fn name(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::InPlace => "in-place",
            Self::Apart => "apart",
        }
    }
}

kit::named!(Destination, "destination");

/// What the module said of a driver.
pub struct Note {
    driver: Driver,
    /// Whether it completes requests later than at once.
    is_async: bool,
    what: String,
}

/// The section, configured.
#[derive(Clone)]
pub struct Kspeed(Config);

/// Where in the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    driver: Driver,
    /// Empty of a driver that is only named: it follows from its type.
    operation: &'static str,
    size_bytes: usize,
    /// Kernel threads that submit.
    threads: usize,
}

impl Kspeed {
    /// How long a trial of the warm-up takes; 0 where there is none.
    fn warm_up_s(&self, subject: &Subject<Place, Method>) -> f64 {
        // tcrypt's seconds are too long for a warm-up.
        let is_long = subject.arm.means() == Means::Tcrypt && self.0.tcrypt_seconds.get() > 0;
        if is_long || subject.shares_trial {
            return 0.0;
        }
        OVERHEAD_S + subject.overhead_s + WARM_UP.as_secs_f64() * subject.weight
    }

    fn target(&self, place: Place, method: Method, reference: Method) -> Option<f64> {
        let (driver, bytes, depth, gain) = GAIN;
        let is_known =
            (place.driver.name, place.size_bytes, self.depth()) == (driver, bytes, depth);
        match (method, reference) {
            (Method::Tcrypt, Method::Sync) | (Method::Sync, Method::Tcrypt) => Some(SAME_MIN),
            (Method::Async, Method::Sync) if is_known => {
                let is_emulated =
                    !self.is_on_host() && vm::accelerator_here().0 == vm::Accelerator::Tcg;
                is_emulated.then_some(gain)
            }
            _ => None,
        }
    }
}

impl Experiment for Kspeed {
    const NAME: &'static str = "kspeed";
    const TITLE: &'static str =
        "Asynchronous crypto of a kernel, and how much of it each benchmark shows";
    const CREATES: &'static [&'static str] = &[
        "one QEMU process; it ends with the section, and with lockgate. With --kernel host instead the module lockgate_kspeed in this host's kernel; the section unloads it (rmmod lockgate_kspeed where lockgate was killed)",
    ];
    const STEADY: Option<Measure> = Some(REQUESTS);
    const TOGETHER: &'static str = "driver";
    const QUESTION: Question = Question {
        what: "How much of a kernel's asynchronous crypto a benchmark that waits shows",
        against: "the article's figures (0.10 of user space at 64 B serially, 0.33 with callbacks)",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Method;
    type Notes = Vec<Note>;

    fn new(mut config: Config) -> Result<Self, ConfigError> {
        let places = config.drivers.len() * config.sizes_bytes.len() * config.threads.len();
        let counted = (places, "places of driver, size and threads");
        check_count("sizes_bytes", counted, PLACES_MAX)?;
        for kind in config
            .drivers
            .values()
            .filter_map(|driver| driver.kind.own())
        {
            check_blocks("sizes_bytes", kind, config.sizes_bytes.values())?;
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let mut modules = config.modules.iter();
        if let Some(module) = modules.find(|module| !module.bytes().all(is_plain)) {
            let reason = format!("'{module}' is no module's name: letters, digits, - and _");
            return Err(ConfigError::value("modules", reason));
        }
        let seconds = config.common.seconds.0.map(|seconds| seconds.get());
        if let Some(seconds) = seconds.filter(|seconds| *seconds > SECONDS_MAX) {
            let reason = format!(
                "{seconds} is more than {SECONDS_MAX}, after which an interrupt would wait"
            );
            return Err(ConfigError::value("seconds", reason));
        }
        check_cpu(&config.cpu)?;
        config.sizes_bytes.sort();
        config.threads.sort();
        let own = Self(config);
        let mut drivers = own.0.drivers.values();
        let does = |kind| own.0.methods.values().any(|method| own.does(method, kind));
        let none = drivers.find(|driver| !does(driver.kind));
        none.map_or(Ok(own.clone()), |driver| {
            let reason =
                format!("none of these measures {driver} so; name sync, batch, async or resubmit");
            Err(ConfigError::value("methods", reason))
        })
    }

    fn config(&self) -> &Config {
        &self.0
    }

    fn needs(&self, _: &Probe) -> Result<(), PlanError> {
        if self.is_on_host() {
            return host::Host::look().check(self.0.load_module).map(drop);
        }
        guest::find(&self.0.kernel).map(drop)
    }

    fn subjects(&self, _: &Host) -> Vec<Subject<Place, Method>> {
        let drivers = self.0.drivers.values();
        drivers
            .flat_map(|driver| self.subjects_of(driver))
            .collect()
    }

    fn times(&self) -> Times {
        Times::new(SLICE_S, OVERHEAD_S)
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        let warm_up = subjects.iter().map(|subject| self.warm_up_s(subject));
        BOOT_S + warm_up.sum::<f64>()
    }

    fn steps(&self) -> Vec<String> {
        if self.is_on_host() {
            return vec!["lockgate_kspeed in this host's own kernel, until the end".to_owned()];
        }
        let parts = guest::find(&self.0.kernel);
        let guest = parts.map(|parts| format!("one guest: {}", parts.words()));
        guest.into_iter().collect()
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        if self.is_on_host() {
            let may_load = self.0.load_module;
            let load = move |_: &dyn Fn() -> bool| host::Host::look().load(may_load);
            return Ok(Box::new(OnGuest::new(self.clone(), host, Box::new(load))));
        }
        let parts = guest::find(&self.0.kernel).map_err(Stopped::failed)?;
        let (cpu, vcpus) = (self.0.cpu.clone(), self.0.vcpus.get() as u32);
        let modules = self.0.modules.clone();
        let boot =
            move |go_on: &dyn Fn() -> bool| guest::boot(&parts, &modules, (&cpu, vcpus), go_on);
        Ok(Box::new(OnGuest::new(self.clone(), host, Box::new(boot))))
    }

    fn measures(&self) -> Vec<Measure> {
        MEASURES.to_vec()
    }

    fn prices(&self, results: &Results<'_, Self>) -> Vec<Price> {
        findings::prices(results)
    }

    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Method>> {
        let of = |(method, reference)| {
            let own = subjects.iter().filter(move |subject| subject.arm == method);
            let change = match (method, reference) {
                (Method::Async, Method::Sync) => "Keep many requests in flight in the kernel",
                _ => "",
            };
            own.map(move |Subject { place, .. }| {
                Pair::at(*place, (method, reference), REQUESTS)
                    .wanting(self.target(*place, method, reference))
                    .changed_by(change)
            })
        };
        PAIRS.into_iter().flat_map(of).collect()
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let note = "Medians over the rounds, whiskers: their 95% interval. sync, tcrypt serial and AF_ALG have one request in flight.";
        vec![
            Lines::new(
                "How much of a driver each method shows",
                note,
                ("block_bytes", axis("request", "bytes", Scale::Log2)),
                axis("requests", "1/s", Scale::Log10),
            )
            .of(REQUESTS)
            .split(&["driver", "threads"])
            // User space is another thing measured.
            .only(|_, method| *method != Method::Engine)
            .into(),
            Sheet::new(
                "Requests a second by method",
                note,
                [Cells::of(REQUESTS, "")],
            )
            .across("method")
            .into(),
            Sheet::new(
                "What a request's time is made of",
                "Medians over the requests of the warm-up, timed by the module in the kernel. Submission: the call into the driver. Wait: from its return to the callback, with the kick of a device, its work and its interrupt, which are not told apart. Callback: the module's own, with the next submission where that resubmits. A driver that completes at once does all its work in the call: it has no wait and no interrupt.",
                [
                    Cells::of(SUBMIT, "submission"),
                    Cells::of(WAIT, "wait"),
                    Cells::of(CALLBACK, "callback"),
                    Cells::of(IN_INTERRUPT, "completed in an interrupt"),
                ],
            )
            .only(|_, method: &Method| matches!(method.means(), Means::Module(_)))
            .into(),
        ]
    }

    /// What the guest is.
    fn finish(&self, results: &Results<'_, Self>, _: &Spot, chart: &mut Chart) {
        let about = results.about.words();
        if !about.is_empty() {
            chart.note += &format!(" Measured {}.", about);
        }
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }

    fn more(&self, results: &Results<'_, Self>) -> Vec<Event> {
        let table = findings::beside(results).map(Event::Table);
        table.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
