//! The section's table in a scenario.

use serde::{Deserialize, Serialize};

use crate::kspeed::catalogue::{Chosen, DRIVERS, Driver};
use crate::kspeed::method::Method;
use kit::ConfigError;
use kit::config::checks::{names, pairs, positive, some, within};

/// What the module takes.
const SIZE_BYTES: (usize, usize) = (16, 65_536);
const DEPTH_MAX: usize = 256;
const THREADS_MAX: usize = 64;
/// A trial is longer than the guest's timer tick, and short enough that an
/// interrupt ends the run within a second.
const SECONDS_MAX: f64 = 0.8;
const TCRYPT_SECONDS_MAX: usize = 4;
/// More is a slip of the finger: a round would take hours.
const PLACES_MAX: usize = 512;

/// The keys, all optional. 0 means: chosen for the time there is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Table {
    /// The kernel's names for them.
    drivers: Vec<String>,
    sizes_bytes: Vec<usize>,
    /// Requests in flight of batch, async and resubmit; tcrypt's num_mb.
    depth: usize,
    /// Kernel threads that submit, in total.
    threads: Vec<usize>,
    methods: Vec<String>,
    /// Seconds that tcrypt takes for each of its sizes; 0: it counts the
    /// cycles of a few operations instead.
    tcrypt_seconds: usize,
    /// Virtual CPUs of the guest.
    vcpus: usize,
    /// QEMU's model of the guest's CPU.
    cpu: String,
    /// Release of the guest's kernel; empty for the first of the cache.
    kernel: String,
    /// Seconds of one trial.
    seconds: f64,
    /// Rounds; every two methods give that many interleaved pairs.
    pairs: usize,
    seed: u64,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            drivers: DRIVERS
                .iter()
                .map(|driver| driver.name.to_owned())
                .collect(),
            sizes_bytes: vec![64, 512, 1024, 4096, 16_384, 65_536],
            depth: 16,
            threads: vec![1],
            methods: Method::ALL.map(|method| method.name().to_owned()).to_vec(),
            tcrypt_seconds: 0,
            vcpus: 1,
            cpu: "max".to_owned(),
            kernel: String::new(),
            seconds: 0.0,
            pairs: 0,
            seed: 1,
        }
    }
}

/// The configuration, parsed.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) table: Table,
    pub(super) drivers: Vec<&'static Driver>,
    /// Rising, none twice.
    pub(super) sizes_bytes: Vec<usize>,
    pub(super) depth: usize,
    /// Rising, none twice.
    pub(super) threads: Vec<usize>,
    pub(super) methods: Vec<Method>,
    pub(super) tcrypt_seconds: usize,
    pub(super) vcpus: u32,
    pub(super) cpu: String,
    /// None: the first of the cache.
    pub(super) kernel: Option<String>,
    pub(super) seconds: Option<f64>,
    pub(super) pairs: Option<usize>,
    pub(super) seed: u64,
}

impl TryFrom<Table> for Config {
    type Error = ConfigError;

    fn try_from(table: Table) -> Result<Self, ConfigError> {
        let drivers: Vec<Chosen> = names("drivers", &table.drivers)?;
        let vcpus_max = vm::VCPUS_MAX as usize;
        let vcpus = within("vcpus", &[table.vcpus], 1, vcpus_max)?[0];
        let seconds = table.tcrypt_seconds;
        let config = Self {
            drivers: unique(drivers.into_iter().map(|chosen| chosen.0).collect()),
            sizes_bytes: sorted(within(
                "sizes_bytes",
                &table.sizes_bytes,
                SIZE_BYTES.0,
                SIZE_BYTES.1,
            )?),
            depth: within("depth", &[table.depth], 1, DEPTH_MAX)?[0],
            threads: sorted(within("threads", &table.threads, 1, THREADS_MAX)?),
            methods: unique(names("methods", &table.methods)?),
            tcrypt_seconds: within("tcrypt_seconds", &[seconds], 0, TCRYPT_SECONDS_MAX)?[0],
            vcpus: u32::try_from(vcpus).expect("checked against VCPUS_MAX"),
            cpu: table.cpu.clone(),
            kernel: (!table.kernel.is_empty()).then(|| table.kernel.clone()),
            seconds: positive("seconds", table.seconds, SECONDS_MAX)?,
            pairs: pairs(table.pairs)?,
            seed: table.seed,
            table,
        };
        config.check()?;
        Ok(config)
    }
}

