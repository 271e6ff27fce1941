//! The section `quic-buffers`: how much of a slow link QUIC gets beside TCP, by the queue
//! before the link and, apart from it, by what QUIC's own window lets be under way.

mod findings;
mod grid;

use std::time::Duration;

use kit::load::alone::Slice;
use kit::prelude::*;
use kit::routers::ground;
use kit::transfers::contest::{self, Contest, Fought, Link};
use kit::transfers::{Congestion, Stack, Transfer};
use offload::perf::Identity;
use trial::Scale;

use grid::{Buffer, Place, Way};

/// Bytes of frames that the link carried for the transfer, over those for TCP.
const OF_TCP: Measure = Measure::higher("bandwidth_of_tcp", "of TCP's");
const TIME: Measure = Measure::lower("completion_s", "s");
const DROPPED: Measure = Measure::fact("dropped_frames", "frames");

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Bytes of the file
        bytes: Bytes<10_000, 1_000_000_000> = 10_000_000,
        /// What is as large as said: the queue before the link, or QUIC's window
        buffers: List<Name<Buffer>> = Buffer::ALL.map(Name),
        /// Bytes of it
        sizes_bytes: List<Bytes<3000, 100_000_000>> = [13_000, 30_000, 60_000],
        /// What carries the file
        stacks: List<Name<Stack>> = ["tcp", "quic-stock", "quic-offloaded"],
        /// How QUIC finds its rate; TCP has cubic
        congestion: List<Name<Congestion>> = Congestion::ALL.map(Name),
        /// Rate of the link, Mbit/s
        rate_mbit_per_s: Real<100, 1_000_000> = 5.0,
        /// Its round trip without waiting, ms
        round_trip_ms: Count<1, 1000> = 50,
        /// Bytes that wait before it, at most, where the window is as large as said
        queue_bytes: Bytes<3000, 100_000_000> = 30_000,
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct QuicBuffers(Config);

impl QuicBuffers {
    fn contest(&self, place: Place, way: Way) -> Contest {
        let (queue_bytes, window_bytes) = match place.buffer {
            Buffer::Queue => (place.bytes, None),
            Buffer::Window => (self.0.queue_bytes.get(), Some(place.bytes as u32)),
        };
        let transfer = Transfer {
            congestion: way.congestion,
            window_bytes,
            ..Transfer::cold(way.stack, self.0.bytes.get() as u64)
        };
        let link = self.link(queue_bytes);
        Contest {
            transfer,
            link,
            is_filled: true,
        }
    }

    fn link(&self, queue_bytes: usize) -> Link {
        Link {
            rate_bit_per_s: (self.0.rate_mbit_per_s.get() * 1e6) as u64,
            round_trip: Duration::from_millis(self.0.round_trip_ms.get() as u64),
            queue_bytes,
            loss: 0.0,
        }
    }
}

impl Experiment for QuicBuffers {
    const NAME: &'static str = "quic-buffers";
    const TITLE: &'static str = "QUIC beside TCP, by the link's queue and by QUIC's window";
    const PRIVILEGES: &'static [&'static str] = &[contest::PRIVILEGES];
    const CREATES: &'static [&'static str] = &[ground::CREATES, "iperf3 processes"];
    const SEARCHES: bool = true;
    const QUESTION: Question = Question {
        what: "Which buffer decides what QUIC gets beside TCP",
        against: "the source's 3, 1.5 and 1 times TCP's bandwidth at 13, 30 and 60 KB",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Way;
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

    /// One trial has all, each on a link of its own.
    fn subjects(&self, _: &Host) -> Vec<Subject<Place, Way>> {
        let subject = |(place, way): (Place, Way)| Subject::new(place, way, grid::spot(place, way));
        Subject::by_one_trial(grid::all(&self.0).into_iter().map(subject))
    }

    /// A share is one after some round trips; a good one is that of a file that gets a
    /// third of the link.
    fn times(&self) -> Times {
        let link = self.link(0);
        let alone_s = 8.0 * self.0.bytes.get() as f64 / link.rate_bit_per_s as f64;
        Times {
            least_s: 0.5,
            good_s: 3.0 * alone_s,
            most_s: 5.0 * alone_s,
            overhead_s: link.settling_s() + 1.0,
        }
    }

    fn start_s(&self, _: &Subjects<Self>) -> f64 {
        0.1
    }

    fn steps(&self) -> Vec<String> {
        vec![format!(
            "all of them at once, each over an emulated link of {} Mbit/s and {} ms that iperf3 fills",
            self.0.rate_mbit_per_s.get(),
            self.0.round_trip_ms.get(),
        )]
    }

    fn rig(&self, _: &Host, subjects: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let identity = Identity::generate(&["localhost"]).map_err(Stopped::failed)?;
        let contests = subjects.iter().map(|one| self.contest(one.place, one.arm));
        let contests: Vec<_> = contests.collect();
        Ok(trials(move |_, length, go_on| {
            // How the share came about is not asked: one look, at the end.
            let fought = contest::run(&contests, &identity, 1, Slice { length, go_on })?;
            let verdict = contest::verdict(&fought);
            let all = contests.iter().zip(&fought).map(|(contest, own)| Reading {
                verdict: verdict.clone(),
                ..Reading::new(values(own, contest.transfer.bytes))
            });
            Ok(Reading::of_one_trial(all).expect("a trial has a subject"))
        }))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![OF_TCP, TIME, DROPPED]
    }

    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Way>> {
        grid::pairs(subjects)
    }

    fn views(&self) -> Vec<View<Place, Way>> {
        let note = "A file comes to a link that iperf3 fills. Compared are all bytes that the link carried for each until the file was there, or the trial over.";
        let columns = [
            Cells::bare(OF_TCP, "of TCP's bandwidth"),
            Cells::of(TIME, "completion"),
            Cells::of(DROPPED, "dropped by the queue"),
            Cells::Verdict,
        ];
        vec![
            Rows::new(
                "Bandwidth of the file over TCP's",
                note,
                "of TCP's",
                Shown::Value(OF_TCP),
            )
            .scale(Scale::Log10)
            .series("arm")
            .into(),
            Sheet::new("Each way of a file", note, columns).into(),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn more(&self, results: &Results<'_, Self>) -> Vec<Event> {
        let figure = findings::figure_9(results).map(Event::Table);
        figure.into_iter().collect()
    }
}

/// Of what the link carried since the file came; when all of it was there, if it was.
fn values(fought: &Fought, bytes: u64) -> Vec<(Measure, f64)> {
    let end = fought.end();
    let mut values = vec![
        (OF_TCP, end.own_bytes as f64 / end.other_bytes as f64),
        (DROPPED, fought.dropped as f64),
    ];
    if end.bytes >= bytes {
        values.push((TIME, end.elapsed.as_secs_f64()));
    }
    values
}

#[cfg(test)]
mod tests;
