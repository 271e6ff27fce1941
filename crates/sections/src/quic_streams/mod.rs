//! The section `quic-streams`: a file over a link that loses packets, by one TCP
//! connection and by QUIC on one stream or several: how long it takes, and for how long
//! nothing of it can be read, since what was lost holds back what came after it.

mod findings;

use std::time::Duration;

use kit::load::alone::Slice;
use kit::prelude::*;
use kit::routers::ground;
use kit::transfers::contest::{self, Contest, Fought, Link};
use kit::transfers::{Congestion, Stack, Transfer};
use offload::perf::Identity;

const TIME: Measure = Measure::lower("completion_s", "s");
/// The same as a rate: what ratios are of.
const RATE: Measure = Measure::higher("rate_mbit_per_s", "Mbit/s");
/// Of the time, in pauses longer than a round trip.
const STILL: Measure = Measure::lower("still_percent", "% of the time");

/// Looks at the file; pauses count from the first on.
const STEPS: u32 = 100;

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Bytes of the file
        bytes: Bytes<100_000, 1_000_000_000> = 5_000_000,
        /// Frames that are lost, %
        loss_percent: Real<0, 30_000> = 1.0,
        /// Streams of a QUIC connection
        streams: List<Count<1, 100>> = [1, 4, 16],
        /// What carries QUIC
        stack: Name<Stack> = "quic-stock",
        /// How senders find their rate
        congestion: Name<Congestion> = "cubic",
        /// Rate of the link, Mbit/s
        rate_mbit_per_s: Real<100, 1_000_000> = 50.0,
        /// Its round trip, ms
        round_trip_ms: Count<1, 1000> = 20,
        /// Links of each way at once; a trial gives their mean
        links: Count<1, 32> = 4,
    }
}

/// One TCP connection, or QUIC with so many streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Tcp,
    Quic(usize),
}

impl Way {
    fn words(self) -> String {
        match self {
            Self::Tcp => "TCP".to_owned(),
            Self::Quic(1) => "QUIC, 1 stream".to_owned(),
            Self::Quic(streams) => format!("QUIC, {streams} streams"),
        }
    }

    fn spot(self) -> Spot {
        let streams = match self {
            Self::Tcp => 0,
            Self::Quic(streams) => streams,
        };
        Spot::new().with("streams", streams as u64, self.words())
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct QuicStreams(Config);

impl QuicStreams {
    fn contest(&self, way: Way) -> Contest {
        let (stack, streams) = match way {
            Way::Tcp => (Stack::Tcp, 1),
            Way::Quic(streams) => (self.0.stack.0, streams as u16),
        };
        let transfer = Transfer {
            streams,
            congestion: self.0.congestion.0,
            ..Transfer::cold(stack, self.0.bytes.get() as u64)
        };
        Contest {
            transfer,
            link: self.link(),
            is_filled: false,
        }
    }

    fn link(&self) -> Link {
        let mut link = Link {
            rate_bit_per_s: (self.0.rate_mbit_per_s.get() * 1e6) as u64,
            round_trip: Duration::from_millis(self.0.round_trip_ms.get() as u64),
            queue_bytes: 0,
            loss: self.0.loss_percent.get() / 100.0,
        };
        // Frames are lost by chance: a queue of two round trips drops hardly any.
        link.queue_bytes = (2.0 * link.bytes_under_way()) as usize + 30_000;
        link
    }
}

impl Experiment for QuicStreams {
    const NAME: &'static str = "quic-streams";
    const TITLE: &'static str = "Streams of QUIC and TCP on a link that loses packets";
    const PRIVILEGES: &'static [&'static str] = &[contest::PRIVILEGES];
    const CREATES: &'static [&'static str] = &[ground::CREATES];
    const SEARCHES: bool = true;
    const QUESTION: Question = Question {
        what: "What streams of QUIC gain where packets are lost",
        against: "one TCP connection",
    };

