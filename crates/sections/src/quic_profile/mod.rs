//! The section `quic-profile`: where the CPU time of a transfer goes, by TCP, by TLS over
//! it, by QUIC and by QUIC offloaded; and what larger datagrams are worth.

mod findings;

use kit::evidence::Evidence;
use kit::load::alone::Slice;
use kit::prelude::*;
use kit::profile::{Part, Profile, Profiler};
use kit::transfers::{self, Done, Stack, Transfer};
use offload::perf::{FIRST_BYTES_MAX, Identity};

/// CPU time of both ends.
const CPU: Measure = Measure::lower("cpu_s_per_gb", "CPU s/GB");
/// The same as a rate: what ratios are of.
const WORK: Measure = Measure::higher("gb_per_cpu_s", "GB/CPU s");
/// Part by part, of the same.
const PARTS: [(Part, Measure); Part::ALL.len()] = [
    (Part::Copies, part("copies_s_per_gb")),
    (Part::Crypto, part("crypto_s_per_gb")),
    (Part::Kernel, part("kernel_s_per_gb")),
    (Part::Offload, part("offload_s_per_gb")),
    (Part::Memory, part("allocation_s_per_gb")),
    (Part::Protocol, part("protocol_s_per_gb")),
];
const SAMPLES: Measure = Measure::fact("samples", "samples");
const PACKET: Measure = Measure::lower("ns_per_packet", "ns/packet");
/// Of stock QUIC, measured by itself: a mask for each packet at each end.
const MASK: Measure = Measure::fact("header_protection_ns", "ns/mask");

const fn part(name: &'static str) -> Measure {
    Measure::fact(name, "CPU s/GB")
}

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Bytes of a transfer
        bytes: Bytes<1_000_000, 10_000_000_000> = 200_000_000,
        /// Bytes of a UDP payload
        payload_bytes: List<Bytes<1200, 65_000>> = [1452, 4000, 9000, 65_000],
        /// What carries them; TCP once
        stacks: List<Name<Stack>> = ["tcp", "tcp-tls", "quic-stock", "quic-offloaded"],
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct QuicProfile(Config);

impl QuicProfile {
    fn transfer(&self, payload_bytes: usize, stack: Stack) -> Transfer {
        Transfer {
            payload_bytes: payload_bytes as u16,
            ..Transfer::cold(stack, self.0.bytes.get() as u64)
        }
    }

    fn smallest(&self) -> usize {
        self.0.payload_bytes.values().min().unwrap_or(0)
    }

    fn spot(payload_bytes: usize, stack: Stack) -> Spot {
        let words = format!("{payload_bytes} B");
        let spot = Spot::new().with("arm", stack.name(), stack.words());
        match stack.is_tcp() {
            true => spot,
            false => spot.with("payload_bytes", payload_bytes as u64, words),
        }
    }
}

