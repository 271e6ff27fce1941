//! The section `quic-share`: which share of a slow link a transfer gets beside a TCP flow
//! that already fills it, as the file grows; by TCP, by QUIC, and by QUIC offloaded.

mod findings;

use std::time::Duration;

use kit::load::alone::Slice;
use kit::prelude::*;
use kit::routers::ground;
use kit::transfers::contest::{self, Contest, Fought, Link};
use kit::transfers::{Congestion, Stack, Transfer};
use kit::view::axis;
use kit::words::file_size;
use offload::perf::Identity;
use trial::Scale;

/// Of all bytes of frames that the link carried since the transfer began.
const SHARE: Measure = Measure::higher("share_percent", "% of the link");
const TIME: Measure = Measure::lower("completion_s", "s");
/// From that size on the share stays within [`WITHIN`] of that of the largest file.
const SETTLED: Measure = Measure::lower("settled_kb", "kB");
const DROPPED: Measure = Measure::fact("dropped_frames", "frames");

const WITHIN: f64 = 0.1;
/// Looks at a transfer's share as its file grows.
const STEPS: u32 = 100;

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Bytes of the file
        sizes_bytes: List<Bytes<10_000, 1_000_000_000>> = [100_000, 250_000, 500_000, 1_000_000, 2_000_000, 5_000_000],
        /// What carries it
        stacks: List<Name<Stack>> = ["tcp", "quic-stock", "quic-offloaded"],
        /// How the transfer finds its rate; iperf3 has cubic
        congestion: Name<Congestion> = "cubic",
        /// Rate of the link, Mbit/s
        rate_mbit_per_s: Real<100, 1_000_000> = 5.0,
        /// Its round trip without waiting, ms
        round_trip_ms: Count<1, 1000> = 50,
        /// Bytes that wait before it, at most
        queue_bytes: Bytes<3000, 100_000_000> = 31_250,
        /// Links of each stack at once; a trial gives their mean
        links: Count<1, 32> = 4,
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct QuicShare(Config);

impl QuicShare {
    fn link(&self) -> Link {
        Link {
            rate_bit_per_s: (self.0.rate_mbit_per_s.get() * 1e6) as u64,
            round_trip: Duration::from_millis(self.0.round_trip_ms.get() as u64),
            queue_bytes: self.0.queue_bytes.get(),
            loss: 0.0,
        }
    }

    fn largest(&self) -> usize {
        self.0.sizes_bytes.values().max().unwrap_or(0)
    }

    fn contest(&self, stack: Stack, bytes: usize) -> Contest {
        let transfer = Transfer {
            congestion: self.0.congestion.0,
            ..Transfer::cold(stack, bytes as u64)
        };
        let link = self.link();
        Contest {
            transfer,
            link,
            is_filled: true,
        }
    }

    fn spot(&self, bytes: usize, stack: Stack) -> Spot {
        Spot::new()
            .with("bytes", bytes as u64, file_size(bytes))
            .with("arm", stack.name(), stack.words())
            .also("congestion", self.0.congestion.0.name())
    }
}

