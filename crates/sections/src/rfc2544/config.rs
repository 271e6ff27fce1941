//! What is asked for: plain data, and the command that asks for it.

use std::fmt::Write;
use std::time::Duration;

use forward::bench::{Directions, PortKind};
use forward::external::{Addressing, Setup};
use forward::tester::line::{self, Line, Shape};
use forward::tester::stream::FrameSize;
use forward::topology::address::Layer;
use forward::topology::{Cpus, Family};

/// RFC 2544, section 9.1: the sizes for Ethernet.
pub const SIZES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

/// RFC 2544, sections 24 and 26: a trial of 60 s, one of latency of 120 s, 50 bursts of
/// up to 2 s, 5 s between trials.
const RFC_TRIAL: Duration = Duration::from_secs(60);
const RFC_LATENCY: Duration = Duration::from_secs(120);
const RFC_BURST: Duration = Duration::from_secs(2);
const RFC_BURSTS: u32 = 50;
const RFC_PAUSE: Duration = Duration::from_secs(5);

/// Bursts of a shorter test: enough to see whether they agree.
const BURSTS: u32 = 3;

/// A procedure of RFC 2544, section 26.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    /// 26.1, without loss and with the loss that is tolerated.
    Throughput,
    /// 26.2
    Latency,
    /// 26.3
    FrameLoss,
    /// 26.4
    BackToBack,
}

impl Test {
    pub const ALL: [Self; 4] = [
        Self::Throughput,
        Self::Latency,
        Self::FrameLoss,
        Self::BackToBack,
    ];

    /// In points and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::FrameLoss => "loss",
            Self::BackToBack => "back-to-back",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub setup: Setup,
    pub sizes: Vec<FrameSize>,
    pub tests: Vec<Test>,
    /// The share of the frames that a second rate may lose.
    pub loss_ratio: Option<f64>,
    pub trial: Duration,
    /// The RFC's own lengths and repetitions.
    pub is_rfc: bool,
    /// Stated speed of the links, bits/s; else what the drivers say.
    pub speed_bits_per_s: Option<f64>,
    /// A rate and the next that fails are at most this share apart.
    pub resolution: f64,
    /// The ports are joined by a cable: what the tester itself can is measured, and
    /// kept for them.
    pub calibrates: bool,
}

impl Config {
    /// Throughput and latency at the RFC's sizes, in short trials.
    pub fn new(ports: [String; 2], cpus: Cpus) -> Self {
        Self {
            setup: Setup::new(ports, cpus),
            sizes: SIZES.map(FrameSize::Fixed).to_vec(),
            tests: vec![Test::Throughput, Test::Latency],
            loss_ratio: None,
            trial: Duration::from_secs(2),
            is_rfc: false,
            speed_bits_per_s: None,
            resolution: 0.002,
            calibrates: false,
        }
    }

    /// With the lengths and repetitions of the RFC.
    #[must_use]
    pub fn as_the_rfc(mut self) -> Self {
        self.is_rfc = true;
        self.trial = RFC_TRIAL;
        self
    }

    pub fn family(&self) -> Family {
        self.setup.addressing.family()
    }

    pub fn asks(&self, test: Test) -> bool {
        self.tests.contains(&test)
    }

    /// Whether a rate without loss must be known: latencies are measured at it, and
    /// bursts speak of a buffer by it.
    pub fn needs_rate(&self) -> bool {
        self.tests.iter().any(|test| *test != Test::FrameLoss)
    }

    /// Ports that send.
    pub fn ways(&self) -> f64 {
        match self.setup.directions {
            Directions::OneWay => 1.0,
            Directions::TwoWay => 2.0,
        }
    }

    pub fn latency_trial(&self) -> Duration {
        if self.is_rfc { RFC_LATENCY } else { self.trial }
    }

    pub fn longest_burst(&self) -> Duration {
        if self.is_rfc {
            RFC_BURST
        } else {
            self.trial.min(RFC_BURST)
        }
    }

    pub fn bursts(&self) -> u32 {
        if self.is_rfc { RFC_BURSTS } else { BURSTS }
    }

    pub fn pause(&self) -> Duration {
        if self.is_rfc {
            RFC_PAUSE
        } else {
            Duration::ZERO
        }
    }

    pub fn shape(&self, size: FrameSize) -> Shape {
        Shape {
            size,
            family: self.family(),
            tagged: false,
        }
    }

    /// What links of that speed carry of these frames, all ways together.
    pub fn line_pps(&self, size: FrameSize, speed_bits_per_s: f64) -> f64 {
        Line { speed_bits_per_s }.max_pps(self.shape(size)) * self.ways()
    }