    type Config = Config;
    type Place = ();
    type Arm = Way;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        match config.stack.0.is_tcp() {
            true => Err(ConfigError::value(
                "stack",
                "it must be one of QUIC: TCP is measured beside it",
            )),
            false => Ok(Self(config)),
        }
    }

    fn config(&self) -> &Config {
        &self.0
    }

    fn needs(&self, probe: &Probe) -> Result<(), PlanError> {
        ground::namespaces(probe)
    }

    fn subjects(&self, _: &Host) -> Vec<Subject<(), Way>> {
        let streams = self.0.streams.values().map(Way::Quic);
        let ways = std::iter::once(Way::Tcp).chain(streams);
        Subject::by_one_trial(ways.map(|way| Subject::new((), way, way.spot())))
    }

    /// Cubic at 1% loss gets some tens of packets under way (RFC 9438, §5.2).
    fn times(&self) -> Times {
        let link = self.link();
        let window_bytes = 1448.0 * 1.2 / link.loss.max(1e-4).sqrt();
        let rate =
            (link.rate_bit_per_s as f64 / 8.0).min(window_bytes / link.round_trip.as_secs_f64());
        let good_s = 3.0 * self.0.bytes.get() as f64 / rate;
        Times {
            least_s: 1.0,
            good_s: good_s.max(1.0),
            most_s: 3.0 * good_s.max(1.0),
            overhead_s: 0.5,
        }
    }

    fn start_s(&self, _: &Subjects<Self>) -> f64 {
        0.1
    }

    fn rig(&self, _: &Host, subjects: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let identity = Identity::generate(&["localhost"]).map_err(Stopped::failed)?;
        let (links, bytes) = (self.0.links.get(), self.0.bytes.get() as u64);
        let contests = subjects.iter().map(|one| self.contest(one.arm));
        let contests: Vec<_> = contests
            .flat_map(|contest| std::iter::repeat_n(contest, links))
            .collect();
        Ok(trials(move |_, length, go_on| {
            let fought = contest::run(&contests, &identity, STEPS, Slice { length, go_on })?;
            let verdict = contest::verdict(&fought);
            let all = fought.chunks(links).map(|own| Reading {
                verdict: verdict.clone(),
                ..Reading::new(values(own, bytes))
            });
            Ok(Reading::of_one_trial(all).expect("a trial has a subject"))
        }))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![TIME, RATE, STILL]
    }

    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<(), Way>> {
        let arms = subjects.iter().map(|one| one.arm);
        let quic = arms.clone().filter(|way| *way != Way::Tcp);
        let beside = quic.map(|way| Pair::at((), (way, Way::Tcp), RATE));
        let has_one = arms.clone().any(|way| way == Way::Quic(1));
        let many = arms.filter(|way| has_one && !matches!(way, Way::Tcp | Way::Quic(1)));
        let many = many.map(|way| Pair::at((), (way, Way::Quic(1)), RATE));
        beside.chain(many).collect()
    }

    fn views(&self) -> Vec<View<(), Way>> {
        let note = format!(
            "A file of {:.1} MB over an emulated link of {} Mbit/s and {} ms that loses {}% of the frames, no other traffic on it. Still: nothing could be read for longer than a round trip.",
            self.0.bytes.get() as f64 / 1e6,
            self.0.rate_mbit_per_s.get(),
            self.0.round_trip_ms.get(),
            self.0.loss_percent.get(),
        );
        let columns = [
            Cells::of(TIME, "completion"),
            Cells::of(RATE, "speed"),
            Cells::of(STILL, "still"),
            Cells::Verdict,
        ];
        vec![Sheet::new("A file over a link that loses packets", note, columns).into()]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }
}

/// The means of a way's links, of what came; how long a file takes, where all of each did.
fn values(fought: &[Fought], bytes: u64) -> Vec<(Measure, f64)> {
    let mean = |of: &dyn Fn(&Fought, f64) -> f64| {
        let all = fought
            .iter()
            .map(|one| of(one, one.end().elapsed.as_secs_f64()));
        all.sum::<f64>() / fought.len() as f64
    };
    let rate = |one: &Fought, time_s: f64| 8.0 * one.end().bytes as f64 / 1e6 / time_s;
    let still = |one: &Fought, time_s: f64| 100.0 * one.still.as_secs_f64() / time_s;
    let mut values = vec![(RATE, mean(&rate)), (STILL, mean(&still))];
    if fought.iter().all(|one| one.end().bytes >= bytes) {
        values.push((TIME, mean(&|_, time_s| time_s)));
    }
    values
}

#[cfg(test)]
mod tests;
