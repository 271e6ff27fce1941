//! The kernel's own benchmark: how it is called so that it measures a driver,
//! and the rates in what it prints.

mod lines;

use std::collections::BTreeMap;

use trial::stats::median;

use kit::guest::kspeed::catalogue::{Driver, Kind};
use lines::{Entry, Figure, parse};

/// Lengths of ciphers, rounded up to whole blocks; all are compiled in.
const CBC_BYTES: &[usize] = &[16, 64, 128, 256, 1024, 1424, 4096];
const GCM_BYTES: &[usize] = &[16, 64, 256, 512, 1024, 1420, 4096, 8192];
/// Of hashes, those in which the whole request is handed over at once.
const HASH_BYTES: &[usize] = &[16, 64, 256, 1024, 2048, 4096, 8192];
/// Cycles are counted over this many operations.
const OPERATIONS: u64 = 8;

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// Requests in flight; none: one after the other.
    pub(super) num_mb: Option<usize>,
    /// Seconds for each length; 0: cycles of eight operations.
    pub(super) seconds: usize,
}

/// What is known of one length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) requests_per_s: f64,
    /// How many requests that rests on.
    pub(super) completed: u64,
}

/// By length of a request.
type Rates = BTreeMap<usize, Rate>;

/// One of its modes.
struct Mode {
    number: u32,
    tests: usize,
    /// What a pass of all tests takes where cycles are counted, seconds.
    pass_s: f64,
    /// Lengths of requests.
    bytes: &'static [usize],
}

impl Call {
    fn mode(self, kind: Kind) -> Mode {
        let of = |number, tests, pass_s, bytes| Mode {
            number,
            tests,
            pass_s,
            bytes,
        };
        match (kind, self.num_mb) {
            (Kind::Cbc, None) => of(500, 42, 0.1, CBC_BYTES),
            (Kind::Cbc, Some(_)) => of(600, 42, 0.4, CBC_BYTES),
            (Kind::Gcm, None) => of(211, 64, 0.15, GCM_BYTES),
            (Kind::Gcm, Some(_)) => of(215, 64, 0.6, GCM_BYTES),
            (Kind::Sha256, None) => of(400, 22, 0.2, HASH_BYTES),
            // It had many hashes at once, and no longer has.
            (Kind::Sha256, Some(_)) => of(400, 0, 0.0, &[]),
            // It measures no signatures, and takes no driver by its name.
            (Kind::Rsa | Kind::Named, _) => of(0, 0, 0.0, &[]),
        }
    }

    /// Whether it measures requests of that length on that driver.
    pub(super) fn measures(self, driver: Driver, bytes: usize) -> bool {
        self.mode(driver.kind).bytes.contains(&bytes)
    }

    /// The script; it prints what the calls printed. Each ends with an error,
    /// so that nothing need be unloaded.
    pub(super) fn script(self, driver: Driver) -> String {
        let more = match (driver.kind, self.num_mb) {
            // Of hashes it takes a driver's name.
            (Kind::Sha256, _) => format!("alg=\"{driver}\""),
            (_, Some(num_mb)) => format!("num_mb={num_mb}"),
            (_, None) => String::new(),
        };
        let (mode, seconds) = (self.mode(driver.kind).number, self.seconds);
        let one = format!("modprobe tcrypt mode={mode} {more} sec={seconds} 2>/dev/null\n");
        format!("dmesg -c > /dev/null\n{}dmesg", one.repeat(self.times()))
    }

    /// How often it is called in a round: eight operations say little.
    fn times(self) -> usize {
        match (self.seconds, self.num_mb) {
            (0, None) => 2,
            _ => 1,
        }
    }

    /// How long its calls of a round take, seconds, about. Each runs twice,
    /// since busybox loads again what ended with an error, as tcrypt always
    /// does.
    pub(super) fn expected_s(self, driver: Driver) -> f64 {
        let Mode { tests, pass_s, .. } = self.mode(driver.kind);
        2.0 * self.times() as f64 * (pass_s + (tests * self.seconds) as f64)
    }

    /// What it found of that driver: encryption with a 128-bit key, or the
    /// digest of the whole request. Where a length has several figures, their
    /// median.
    ///
    /// # Errors
    /// In words, where there is none: with the drivers that it chose instead.
    pub(super) fn rates(
        self,
        text: &str,
        driver: Driver,
        cycles_per_ns: f64,
    ) -> Result<Rates, String> {
        let entries = parse(text).map_err(|error| error.to_string())?;
        let mut found: BTreeMap<usize, Vec<Rate>> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| self.is_own(entry, driver)) {
            if let Ok(bytes) = usize::try_from(entry.test.bytes) {
                let rate = self.rate(entry.figure, cycles_per_ns);
                found.entry(bytes).or_default().extend(rate);
            }
        }
        if found.is_empty() {
            return Err(absence(&entries, driver));
        }
        let middle = |(bytes, rates): (usize, Vec<Rate>)| {
            let all: Vec<_> = rates.iter().map(|rate| rate.requests_per_s).collect();
            let middle = Rate {
                requests_per_s: median(&all)?,
                completed: rates.iter().map(|rate| rate.completed).sum(),
            };
            Some((bytes, middle))
        };
        Ok(found.into_iter().filter_map(middle).collect())
    }

    fn is_own(self, Entry { header, test, .. }: &Entry, driver: Driver) -> bool {
        let facts = driver.kind.facts();
        let is_asked = match driver.kind {
            Kind::Sha256 => header.algorithm == driver.name && test.update_bytes == test.bytes,
            _ => {
                header.algorithm == facts.kernel_name
                    && header.is_encryption
                    && test.key_bits == facts.key_bytes as u64 * 8
            }
        };
        is_asked && header.driver == driver.name && header.is_multibuffer == self.num_mb.is_some()
    }

    /// None of a figure that is no rate.
    fn rate(self, figure: Figure, cycles_per_ns: f64) -> Option<Rate> {
        let (requests_per_s, completed) = match figure {
            Figure::Cycles(cycles) => {
                let at_once = self.num_mb.unwrap_or(1) as u64;
                (cycles_per_ns * 1e9 / cycles as f64, OPERATIONS * at_once)
            }
            Figure::Operations { count, seconds } => (count as f64 / seconds as f64, count),
        };
        let is_rate = requests_per_s.is_finite() && requests_per_s > 0.0;
        is_rate.then_some(Rate {
            requests_per_s,
            completed,
        })
    }
}

fn absence(entries: &[Entry], driver: Driver) -> String {
    let kernel_name = driver.kind.facts().kernel_name;
    let headers = entries.iter().map(|entry| &entry.header);
    let others = headers.filter(|header| header.algorithm == kernel_name);
    let mut others: Vec<_> = others.map(|header| header.driver.as_str()).collect();
    others.dedup();
    match &*others.join(" and ") {
        "" => format!("tcrypt printed no figure of {driver}"),
        others => format!(
            "tcrypt measured {others} instead of {driver}: it takes the driver of the highest priority"
        ),
    }
}