impl Experiment for QuicShare {
    const NAME: &'static str = "quic-share";
    const TITLE: &'static str = "The share of a slow link that a transfer gets beside TCP";
    const PRIVILEGES: &'static [&'static str] = &[contest::PRIVILEGES];
    const CREATES: &'static [&'static str] = &[ground::CREATES, "iperf3 processes"];
    const SEARCHES: bool = true;
    const QUESTION: Question = Question {
        what: "Which share of a slow link QUIC gets beside TCP",
        against: "the source's 0.66, and 0.68 offloaded",
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

    fn needs(&self, probe: &Probe) -> Result<(), PlanError> {
        ground::namespaces(probe)
    }

    /// One trial has all: what a file of some size got is what a larger one had got when
    /// so much of it had come.
    fn subjects(&self, _: &Host) -> Vec<Subject<usize, Stack>> {
        let of = |bytes: usize| {
            let stacks = self.0.stacks.iter().map(|name| name.0);
            stacks.map(move |stack| Subject::new(bytes, stack, self.spot(bytes, stack)))
        };
        Subject::by_one_trial(self.0.sizes_bytes.values().flat_map(of))
    }

    /// The smallest file's time; a good one is that of a file that gets a quarter of the
    /// link.
    fn times(&self) -> Times {
        let alone_s = 8.0 * self.largest() as f64 / self.link().rate_bit_per_s as f64;
        Times {
            least_s: 0.85,
            good_s: 4.0 * alone_s,
            most_s: 6.0 * alone_s,
            overhead_s: self.link().settling_s() + 1.0,
        }
    }

    fn start_s(&self, _: &Subjects<Self>) -> f64 {
        0.1
    }

    fn steps(&self) -> Vec<String> {
        let link = self.link();
        vec![format!(
            "over {} emulated links of {} Mbit/s, {} ms and a queue of {} B, each filled by iperf3 before",
            self.0.links.get() * self.0.stacks.iter().count(),
            link.rate_bit_per_s as f64 / 1e6,
            link.round_trip.as_millis(),
            link.queue_bytes,
        )]
    }

    fn rig(&self, _: &Host, subjects: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let identity = Identity::generate(&["localhost"]).map_err(Stopped::failed)?;
        let (own, subjects) = (self.clone(), subjects.to_vec());
        let mut stacks: Vec<Stack> = Vec::new();
        for subject in &subjects {
            if !stacks.contains(&subject.arm) {
                stacks.push(subject.arm);
            }
        }
        let largest = subjects.iter().map(|one| one.place).max().unwrap_or(0);
        let links = self.0.links.get();
        let contests = stacks.iter().map(|&stack| own.contest(stack, largest));
        let contests: Vec<_> = contests
            .flat_map(|contest| std::iter::repeat_n(contest, links))
            .collect();
        Ok(trials(move |_, length, go_on| {
            let slice = Slice { length, go_on };
            let fought = contest::run(&contests, &identity, STEPS, slice)?;
            let verdict = contest::verdict(&fought);
            let readings = subjects.iter().map(|subject| {
                let at = stacks.iter().position(|stack| *stack == subject.arm);
                let first = at.expect("it is one of them") * links;
                let own = &fought[first..first + links];
                match values(own, subject.place, largest) {
                    Some(values) => Reading {
                        verdict: verdict.clone(),
                        ..Reading::new(values)
                    },
                    None => Reading {
                        verdict: contest::unfinished(),
                        ..Reading::new(Vec::new())
                    },
                }
            });
            Ok(Reading::of_one_trial(readings).expect("a trial has a subject"))
        }))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![SHARE, TIME, SETTLED, DROPPED]
    }

    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<usize, Stack>> {
        use Stack::{Stock, Tcp, Together};
        let has = |place: usize, stack: Stack| {
            let mut all = subjects.iter();
            all.any(|one| one.place == place && one.arm == stack)
        };
        let ratios = [
            (Together, Stock, SHARE),
            (Stock, Tcp, SHARE),
            (Together, Stock, TIME),
        ];
        // The largest first: it says most.
        let mut places: Vec<_> = subjects.iter().map(|one| one.place).collect();
        places.sort_by_key(|bytes| std::cmp::Reverse(*bytes));
        places.dedup();
        let of = |place: usize| {
            let told = ratios.into_iter();
            let told =
                told.filter(move |(arm, reference, _)| has(place, *arm) && has(place, *reference));
            told.map(move |(arm, reference, measure)| Pair::at(place, (arm, reference), measure))
        };
        places.into_iter().flat_map(of).collect()
    }

    fn views(&self) -> Vec<View<usize, Stack>> {
        let note = "A file comes to a link that iperf3 fills. Its share is of all bytes that the link carried since it began, headers and what is sent again with them.";
        let over = ("bytes", axis("size of the file", "B", Scale::Log2));
        let share = axis("share of the link", "%", Scale::Linear);
        let columns = [
            Cells::bare(SHARE, "share, %"),
            Cells::of(TIME, "completion"),
            Cells::Verdict,
        ];
        let shares = Sheet::new("Share of the link, %", note, [Cells::bare(SHARE, "")]);
        vec![
            Lines::new("Share of the link", note, over, share)
                .of(SHARE)
                .into(),
            shares.across("arm").into(),
            Sheet::new("Each way of a file", note, columns).into(),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }
}

/// The means of a stack's links; none where a link did not come so far.
fn values(fought: &[Fought], bytes: usize, largest: usize) -> Option<Vec<(Measure, f64)>> {
    let mean = |of: &dyn Fn(&Fought) -> Option<f64>| {
        let sum = fought.iter().map(of).sum::<Option<f64>>()?;
        Some(sum / fought.len() as f64)
    };
    let at = |one: &Fought| one.at(bytes as u64).copied();
    let mut values = vec![
        (SHARE, mean(&|one| Some(100.0 * at(one)?.share()?))?),
        (TIME, mean(&|one| Some(at(one)?.elapsed.as_secs_f64()))?),
    ];
    if bytes == largest {
        let settled = contest::settled_bytes(fought, bytes as u64, WITHIN)?;
        values.extend([
            (SETTLED, settled as f64 / 1e3),
            (DROPPED, mean(&|one| Some(one.dropped as f64))?),
        ]);
    }
    Some(values)
}

#[cfg(test)]
mod tests;
