//! The section `quic-packets`: what it costs to seal and open packets of QUIC, headers and
//! all, on one core: our kernels beside libraries that do one packet after the other.

mod arms;
mod findings;
mod grid;

use kit::load::alone::Slice;
use kit::load::benches::WORKERS_CPU;
use kit::load::once;
use kit::prelude::*;
use trial::Price;

use grid::Arm::Kernels;
use grid::{Arm, Place, Suite, Work};

/// CPU time of a packet, or of a mask.
const PACKET: Measure = Measure::lower("cpu_ns_per_packet", "ns/packet");
/// The same as a rate: what ratios are of.
const RATE: Measure = Measure::higher("packets_per_us", "packets/µs");
/// What a stack changes.
const IN_BATCHES: &str = "Seal and open QUIC packets in batches by kernels";
/// Rows of a table that a first page has room for.
const ROWS_MAX: usize = 12;

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Cipher suites
        suites: List<Name<Suite>> = ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"],
        /// What becomes of packets
        work: List<Name<Work>> = ["seal", "open", "mask"],
        /// Bytes of a UDP payload with one packet
        packet_bytes: List<Bytes<64, 65_527>> = [64, 256, 1200, 1452],
        /// Packets that are done together
        batches: List<Count<1, 1024>> = [1, 4, 32, 64],
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct QuicPackets {
    config: Config,
}

impl QuicPackets {
    fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        for Suite(suite) in self.config.suites.values() {
            for work in self.config.work.values() {
                let sizes: Vec<usize> = match work {
                    Work::Mask => vec![16],
                    _ => self.config.packet_bytes.values().collect(),
                };
                for bytes in sizes {
                    places.extend(self.config.batches.values().map(|batch| Place {
                        suite,
                        work,
                        bytes,
                        batch,
                    }));
                }
            }
        }
        places
    }
}

impl Experiment for QuicPackets {
    const NAME: &'static str = "quic-packets";
    const TITLE: &'static str = "QUIC packets on one core";
    const QUESTION: Question = Question {
        what: "What sealing and opening a QUIC packet costs",
        against: "libraries that do one packet after the other",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Arm;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        Ok(Self { config })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn subjects(&self, _: &Host) -> Vec<Subject<Place, Arm>> {
        let of = |place: Place| {
            let subject = move |arm| Subject::new(place, arm, place.spot(arm)).ranked(place.rank());
            place.arms().map(subject)
        };
        self.places().into_iter().flat_map(of).collect()
    }

    fn times(&self) -> Times {
        Times {
            least_s: 0.01,
            good_s: 0.02,
            most_s: 0.03,
            overhead_s: once::OVERHEAD_S,
        }
    }

    fn start_s(&self, _: &Subjects<Self>) -> f64 {
        0.05
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let cpu = host.quiet_cpu();
        let mut checked = Vec::new();
        Ok(trials(move |Subject { place, arm, .. }, length, go_on| {
            if !checked.contains(&(*place, *arm)) {
                arms::check(*place, *arm)?;
                checked.push((*place, *arm));
            }
            let did = arms::trial(*place, *arm, cpu, Slice { length, go_on })?;
            let packet_ns = did.cpu.as_nanos() as f64 / did.requests;
            let mut reading = Reading::new(vec![
                (PACKET, packet_ns),
                (RATE, 1000.0 / packet_ns),
                (WORKERS_CPU, cpu as f64),
            ]);
            let in_flight_bytes = 2 * place.batch * place.bytes;
            reading.evidence = Some(did.evidence(cpu, in_flight_bytes));
            Ok(reading)
        }))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![PACKET, RATE, WORKERS_CPU]
    }

    fn prices(&self, results: &Results<'_, Self>) -> Vec<Price> {
        findings::prices(results)
    }

    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Arm>> {
        let of = |subject: &Subject<Place, Arm>| {
            let (place, reference) = (subject.place, subject.arm);
            let pair = Pair::at(place, (Kernels, reference), RATE);
            // Masks are a part of packets, and one packet is no batch.
            let is_told = place.work != Work::Mask && place.batch > 1;
            let change = if is_told { IN_BATCHES } else { "" };
            pair.wanting(place.target(reference)).changed_by(change)
        };
        let has_kernels = |place: Place| place.arms().any(|arm| arm == Kernels);
        let is_reference =
            |own: &&Subject<Place, Arm>| own.arm != Kernels && has_kernels(own.place);
        subjects.iter().filter(is_reference).map(of).collect()
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let note = "Headers, texts and tags, on one core and within its caches; one key. From one place to another, but ring in place. Kernels do a batch together, libraries one packet after the other with a call for each mask.";
        let is_short = self.places().len() <= ROWS_MAX;
        let most: Only<Place, Arm> = |place, _| place.rank() == 0 && place.work != Work::Mask;
        let costs = |title: &str| -> Sheet<Place, Arm> {
            Sheet::new(title, note, [Cells::bare(PACKET, "")]).across("arm")
        };
        let rows = |title: &str| Rows::new(title, note, "ns", Shown::Value(PACKET)).series("arm");
        let all = (!is_short).then(|| costs("CPU time of a packet, ns, all").into());
        let title = "CPU time of a packet by who does it";
        let (first, rows) = match is_short {
            true => (costs("CPU time of a packet, ns"), rows(title)),
            false => {
                let first = costs("CPU time of a packet, AES-128-GCM, 1200 B, batch 32, ns");
                let title = format!("{title}, AES-128-GCM, 1200 B, batch 32");
                (first.only(most), rows(&title).only(most))
            }
        };
        [first.into(), rows.into()].into_iter().chain(all).collect()
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }
}

#[cfg(test)]
mod tests;
