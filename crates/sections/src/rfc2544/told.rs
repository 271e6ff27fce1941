//! What is told: points, the tables of RFC 2544, section 26, and findings.

use std::collections::BTreeMap;
use std::path::Path;

use forward::bench::Directions;
use forward::external::External;
use forward::tester::procedure::Found;
use forward::tester::stream::FrameSize;
use kit::words::finding;
use trial::{
    Cell, Column, Dimension, Direction, Event, Finding, Histogram, Metric, Point, Table, Validity,
    Verdict, Weight,
};

use super::calibration::{Calibration, Missing};
use super::campaign::{OfSize, named};
use super::config::{Config, Test};

fn fact(name: &str, unit: &str, value: f64) -> Metric {
    Metric::new(name, unit, Direction::Neutral, value)
}

/// The rate without loss that a calibration may vouch for: a search that ended at the
/// most that the generator can is one, too.
pub(super) fn vouched(figures: &OfSize) -> Option<f64> {
    let found = figures.throughput.as_ref()?;
    let is_sure = matches!(
        found.verdict.validity,
        Validity::Valid | Validity::GeneratorBound
    );
    found.rate_pps.filter(|_| is_sure)
}

/// All that was measured at one size.
pub(super) fn points(config: &Config, figures: &OfSize) -> Vec<Point> {
    let maker = Maker { config, figures };
    let mut points = Vec::new();
    let searches = [
        ("throughput", &figures.throughput),
        ("throughput-with-loss", &figures.tolerated),
    ];
    for (procedure, found) in searches {
        points.extend(found.as_ref().map(|found| maker.search(procedure, found)));
    }
    for one in &figures.latency {
        let metrics = vec![
            fact("rate_pps", "frames/s", one.rate_pps),
            Metric::new(
                "loss_percent",
                "%",
                Direction::Lower,
                one.loss_ratio * 100.0,
            ),
        ];
        let mut point = maker.point("latency", Some(one.share), metrics, &one.verdict);
        point.metrics.extend(one.latency.metrics());
        points.push(point);
    }
    for one in &figures.loss {
        let metrics = vec![
            fact("rate_pps", "frames/s", one.rate_pps),
            Metric::new(
                "loss_percent",
                "%",
                Direction::Lower,
                one.loss_ratio * 100.0,
            ),
        ];
        points.push(maker.point("loss", Some(one.share), metrics, &one.verdict));
    }
    if let Some(bursts) = &figures.bursts {
        let mut metrics = Vec::new();
        let each: Vec<f64> = bursts.frames.iter().map(|&frames| frames as f64).collect();
        if let Some(mean) = bursts.mean_frames() {
            metrics.push(Metric {
                samples: each,
                ..Metric::new("burst_frames", "frames", Direction::Higher, mean)
            });
        }
        let buffer_s = figures.rate_pps().and_then(|rate| bursts.buffer_s(rate));
        metrics.extend(buffer_s.map(|seconds| fact("buffer_us", "µs", seconds * 1e6)));
        points.push(maker.point("back-to-back", None, metrics, &bursts.verdict));
    }
    points
}

struct Maker<'a> {
    config: &'a Config,
    figures: &'a OfSize,
}

impl Maker<'_> {
    fn point(
        &self,
        procedure: &str,
        share: Option<f64>,
        metrics: Vec<Metric>,
        verdict: &Verdict,
    ) -> Point {
        let mut dimensions = BTreeMap::new();
        let frame = match self.figures.size {
            FrameSize::Fixed(bytes) => Dimension::from(u64::from(bytes)),
            FrameSize::Imix => Dimension::from("imix"),
        };
        dimensions.insert("frame".to_owned(), frame);
        dimensions.insert("procedure".to_owned(), Dimension::from(procedure));
        if let Some(share) = share {
            let percent = (share * 100.0).round() as u64;
            dimensions.insert("rate_percent".to_owned(), Dimension::from(percent));
        }
        let test = match procedure {
            "latency" => Test::Latency,
            "loss" => Test::FrameLoss,
            "back-to-back" => Test::BackToBack,
            _ => Test::Throughput,
        };
        Point {
            dimensions,
            metrics,
            verdict: verdict.clone(),
            command: self.config.command(&[self.figures.size], &[test]),
            histogram: String::new(),
        }
    }

    fn search(&self, procedure: &str, found: &Found) -> Point {
        // That no rate passed is a result, if it is valid.
        let rate = found.rate_pps.or(found.verdict.is_valid().then_some(0.0));
        let mut metrics = Vec::new();
        if let Some(rate) = rate {
            metrics.push(Metric::new(
                "throughput_pps",
                "frames/s",
                Direction::Higher,
                rate,
            ));
            let mbit = self.config.mbit_per_s(self.figures.size, rate);
            metrics.push(Metric::new(
                "throughput_mbit_per_s",
                "Mbit/s",
                Direction::Higher,
                mbit,
            ));
            metrics.extend(self.figures.line_pps.map(|line| {
                Metric::new(
                    "throughput_percent",
                    "% of the links",
                    Direction::Higher,
                    rate / line * 100.0,
                )
            }));
        }
        metrics.extend(
            found
                .failed_pps
                .map(|rate| fact("failed_pps", "frames/s", rate)),
        );
        metrics.push(fact("trials", "trials", found.trials.into()));
        metrics.push(fact("not_valid", "trials", found.invalid.into()));
        self.point(procedure, None, metrics, &found.verdict)
    }
}