    /// Mbit/s of frames, with their check sequences.
    pub fn mbit_per_s(&self, size: FrameSize, pps: f64) -> f64 {
        pps * self.shape(size).mean_bytes() * 8.0 / 1e6
    }

    /// What cannot be sent, if anything: its value, the limit and the remedy.
    pub fn check(&self, mtu_frame_bytes: u32) -> Result<(), String> {
        let least = line::bytes_min(self.family());
        for size in &self.sizes {
            let [shortest, longest] = match size {
                FrameSize::Fixed(bytes) => [*bytes; 2],
                FrameSize::Imix => [least, SIZES[SIZES.len() - 1]],
            };
            if shortest < least || longest > mtu_frame_bytes.min(SIZES[SIZES.len() - 1]) {
                return Err(format!(
                    "frames of {size} bytes: {least} to {} are possible here; choose other sizes, or give the ports an MTU of 1500",
                    mtu_frame_bytes.min(SIZES[SIZES.len() - 1])
                ));
            }
        }
        Ok(())
    }

    /// The command that asks for the same at these sizes, of this test.
    pub fn command(&self, sizes: &[FrameSize], tests: &[Test]) -> String {
        let setup = &self.setup;
        let mut text = format!("lockgate rfc2544 --ports {}", setup.ports.join(","));
        let mut add = |part: String| {
            let _ = write!(text, " {part}");
        };
        let list = |names: Vec<String>| names.join(",");
        if self.calibrates {
            add("--calibrate".to_owned());
        } else if setup.layer == Layer::Two {
            add("--layer 2".to_owned());
        }
        let family = self.family();
        if family == Family::V6 {
            add("--ipv6".to_owned());
        }
        if setup.directions == Directions::TwoWay {
            add("--two-way".to_owned());
        }
        if setup.addressing != Addressing::of_standard(family) {
            let ends = &setup.addressing.0;
            let net =
                |net: forward::topology::plan::Network| format!("{}/{}", net.address, net.bits);
            let each = |of: &dyn Fn(usize) -> String| list(vec![of(0), of(1)]);
            add(format!("--tester {}", each(&|at| net(ends[at].tester))));
            add(format!(
                "--device {}",
                each(&|at| ends[at].device.to_string())
            ));
            add(format!("--behind {}", each(&|at| net(ends[at].behind))));
        }
        if setup.destinations > 1 {
            add(format!("--destinations {}", setup.destinations));
        }
        if sizes != SIZES.map(FrameSize::Fixed) {
            add(format!(
                "--sizes {}",
                list(sizes.iter().map(ToString::to_string).collect())
            ));
        }
        if !self.calibrates && tests != [Test::Throughput, Test::Latency] {
            let names = tests.iter().map(|test| test.name().to_owned());
            add(format!("--tests {}", list(names.collect())));
        }
        if let Some(loss) = self.loss_ratio {
            add(format!("--loss {}%", loss * 100.0));
        }
        match self.is_rfc {
            true => add("--rfc".to_owned()),
            false => add(format!("--trial {}s", self.trial.as_secs_f64())),
        }
        if let Some(speed) = self.speed_bits_per_s {
            add(format!("--speed {}M", speed / 1e6));
        }
        match setup.frames {
            Some(PortKind::AfPacket) => add("--frames packet".to_owned()),
            Some(PortKind::LiveFrame) => add("--frames live".to_owned()),
            _ => {}
        }
        if !setup.tasks.is_empty() {
            let tasks = setup.tasks.iter().map(ToString::to_string).collect();
            add(format!("--device-pid {}", list(tasks)));
        }
        text
    }

    pub fn resolved(&self) -> serde_json::Value {
        let setup = &self.setup;
        let ends = setup.addressing.0.map(|end| {
            serde_json::json!({
                "tester": format!("{}/{}", end.tester.address, end.tester.bits),
                "device": end.device.to_string(),
                "behind": format!("{}/{}", end.behind.address, end.behind.bits),
            })
        });
        serde_json::json!({
            "ports": setup.ports,
            "layer": if setup.layer == Layer::Two { 2 } else { 3 },
            "ends": ends,
            "two_way": setup.directions == Directions::TwoWay,
            "destinations": setup.destinations,
            "frames": setup.frames.map(PortKind::name),
            "cpus": { "generator": setup.cpus.generator, "sink": setup.cpus.sink },
            "sizes": self.sizes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "tests": self.tests.iter().map(|test| test.name()).collect::<Vec<_>>(),
            "loss_ratio": self.loss_ratio,
            "trial_s": self.trial.as_secs_f64(),
            "rfc": self.is_rfc,
            "speed_bits_per_s": self.speed_bits_per_s,
            "resolution": self.resolution,
            "calibrates": self.calibrates,
        })
    }
}
