//! `rfc2544`: a device that is not ours between two ports of this host, by the
//! procedures of RFC 2544, section 26 (RFC 5180 for IPv6, RFC 6985 for IMIX).
//!
//! No scenario has it, and no run does: it takes the ports that it is given, and so is
//! asked for by a command of its own. A search has its own course, so that it is no
//! experiment of the kit.

mod calibration;
mod campaign;
mod config;
mod told;

use std::time::{Duration, Instant};

use forward::external::{Ask, External, ExternalError, Setup};
use forward::tester::procedure::Outcome;
use forward::tester::validity::Claim;
use forward::topology::address::Layer;
use trial::{Event, Job, Plan, PlanError, Probe, RunError, Section, Sink};

use calibration::{Calibration, Missing, Subject};
use campaign::{OfSize, Tested};
use told::Told;

pub use config::{Config, SIZES, Test};
pub use forward::bench::{Directions, PortKind};
pub use forward::external::{Addressing, End};
pub use forward::tester::stream::FrameSize as Size;
pub use forward::topology::address::Layer as OsiLayer;
pub use forward::topology::plan::Network;
pub use forward::topology::{Cpus, Family};

pub const NAME: &str = "rfc2544";

/// How often a pause between trials is asked whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// The section, as a command's flags configure it.
///
/// # Errors
/// In words: the value, the limit and the remedy.
pub fn section(config: Config) -> Result<Box<dyn Section>, String> {
    config.setup.check().map_err(|error| error.to_string())?;
    // What the MTU of the ports allows is seen when they are taken.
    config.check(u32::MAX)?;
    Ok(Box::new(Rfc2544 { config }))
}

/// Whether the ports can be taken for it, as far as looking tells: nothing is touched.
///
/// # Errors
/// [`ExternalError::Setup`] says what to name instead.
pub fn look(config: &Config) -> Result<(), ExternalError> {
    let frame_bytes_max = config.setup.look()?;
    config.check(frame_bytes_max).map_err(ExternalError::Setup)
}

struct Rfc2544 {
    config: Config,
}

impl Section for Rfc2544 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        match self.config.calibrates {
            true => "The tester itself, its ports joined",
            false => "A device between two ports",
        }
    }

    fn command(&self) -> String {
        self.config.command(&self.config.sizes, &self.config.tests)
    }

    fn resolved(&self) -> serde_json::Value {
        self.config.resolved()
    }

    fn appetite(&self) -> (Duration, Duration) {
        let all = Duration::from_secs_f64(campaign::seconds(&self.config));
        (all, all)
    }

    fn plan(&self, probe: &Probe, _: Duration) -> Result<Plan, PlanError> {
        kit::routers::ground::check(probe)?;
        let config = self.config.clone();
        let [one, other] = &config.setup.ports;
        let mut steps = vec![format!(
            "{one} sends, {other} counts{}",
            match config.setup.directions {
                Directions::OneWay => "",
                Directions::TwoWay => ", and the other way at the same time",
            }
        )];
        if config.calibrates {
            steps.push(format!(
                "needs a cable from {one} to {other}, with nothing between"
            ));
        } else if config.setup.layer == Layer::Three {
            steps.extend(needed(&config));
        }
        steps.push(told::lengths(&config));
        Ok(Plan {
            seconds: campaign::seconds(&config),
            steps,
            privileges: vec![kit::routers::ground::PRIVILEGES.to_owned()],
            creates: vec!["two network namespaces lockgate-…; gone when the test ends, or at the next start after a crash".to_owned()],
            changes: vec![format!(
                "{one} and {other} are moved there, set up and get threaded NAPI, offloads and XDP programs of the tester"
            )],
            downloads: Vec::new(),
            job: Job::new(move |sink| run(&config, sink)),
        })
    }
}

/// What a router must know.
fn needed(config: &Config) -> Vec<String> {
    let ends = config.setup.addressing.0.iter().zip(&config.setup.ports);
    let line = |(end, port): (&End, &String)| {
        format!(
            "the device needs the address {}/{} at {port}, and a route to {}/{} by {}",
            end.device, end.tester.bits, end.behind.address, end.behind.bits, end.tester.address
        )
    };
    ends.map(line).collect()
}

fn failed(error: ExternalError) -> RunError {
    match error {
        ExternalError::Interrupted => RunError::Interrupted,
        error => RunError::Failed {
            context: "the test could not go on".to_owned(),
            source: Some(Box::new(error)),
        },
    }
}