/// How long trials are, and how long the RFC's are.
pub(super) fn lengths(config: &Config) -> String {
    match config.is_rfc {
        true => "trials of 60 s, of latency 120 s, 5 s between them, as RFC 2544 says".to_owned(),
        false => format!(
            "trials of {} s; RFC 2544's take 60 s (--rfc)",
            config.trial.as_secs_f64()
        ),
    }
}

/// What was kept of joined ports.
pub(super) fn kept(config: &Config, count: usize, path: &Path) -> Finding {
    let [one, other] = &config.setup.ports;
    finding(
        Weight::Note,
        format!(
            "What {one} and {other} carry themselves is kept for {count} of {} frame sizes ({}).",
            config.sizes.len(),
            path.display()
        ),
        format!("Put the device between them, and run 'lockgate rfc2544 --ports {one},{other}'."),
    )
}

pub(super) fn nothing_kept() -> Finding {
    finding(
        Weight::Warning,
        "No rate passed at any frame size: nothing is kept.".to_owned(),
        "Look at the cable, stop other programs, and calibrate again.",
    )
}

pub(super) struct Told<'a> {
    pub config: &'a Config,
    pub device: &'a External,
    pub known: &'a Result<Calibration, Missing>,
    pub found: &'a [OfSize],
    pub lost_by_ports: u64,
}