impl Config {
    /// Whether a method is asked for.
    pub(super) fn has(&self, method: Method) -> bool {
        self.methods.contains(&method)
    }

    fn check(&self) -> Result<(), ConfigError> {
        some("drivers", &self.drivers)?;
        some("sizes_bytes", &self.sizes_bytes)?;
        some("threads", &self.threads)?;
        some("methods", &self.methods)?;
        self.check_lengths()?;
        let places = self.drivers.len() * self.sizes_bytes.len() * self.threads.len();
        if places > PLACES_MAX {
            let reason = format!(
                "{places} places of driver, size and threads; the limit is {PLACES_MAX}; name fewer"
            );
            return Err(ConfigError::value("sizes_bytes", reason));
        }
        vm::Shape {
            vcpus: self.vcpus,
            cpu: self.cpu.clone(),
            ..vm::Shape::default()
        }
        .check()
        .map_err(|error| ConfigError::value("cpu", error))
    }

    /// Every driver takes every size.
    fn check_lengths(&self) -> Result<(), ConfigError> {
        for driver in &self.drivers {
            let multiple = driver.kind.multiple_bytes();
            let odd = |bytes: &&usize| !bytes.is_multiple_of(multiple);
            if let Some(bytes) = self.sizes_bytes.iter().find(odd) {
                let reason = format!("{bytes}: {driver} takes multiples of {multiple} bytes only");
                return Err(ConfigError::value("sizes_bytes", reason));
            }
        }
        Ok(())
    }
}

fn sorted(mut values: Vec<usize>) -> Vec<usize> {
    values.sort_unstable();
    values.dedup();
    values
}

/// In the order given, none twice.
fn unique<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut kept = Vec::new();
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::try_from(kit::config::from_table::<Table>(text.parse().unwrap())?)
    }

    #[test]
    fn an_empty_table_is_everything() {
        let config = parse("").unwrap();
        assert_eq!(config.drivers.len(), DRIVERS.len());
        assert_eq!(config.methods, Method::ALL);
        assert_eq!((config.depth, &config.threads[..]), (16, &[1][..]));
        let config = parse("sizes_bytes = [512, 64, 512]").unwrap();
        assert_eq!(config.sizes_bytes, [64, 512]);
    }

    #[test]
    fn every_wrong_value_is_named() {
        for (text, key, part) in [
            ("drivers = ['cbc(des)']", "drivers", "cbc-aes-aesni"),
            ("drivers = []", "drivers", "at least one"),
            ("sizes_bytes = [8]", "sizes_bytes", "16 to 65536"),
            ("sizes_bytes = [131072]", "sizes_bytes", "16 to 65536"),
            ("sizes_bytes = [100]", "sizes_bytes", "multiples of 16"),
            ("depth = 0", "depth", "0 is outside 1 to 256"),
            ("depth = 257", "depth", "257 is outside 1 to 256"),
            ("threads = [0]", "threads", "0 is outside"),
            ("threads = [65]", "threads", "1 to 64"),
            ("methods = ['poll']", "methods", "resubmit"),
            ("tcrypt_seconds = 60", "tcrypt_seconds", "0 to 4"),
            ("vcpus = 0", "vcpus", "1 to 64"),
            ("cpu = 'max -device x'", "cpu", "max -device x"),
            ("seconds = 5.0", "seconds", "0 to 0.8"),
            ("pairs = 100000", "pairs", "100000"),
            ("size = 4", "size", "sizes_bytes"),
        ] {
            let Err(error) = parse(text) else {
                panic!("{text} was taken")
            };
            assert_eq!(error.key(), key, "{error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_hash_takes_any_length() {
        let text = "drivers = ['sha256-generic']\nsizes_bytes = [100]";
        assert_eq!(parse(text).unwrap().sizes_bytes, [100]);
    }
}
