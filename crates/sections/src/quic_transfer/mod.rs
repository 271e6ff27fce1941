//! The section `quic-transfer`: what a transfer costs by TCP, by TLS over it, and by QUIC
//! whose packets are protected in one way or another, each way a step from the one before.

mod findings;
mod grid;

use kit::evidence::Evidence;
use kit::load::alone::Slice;
use kit::prelude::*;
use kit::transfers::{self, Done, Stack, Start, Transfer};
use offload::perf::Identity;

use grid::{Place, Suite};

/// CPU time of both ends, and of a worker.
const CPU: Measure = Measure::lower("cpu_s_per_gb", "CPU s/GB");
/// The same as a rate: what ratios are of.
const WORK: Measure = Measure::higher("gb_per_cpu_s", "GB/CPU s");
/// From the first packet of the handshake to the last byte.
const TIME: Measure = Measure::lower("completion_ms", "ms");
const RATE: Measure = Measure::higher("rate_gbit_per_s", "Gbit/s");
const SENDER: Measure = Measure::lower("sender_ns_per_packet", "ns/packet");
/// The same as a rate: what a ratio is of.
const SENDER_RATE: Measure = Measure::higher("sender_packets_per_ms", "packets/ms");
const RECEIVER: Measure = Measure::lower("receiver_ns_per_packet", "ns/packet");
const TOGETHER: Measure = Measure::fact("datagrams_per_message", "datagrams");
const LOST: Measure = Measure::fact("lost_packets", "packets");
const BUFFER: Measure = Measure::fact("socket_buffer_bytes", "bytes");

/// What a stack gains.
const OFFLOAD: &str = "Protect and send quinn's packets in batches (lockgate-offload)";
const NS_PER_S: f64 = 1e9;

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Bytes of a transfer
        sizes_bytes: List<Bytes<1000, 10_000_000_000>> = [500_000, 1_000_000, 5_000_000, 10_000_000, 1_000_000_000],
        /// How connections begin
        starts: List<Name<Start>> = ["cold", "0-rtt"],
        /// What carries them
        stacks: List<Name<Stack>> = Stack::ALL.map(Name),
        /// Cipher suite of TLS and QUIC
        suite: Name<Suite> = "aes-128-gcm",
        /// Bytes of a UDP payload
        payload_bytes: Bytes<1200, 65_000> = 1452,
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct QuicTransfer(Config);

impl QuicTransfer {
    fn transfer(&self, place: Place, stack: Stack) -> Transfer {
        Transfer {
            start: place.start,
            suite: self.0.suite.0.0,
            payload_bytes: self.0.payload_bytes.get() as u16,
            ..Transfer::cold(stack, place.bytes as u64)
        }
    }
}

