//! What the tester itself carries by two ports that a cable joins, kept for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use forward::bench::Directions;
use forward::external::{External, PortFacts};
use forward::tester::stream::FrameSize;
use forward::topology::Family;
use probe::kept;
use serde::{Deserialize, Serialize};

use super::config::Config;

/// Version of the file's layout; another one is measured anew.
const SCHEMA: u32 = 1;

/// What it holds for: another port, another kernel or other CPUs carry another rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Subject {
    /// Name, address, driver, MTU and speed of each.
    ports: [String; 2],
    frames: String,
    cpus: [usize; 2],
    kernel: String,
}

fn kernel() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    text.trim_end().to_owned()
}

impl Subject {
    pub(super) fn of(device: &External) -> Self {
        let port = |facts: &PortFacts| {
            let speed = facts.speed_bits_per_s.map_or(0.0, |speed| speed / 1e6);
            format!(
                "{} {} {} MTU {} {speed} Mbit/s",
                facts.name,
                facts.address.map(|byte| format!("{byte:02x}")).join(":"),
                facts.kind,
                facts.mtu
            )
        };
        let cpus = &device.setup().cpus;
        Self {
            ports: device.facts().map(port),
            frames: device.kind().name().to_owned(),
            cpus: [cpus.generator, cpus.sink],
            kernel: kernel(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Calibration {
    schema: u32,
    pub subject: Subject,
    pub measured_utc: String,
    pub trial_s: f64,
    /// Frames/s without loss, all ways together, by [`key`].
    pps: BTreeMap<String, f64>,
}

/// Frames so long, this way.
fn key(config: &Config, size: FrameSize) -> String {
    let ways = match config.setup.directions {
        Directions::OneWay => "one-way",
        Directions::TwoWay => "two-way",
    };
    let family = match config.family() {
        Family::V4 => "ipv4",
        Family::V6 => "ipv6",
    };
    format!("{size} {family} {ways}")
}

impl Calibration {
    pub(super) fn new(subject: Subject, trial_s: f64) -> Self {
        Self {
            schema: SCHEMA,
            subject,
            measured_utc: probe::site::utc_now(),
            trial_s,
            pps: BTreeMap::new(),
        }
    }

    pub(super) fn pps(&self, config: &Config, size: FrameSize) -> Option<f64> {
        let pps = self.pps.get(&key(config, size)).copied();
        pps.filter(|pps| pps.is_finite() && *pps > 0.0)
    }

    pub(super) fn set(&mut self, config: &Config, size: FrameSize, pps: f64) {
        self.pps.insert(key(config, size), pps);
    }

    /// Adds what an earlier one of the same ports knew of other frames.
    #[must_use]
    pub(super) fn beside(mut self, earlier: Option<Self>) -> Self {
        for (key, pps) in earlier.into_iter().flat_map(|one| one.pps) {
            self.pps.entry(key).or_insert(pps);
        }
        self
    }
}

/// Why none is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Never,
    /// It was measured, and something is different now.
    Other(String),
}

fn path(folder: &Path, config: &Config) -> PathBuf {
    // Names of devices have no slashes; order is nothing but a name.
    let [one, other] = &config.setup.ports;
    folder.join(format!("ports-{one}+{other}.json"))
}

/// What is kept for these ports.
pub(super) fn load(config: &Config, subject: &Subject) -> Result<Calibration, Missing> {
    let folder = kept::folder().map_err(|_| Missing::Never)?;
    load_from(&folder, config, subject)
}

fn load_from(folder: &Path, config: &Config, subject: &Subject) -> Result<Calibration, Missing> {
    let text = kept::read(&path(folder, config)).ok_or(Missing::Never)?;
    let known: Option<Calibration> = serde_json::from_str(&text).ok();
    let known = known.filter(|one| one.schema == SCHEMA);
    let known = known.ok_or(Missing::Never)?;
    if known.subject == *subject {
        return Ok(known);
    }
    let (then, now) = (&known.subject, subject);
    let mut differs = Vec::new();
    for (then, now) in then.ports.iter().zip(&now.ports) {
        if then != now {
            differs.push(format!("'{now}', then '{then}'"));
        }
    }
    if then.frames != now.frames {
        differs.push(format!("{} frames, then {}", now.frames, then.frames));
    }
    if then.cpus != now.cpus {
        differs.push(format!("CPUs {:?}, then {:?}", now.cpus, then.cpus));
    }
    if then.kernel != now.kernel {
        differs.push(format!("Linux {}, then {}", now.kernel, then.kernel));
    }
    Err(Missing::Other(differs.join("; ")))
}

/// Keeps it; where.
pub(super) fn save(config: &Config, calibration: &Calibration) -> Result<PathBuf, String> {
    save_to(&kept::folder()?, config, calibration)
}

fn save_to(folder: &Path, config: &Config, calibration: &Calibration) -> Result<PathBuf, String> {
    let path = path(folder, config);
    let text = serde_json::to_string_pretty(calibration).map_err(|error| error.to_string())?;
    kept::write(&path, text.as_bytes())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use forward::topology::Cpus;

    use super::*;

    fn subject() -> Subject {
        Subject {
            ports: ["a 02 igb", "b 04 igb"].map(str::to_owned),
            frames: "live-frame".to_owned(),
            cpus: [0, 1],
            kernel: "6.18".to_owned(),
        }
    }

    #[test]
    fn it_is_kept_for_its_ports_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::new(["a", "b"].map(str::to_owned), Cpus::among(&[0, 1]));
        let load = |config: &Config, subject: &Subject| load_from(folder.path(), config, subject);
        assert_eq!(load(&config, &subject()).err(), Some(Missing::Never));
        let mut made = Calibration::new(subject(), 2.0);
        made.set(&config, FrameSize::Fixed(64), 1.5e6);
        save_to(folder.path(), &config, &made).unwrap();
        let known = load(&config, &subject()).unwrap();
        assert_eq!(known.pps(&config, FrameSize::Fixed(64)), Some(1.5e6));
        assert_eq!(known.pps(&config, FrameSize::Imix), None);
        // Another way, and what is added does not replace what was known.
        config.setup.directions = Directions::TwoWay;
        assert_eq!(known.pps(&config, FrameSize::Fixed(64)), None);
        let mut more = Calibration::new(subject(), 2.0);
        more.set(&config, FrameSize::Fixed(64), 2e6);
        let both = more.beside(Some(known));
        assert_eq!(both.pps(&config, FrameSize::Fixed(64)), Some(2e6));
        config.setup.directions = Directions::OneWay;
        assert_eq!(both.pps(&config, FrameSize::Fixed(64)), Some(1.5e6));
        let other = Subject {
            kernel: "7.0".to_owned(),
            ..subject()
        };
        let why = load(&config, &other).unwrap_err();
        assert_eq!(why, Missing::Other("Linux 7.0, then 6.18".to_owned()));
    }
}