fn run(config: &Config, sink: &mut dyn Sink) -> Result<(), RunError> {
    sink.emit(Event::Progress(0.0, "the ports are taken".to_owned()));
    let setup = Setup {
        is_joined: config.calibrates,
        ..config.setup.clone()
    };
    let device = External::connect(&setup, &|| !sink.is_interrupted()).map_err(failed)?;
    config
        .check(device.frame_bytes_max())
        .map_err(|text| RunError::Failed {
            context: text,
            source: None,
        })?;
    let subject = Subject::of(&device);
    let known = match config.calibrates {
        true => Err(Missing::Never),
        false => calibration::load(config, &subject),
    };
    let mut ports = Ports {
        device,
        sink,
        planned_s: campaign::seconds(config),
        begun: Instant::now(),
        pause: config.pause(),
        lost_by_ports: 0,
    };
    let mut found = Vec::new();
    let ended = sizes(config, &mut ports, known.as_ref().ok(), &mut found);
    let told = Told {
        config,
        device: &ports.device,
        known: &known,
        found: &found,
        lost_by_ports: ports.lost_by_ports,
    };
    let events = told.events();
    let Ports { sink, .. } = ports;
    events.into_iter().for_each(|event| sink.emit(event));
    ended?;
    if config.calibrates {
        keep(config, subject, &found, sink)?;
    }
    Ok(())
}

/// Every size, the points of each as soon as it is done.
fn sizes(
    config: &Config,
    ports: &mut Ports<'_>,
    known: Option<&Calibration>,
    found: &mut Vec<OfSize>,
) -> Result<(), RunError> {
    let speed = config.speed_bits_per_s.or_else(|| ports.speed_bits_per_s());
    for &size in &config.sizes {
        let line_pps = speed.map(|speed| config.line_pps(size, speed));
        let own_pps = known.and_then(|known| known.pps(config, size));
        let mut figures = None;
        let ended = campaign::of_size(ports, config, (size, line_pps, own_pps), &mut figures);
        if let Some(figures) = figures {
            let points = told::points(config, &figures);
            points
                .into_iter()
                .for_each(|point| ports.sink.emit(Event::Point(point)));
            found.push(figures);
        }
        ended?;
    }
    Ok(())
}

/// What was found of joined ports, for tests of devices between them.
fn keep(
    config: &Config,
    subject: Subject,
    found: &[OfSize],
    sink: &mut dyn Sink,
) -> Result<(), RunError> {
    let earlier = calibration::load(config, &subject).ok();
    let mut made = Calibration::new(subject, config.trial.as_secs_f64());
    let mut kept = 0;
    for figures in found {
        if let Some(pps) = told::vouched(figures) {
            made.set(config, figures.size, pps);
            kept += 1;
        }
    }
    if kept == 0 {
        sink.emit(Event::Finding(told::nothing_kept()));
        return Ok(());
    }
    let path = calibration::save(config, &made.beside(earlier));
    let path = path.map_err(|text| RunError::Failed {
        context: format!("the calibration cannot be kept: {text}"),
        source: None,
    })?;
    sink.emit(Event::Finding(told::kept(config, kept, &path)));
    Ok(())
}

/// The device, and who hears of the trials.
struct Ports<'s> {
    device: External,
    sink: &'s mut dyn Sink,
    planned_s: f64,
    begun: Instant,
    pause: Duration,
    lost_by_ports: u64,
}

impl Ports<'_> {
    /// Of the slower one.
    fn speed_bits_per_s(&self) -> Option<f64> {
        let [one, other] = self.device.facts().map(|facts| facts.speed_bits_per_s);
        Some(one?.min(other?))
    }

    /// RFC 2544, section 23: the device rests between trials.
    fn rest(&self) -> Result<(), RunError> {
        let until = Instant::now() + self.pause;
        loop {
            if self.sink.is_interrupted() {
                return Err(RunError::Interrupted);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK));
        }
    }
}

impl Tested for Ports<'_> {
    fn ask(&mut self, ask: &Ask, claim: Claim, words: &str) -> Result<(Outcome, f64), RunError> {
        let share = self.begun.elapsed().as_secs_f64() / self.planned_s;
        self.sink
            .emit(Event::Progress(share.min(0.99), words.to_owned()));
        self.rest()?;
        let sink = &*self.sink;
        let tried = self.device.trial(ask, &|| !sink.is_interrupted());
        let tried = tried.map_err(failed)?;
        self.lost_by_ports += tried.seen.lost_by_ports;
        let offered_pps = tried.directions.iter().map(|one| one.offered_pps()).sum();
        Ok((tried.outcome(claim), offered_pps))
    }
}