impl Experiment for QuicTransfer {
    const NAME: &'static str = "quic-transfer";
    const TITLE: &'static str = "Transfers by TCP, TLS and QUIC, step by step";
    const CREATES: &'static [&'static str] = &["sockets on loopback addresses"];
    const QUESTION: Question = Question {
        what: "What a transfer by QUIC costs",
        against: "the source's +13% at 10 MB, with its crypto taken away",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Stack;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        Ok(Self(config))
    }

    fn config(&self) -> &Config {
        &self.0
    }

    fn subjects(&self, _: &Host) -> Vec<Subject<Place, Stack>> {
        let starts = || self.0.starts.iter().map(|name| name.0);
        let sizes = self.0.sizes_bytes.values();
        let places = sizes.flat_map(|bytes| starts().map(move |start| Place { bytes, start }));
        let of = |place: Place| {
            let stacks = self.0.stacks.iter().map(|name| name.0);
            stacks.map(move |stack| {
                let spot = place.spot(stack, &self.0);
                let subject = Subject::new(place, stack, spot).ranked(place.rank());
                subject.weighing(1.0, place.least_s(stack))
            })
        };
        places.flat_map(of).collect()
    }

    fn times(&self) -> Times {
        Times {
            least_s: 0.08,
            good_s: 0.12,
            most_s: 0.25,
            overhead_s: 0.03,
        }
    }

    fn start_s(&self, _: &Subjects<Self>) -> f64 {
        0.05
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let cores = transfers::cores(host);
        let identity = Identity::generate(&["localhost"]).map_err(Stopped::failed)?;
        let own = self.clone();
        Ok(trials(move |Subject { place, arm, .. }, length, go_on| {
            let transfer = own.transfer(*place, *arm);
            let (done, evidence) = Evidence::around(cores, || {
                let done = transfer.run(&identity, cores, Slice { length, go_on })?;
                let packets = done.bytes / u64::from(transfer.payload_bytes);
                Ok::<_, Stopped>((done, packets))
            })?;
            let mut reading = Reading::new(values(&done));
            reading.evidence = Some(evidence);
            Ok(reading)
        }))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![
            CPU,
            WORK,
            TIME,
            RATE,
            SENDER,
            SENDER_RATE,
            RECEIVER,
            TOGETHER,
            LOST,
            BUFFER,
        ]
    }

    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Stack>> {
        grid::pairs(subjects)
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let note = "Both ends on this host, over loopback: no wire, no loss, round trips of microseconds. CPU time is that of all threads, handshakes too.";
        let costs = Sheet::new("CPU time of a transfer, s/GB", note, [Cells::bare(CPU, "")]);
        let rates = Sheet::new("Speed of a transfer, Gbit/s", note, [Cells::bare(RATE, "")]);
        let columns = [
            Cells::of(TIME, "completion"),
            Cells::bare(SENDER, "sender"),
            Cells::bare(RECEIVER, "receiver"),
            Cells::bare(TOGETHER, "datagrams a message"),
            Cells::bare(LOST, "lost"),
            Cells::Verdict,
        ];
        let large: Only<Place, Stack> = |place, _| place.rank() == 0;
        vec![
            costs.across("arm").into(),
            Rows::new(
                "CPU time of a transfer",
                note,
                "CPU time",
                Shown::Value(CPU),
            )
            .series("arm")
            .only(large)
            .into(),
            rates.across("arm").into(),
            Sheet::new("Each way of a transfer", note, columns).into(),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }

    fn more(&self, results: &Results<'_, Self>) -> Vec<Event> {
        let figure = findings::figure_7(results).map(Event::Table);
        figure.into_iter().collect()
    }
}

fn values(done: &Done) -> Vec<(Measure, f64)> {
    let gb = done.bytes as f64 / 1e9;
    let worker = done.worker.unwrap_or_default();
    let cpu_s = (done.sender + done.receiver + worker).as_secs_f64();
    let times: Vec<f64> = done.times_ns.iter().map(|&ns| ns as f64).collect();
    let time_ns = trial::stats::median(&times).unwrap_or(0.0);
    let transfer_gbit = 8.0 * gb / done.times_ns.len() as f64;
    let mut values = vec![
        (CPU, cpu_s / gb),
        (WORK, gb / cpu_s),
        (TIME, time_ns / 1e6),
        (RATE, transfer_gbit / (time_ns / NS_PER_S)),
    ];
    if done.datagrams > 0 {
        let per_packet = |cpu: std::time::Duration| cpu.as_nanos() as f64 / done.datagrams as f64;
        values.extend([
            (SENDER, per_packet(done.sender)),
            (SENDER_RATE, 1e6 / per_packet(done.sender)),
            (RECEIVER, per_packet(done.receiver)),
            (LOST, done.lost as f64),
        ]);
    }
    if done.messages > 0 {
        values.push((TOGETHER, done.datagrams as f64 / done.messages as f64));
    }
    values.extend(done.short_buffers.map(|bytes| (BUFFER, bytes as f64)));
    values
}

#[cfg(test)]
mod tests;