impl Experiment for QuicProfile {
    const NAME: &'static str = "quic-profile";
    const TITLE: &'static str = "Where the CPU time of a transfer goes";
    const CREATES: &'static [&'static str] = &["sockets on loopback addresses"];
    const QUESTION: Question = Question {
        what: "Where the CPU time of QUIC goes",
        against: "the source's 3.5 times that of TCP",
    };

    type Config = Config;
    type Place = usize;
    type Arm = Stack;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        Ok(Self(config))
    }

    fn config(&self) -> &Config {
        &self.0
    }

    /// Datagrams of QUIC have a size, TCP is beside the smallest.
    fn subjects(&self, _: &Host) -> Vec<Subject<usize, Stack>> {
        let smallest = self.smallest();
        let of = |bytes: usize| {
            let stacks = self.0.stacks.iter().map(|name| name.0);
            let own = stacks.filter(move |stack| bytes == smallest || !stack.is_tcp());
            let rank = u8::from(bytes != smallest);
            own.map(move |stack| Subject::new(bytes, stack, Self::spot(bytes, stack)).ranked(rank))
        };
        self.0.payload_bytes.values().flat_map(of).collect()
    }

    fn times(&self) -> Times {
        // One transfer by the slowest stack may take as long.
        let least_s = self.0.bytes.get() as f64 / 7e8;
        Times {
            least_s,
            good_s: least_s.max(0.5),
            most_s: least_s.max(1.0),
            overhead_s: 0.1,
        }
    }

    fn start_s(&self, _: &Subjects<Self>) -> f64 {
        0.2
    }

    fn steps(&self) -> Vec<String> {
        vec!["the kernel's clock samples what runs, 2000 times a second on each CPU".to_owned()]
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let cores = transfers::cores(host);
        let identity = Identity::generate(&["localhost"]).map_err(Stopped::failed)?;
        let own = self.clone();
        // Without it, what a transfer costs is known all the same.
        let mut profiler = Profiler::on(&cores.all()).ok();
        Ok(trials(move |Subject { place, arm, .. }, length, go_on| {
            let transfer = own.transfer(*place, *arm);
            let run = || transfer.run(&identity, cores, Slice { length, go_on });
            let ((done, profile), evidence) = Evidence::around(cores, || {
                let (done, profile) = match &mut profiler {
                    Some(profiler) => {
                        let (done, profile) = profiler.around(run).map_err(Stopped::failed)?;
                        (done?, Some(profile))
                    }
                    None => (run()?, None),
                };
                let packets = done.bytes / u64::from(transfer.payload_bytes);
                Ok::<_, Stopped>(((done, profile), packets))
            })?;
            let mut reading = Reading::new(values(&done, profile));
            if *arm == Stack::Stock {
                reading
                    .values
                    .extend(transfers::mask_ns(*arm).map(|ns| (MASK, ns)));
            }
            reading.evidence = Some(evidence);
            Ok(reading)
        }))
    }

    fn measures(&self) -> Vec<Measure> {
        let parts = PARTS.map(|(_, measure)| measure);
        let mut all = vec![CPU, WORK, PACKET];
        all.extend(parts);
        all.extend([MASK, SAMPLES]);
        all
    }

    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<usize, Stack>> {
        use Stack::{Stock, Tcp, TcpTls, Together};
        let smallest = self.smallest();
        let has = |place: usize, stack: Stack| {
            subjects
                .iter()
                .any(|one| one.place == place && one.arm == stack)
        };
        let beside = [(Tcp, Stock), (TcpTls, Stock)];
        let beside = beside
            .into_iter()
            .filter(|(arm, reference)| has(smallest, *arm) && has(smallest, *reference))
            .map(|pair| Pair::at(smallest, pair, WORK));
        let offloaded = subjects.iter().filter_map(|one| {
            let is_told = one.arm == Together && has(one.place, Stock);
            is_told.then(|| Pair::at(one.place, (Together, Stock), WORK))
        });
        let larger = subjects.iter().filter_map(|one| {
            let is_told = one.place != smallest && has(smallest, one.arm);
            let pair = Pair::new((one.place, one.arm), (smallest, one.arm), WORK);
            is_told.then(|| pair.changed_by(change(one.place)))
        });
        beside.chain(offloaded).chain(larger).collect()
    }

    fn views(&self) -> Vec<View<usize, Stack>> {
        let note = "Both ends on this host, over loopback. Parts are shares of the samples of both CPUs; crypto is ciphers, tags and masks; copies are the kernel's and the program's.";
        let columns = std::iter::once(Cells::bare(CPU, "all"))
            .chain(PARTS.map(|(part, measure)| Cells::bare(measure, part.words())));
        let columns: Vec<_> = columns.collect();
        let costs = [
            Cells::bare(CPU, "CPU s/GB"),
            Cells::of(PACKET, "a packet, both ends"),
            Cells::bare(SAMPLES, "samples"),
            Cells::Verdict,
        ];
        vec![
            Sheet::new("Where the CPU time goes, s/GB", note, columns).into(),
            Rows::new(
                "CPU time of a transfer",
                note,
                "CPU s/GB",
                Shown::Value(CPU),
            )
            .series("arm")
            .into(),
            Sheet::new("Each way of a transfer", note, costs).into(),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }
}

/// What quinn is told to send datagrams of that size: by the second where its handshake
/// has none as long.
fn change(payload_bytes: usize) -> String {
    let how = match u16::try_from(payload_bytes) {
        Ok(bytes) if bytes <= FIRST_BYTES_MAX => "initial_mtu",
        _ => "MtuDiscoveryConfig::upper_bound",
    };
    format!("Datagrams of {payload_bytes} B by quinn ({how}), where the path's MTU carries them")
}

fn values(done: &Done, profile: Option<Profile>) -> Vec<(Measure, f64)> {
    let gb = done.bytes as f64 / 1e9;
    let cpu_s = (done.sender + done.receiver).as_secs_f64();
    let mut values = vec![(CPU, cpu_s / gb), (WORK, gb / cpu_s)];
    if done.datagrams > 0 {
        values.push((PACKET, 1e9 * cpu_s / done.datagrams as f64));
    }
    // Where some are lost, the others are those of a part of the trial.
    let is_whole = |profile: &Profile| profile.samples() > 0 && profile.lost == 0;
    if let Some(profile) = profile.filter(is_whole) {
        values.push((SAMPLES, profile.samples() as f64));
        let of = |(part, measure)| (measure, profile.share(part) * cpu_s / gb);
        values.extend(PARTS.map(of));
    }
    values
}

#[cfg(test)]
mod tests;