impl Told<'_> {
    pub(super) fn events(&self) -> Vec<Event> {
        let tables = [
            self.throughputs(),
            self.latencies(),
            self.losses(),
            self.bursts(),
        ];
        let tables = tables.into_iter().filter(|table| !table.rows.is_empty());
        let findings = self.findings().into_iter().map(Event::Finding);
        findings.chain(tables.map(Event::Table)).collect()
    }

    /// Under every table.
    fn note(&self) -> String {
        let [one, other] = self.device.facts();
        let ways = match self.config.setup.directions {
            Directions::OneWay => format!("{} to {}", one.name, other.name),
            Directions::TwoWay => format!(
                "{} to {} and back at once, rates of both together",
                one.name, other.name
            ),
        };
        let frames = self.device.kind().name();
        format!("{ways}; {}; {frames} frames.", lengths(self.config))
    }

    fn table(
        &self,
        title: &str,
        note: String,
        columns: Vec<Column>,
        rows: Vec<Vec<Cell>>,
    ) -> Table {
        Table {
            title: title.to_owned(),
            note,
            columns,
            rows,
            command: self.config.command(&self.config.sizes, &self.config.tests),
        }
    }

    fn throughputs(&self) -> Table {
        let is_line = self.found.iter().any(|one| one.line_pps.is_some());
        let tolerated = self.config.loss_ratio;
        let mut columns = vec![Column::new("frame", "bytes")];
        if is_line {
            columns.push(Column::new("the links carry", "frames/s"));
        }
        columns.push(Column::new("without loss", "frames/s"));
        if is_line {
            columns.push(Column::new("of the links", "%"));
        }
        columns.push(Column::new("without loss", "Mbit/s"));
        columns.push(Column::new("lost or in doubt at", "frames/s"));
        if let Some(loss) = tolerated {
            columns.push(Column::new(
                format!("at most {}% lost", loss * 100.0),
                "frames/s",
            ));
        }
        columns.push(Column::new("verdict", ""));
        let rows = self.found.iter().filter_map(|one| {
            let found = one.throughput.as_ref()?;
            let rate = found.rate_pps.or(found.verdict.is_valid().then_some(0.0));
            let mut row = vec![frame(one.size)];
            if is_line {
                row.push(number(one.line_pps.map(f64::round)));
            }
            row.push(number(rate.map(f64::round)));
            if is_line {
                let share = rate.zip(one.line_pps);
                row.push(number(share.map(|(rate, line)| rate / line * 100.0)));
            }
            row.push(number(
                rate.map(|rate| self.config.mbit_per_s(one.size, rate)),
            ));
            row.push(number(found.failed_pps.map(f64::round)));
            if tolerated.is_some() {
                let rate = one.tolerated.as_ref().and_then(|found| found.rate_pps);
                row.push(number(rate.map(f64::round)));
            }
            row.push(verdict(&found.verdict));
            Some(row)
        });
        let rows = rows.collect();
        let note = format!(
            "The highest rate at which every frame came (RFC 2544, section 26.1); Mbit/s count frames with their check sequences. {}",
            self.note()
        );
        self.table("Throughput", note, columns, rows)
    }

    fn latencies(&self) -> Table {
        let columns = vec![
            Column::new("frame", "bytes"),
            Column::new("of the throughput", "%"),
            Column::new("rate", "frames/s"),
            Column::new("least", "µs"),
            Column::new("median", "µs"),
            Column::new("p99", "µs"),
            Column::new("most", "µs"),
            Column::new("lost", "%"),
            Column::new("verdict", ""),
        ];
        let at = |latency: &Histogram, share| latency.quantile_ns(share).map(|ns| ns as f64 / 1e3);
        let rows = self.found.iter().flat_map(|size| {
            size.latency.iter().map(move |one| {
                vec![
                    frame(size.size),
                    Cell::Number((one.share * 100.0).round()),
                    Cell::Number(one.rate_pps.round()),
                    number(at(&one.latency, 0.0)),
                    number(at(&one.latency, 0.5)),
                    number(at(&one.latency, 0.99)),
                    number(one.latency.max_ns().map(|ns| ns as f64 / 1e3)),
                    Cell::Number(one.loss_ratio * 100.0),
                    verdict(&one.verdict),
                ]
            })
        });
        let rows = rows.collect();
        let note = format!(
            "Of every frame, from the moment it was due to its arrival; the tester's own part is in it (RFC 2544, section 26.2, tags one frame a trial). {}",
            self.note()
        );
        self.table("Latency", note, columns, rows)
    }

    /// A row a rate, a column a size: the RFC's graph as figures.
    fn losses(&self) -> Table {
        let mut columns = vec![Column::new("rate", "% of the most")];
        let sizes: Vec<&OfSize> = self
            .found
            .iter()
            .filter(|one| !one.loss.is_empty())
            .collect();
        columns.extend(
            sizes
                .iter()
                .map(|one| Column::new(named(one.size), "% lost")),
        );
        let shares = sizes.iter().map(|one| one.loss.len()).max().unwrap_or(0);
        let rows = (0..shares).map(|index| {
            let share = 100.0 - 10.0 * index as f64;
            let cell = |one: &&OfSize| match one.loss.get(index) {
                None => Cell::Empty,
                Some(point) if point.verdict.is_valid() => Cell::Number(point.loss_ratio * 100.0),
                Some(point) => Cell::Text(format!(
                    "{:.3} ({})",
                    point.loss_ratio * 100.0,
                    point.verdict.validity.name()
                )),
            };
            let mut row = vec![Cell::Number(share)];
            row.extend(sizes.iter().map(cell));
            row
        });
        let rows = rows.collect();
        let note = format!(
            "From the most that the links carry, or that the tester sends, down by tenths until two rates lose nothing (RFC 2544, section 26.3). {}",
            self.note()
        );
        self.table("Frame loss", note, columns, rows)
    }

    fn bursts(&self) -> Table {
        let columns = vec![
            Column::new("frame", "bytes"),
            Column::new("burst", "frames"),
            Column::new("least", "frames"),
            Column::new("most", "frames"),
            Column::new("buffer", "µs"),
            Column::new("verdict", ""),
        ];
        let rows = self.found.iter().filter_map(|size| {
            let bursts = size.bursts.as_ref()?;
            let buffer_s = size.rate_pps().and_then(|rate| bursts.buffer_s(rate));
            let edge = |frames: Option<&u64>| number(frames.map(|&frames| frames as f64));
            Some(vec![
                frame(size.size),
                number(bursts.mean_frames().map(f64::round)),
                edge(bursts.frames.iter().min()),
                edge(bursts.frames.iter().max()),
                number(buffer_s.map(|seconds| seconds * 1e6)),
                verdict(&bursts.verdict),
            ])
        });
        let rows = rows.collect();
        let note = format!(
            "The longest burst at the most that the links carry, or that the tester sends, of which no frame is lost: the mean of {} searches (RFC 2544, section 26.4: 50); the buffer that it speaks of: RFC 9004, section 6. {}",
            self.config.bursts(),
            self.note()
        );
        self.table("Back-to-back frames", note, columns, rows)
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.headline().into_iter().collect();
        findings.extend(self.uncalibrated());
        let [one, other] = self.device.facts();
        let is_here = one.is_of_this_host() || other.is_of_this_host();
        if is_here && self.device.tasks().is_empty() && !self.config.calibrates {
            findings.push(finding(
                Weight::Warning,
                "The device lives on this host, and its processes are not known: a loss while they waited for a CPU cannot be told from its own.".to_owned(),
                "Name them: --device-pid PID,…; kernel threads (napi/…) are possible, too.",
            ));
        }
        if self.lost_by_ports > 0 {
            findings.push(finding(
                Weight::Warning,
                format!(
                    "The tester's own ports lost {} frames; trials in which these decide do not count.",
                    self.lost_by_ports
                ),
                "Give the ports longer rings (ethtool -G), or the sink a CPU of its own.",
            ));
        }
        findings
    }

    fn headline(&self) -> Option<Finding> {
        let told = |one: &OfSize| {
            let found = one.throughput.as_ref()?;
            let is_valid = found.verdict.is_valid();
            let rate = found.rate_pps.or(is_valid.then_some(0.0))?;
            let share = one
                .line_pps
                .map(|line| format!(" ({:.1}% of the links)", rate / line * 100.0));
            // What passed did so in trials that are valid.
            let least = if is_valid { "" } else { "at least " };
            Some(format!(
                "{least}{rate:.0} frames/s of {}{}",
                named(one.size),
                share.unwrap_or_default()
            ))
        };
        let [one, other] = self.device.facts();
        let whose = match self.config.calibrates {
            true => format!("{} and {}, joined, carry", one.name, other.name),
            false => "The device carries".to_owned(),
        };
        let known: Vec<String> = self.found.iter().filter_map(told).collect();
        if let (Some(first), Some(last)) = (known.first(), known.last()) {
            let text = match known.len() {
                1 => format!("{whose} {first} without loss."),
                _ => format!("{whose} {first}, and {last}, without loss."),
            };
            return Some(finding(Weight::Headline, text, ""));
        }
        let doubt = self.found.iter().find_map(|one| one.throughput.as_ref())?;
        let Verdict { reason, remedy, .. } = &doubt.verdict;
        Some(finding(
            Weight::Headline,
            format!("No rate is certain: {reason}."),
            remedy.clone(),
        ))
    }

    fn uncalibrated(&self) -> Option<Finding> {
        if self.config.calibrates {
            return None;
        }
        let [one, other] = &self.config.setup.ports;
        let lacks = |known: &Calibration| {
            let missing = self.config.sizes.iter();
            missing
                .filter(|&&size| known.pps(self.config, size).is_none())
                .count()
        };
        let why = match self.known {
            Ok(known) => match lacks(known) {
                0 => return None,
                count => format!("for {count} of the frame sizes"),
            },
            Err(Missing::Never) => "for these ports".to_owned(),
            Err(Missing::Other(differs)) => format!("any more: {differs}"),
        };
        Some(finding(
            Weight::Warning,
            format!(
                "What the tester itself carries is not known {why}. A loss may be the ports', and no rate above it can be found."
            ),
            format!(
                "Join {one} and {other} by a cable, run {}, and put the device back.",
                Config {
                    calibrates: true,
                    ..self.config.clone()
                }
                .command(&self.config.sizes, &[])
            ),
        ))
    }
}

fn frame(size: FrameSize) -> Cell {
    match size {
        FrameSize::Fixed(bytes) => Cell::Number(bytes.into()),
        FrameSize::Imix => Cell::Text("IMIX".to_owned()),
    }
}

fn number(value: Option<f64>) -> Cell {
    value.map_or(Cell::Empty, Cell::Number)
}

fn verdict(verdict: &Verdict) -> Cell {
    Cell::Text(verdict.validity.name().to_owned())
}
