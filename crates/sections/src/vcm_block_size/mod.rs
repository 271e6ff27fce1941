//! The section `vcm-block-size`: the VCM paper's figure 2 on this host. One
//! task, speed and notification rate over the block size; and what one
//! notification costs.

mod figure;
mod findings;
mod price;

use crypto::{Algorithm, Kind, Workload};
use kit::config::checks::{BLOCK_BYTES_MAX, check_blocks, check_kind, check_slots};
use kit::drawing::block_axis;
use kit::load::benches::{Ask, Benches, MEASURES, NOTIFICATIONS, OVERHEAD_S, REQUESTS, SPEED};
use kit::place::Placement;
use kit::places::Places;
use kit::prelude::*;
use kit::words::{NOTIFY_SLEEPERS, size};
use model::paper::published::BLOCKS_BYTES;
use policy::Policy;

use figure::{BEST_PER_S, PEAK_BYTES};

/// What says most of the paper's sizes: the others are left out first.
const FEW: [usize; 4] = [512, 4096, 16_384, 65_536];
/// Starting one bench and filling its memory, seconds.
const START_S: f64 = 0.15;

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Algorithms of the requests
        algorithms: List<Name<Algorithm>> = ["aes-128-cbc", "aes-128-gcm"],
        /// Bytes of one request
        sizes_bytes: List<Bytes<1, BLOCK_BYTES_MAX>> = BLOCKS_BYTES.map(|bytes| bytes as usize),
        /// Requests in flight
        depth: Count<1, { engine::DEPTH_MAX }> = 64,
        /// Notification policies
        policies: List<Name<Policy>> = ["each", "armed", "polled"],
        /// Whether the client shares the worker's core; auto: both, where there are two CPUs
        placements: Auto<List<Name<Placement>>> = None,
        /// Library that computes
        backend: BackendName = BackendName::default(),
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct BlockSize {
    config: Config,
}

/// Whether both are of one line of the figure.
fn are_along(one: &Ask, other: &Ask) -> bool {
    (one.placement, one.kind) == (other.placement, other.kind)
}

impl BlockSize {
    fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.config.algorithms.iter().map(|name| Kind::from(name.0))
    }

    /// The sizes that were asked for, rising, with their ranks.
    fn sizes(&self) -> Vec<(usize, u8)> {
        let is_usual = self.config.sizes_bytes == Config::default().sizes_bytes;
        let mut sizes: Vec<_> = self
            .config
            .sizes_bytes
            .iter()
            .map(|size| size.get())
            .collect();
        sizes.sort_unstable();
        let last = sizes.len() - 1;
        let rank = |(index, bytes): (usize, usize)| match is_usual {
            true => (bytes, u8::from(!FEW.contains(&bytes))),
            false => (bytes, halvings(index, last)),
        };
        sizes.into_iter().enumerate().map(rank).collect()
    }

    fn check_memory(&self) -> Result<(), ConfigError> {
        let slots = self.config.depth.get() * self.config.algorithms.len();
        let bytes = self.sizes().iter().map(|(bytes, _)| bytes).sum();
        let remedy = "lower depth, or name fewer sizes_bytes or algorithms";
        check_slots("depth", (slots, bytes), remedy)
    }

    fn spot(&self, place: Ask, policy: Policy) -> Spot {
        place.spot(&self.config.backend).named("policy", policy)
    }
}

/// First and last say most, then what halves the way between.
fn halvings(index: usize, last: usize) -> u8 {
    let (mut step, mut rank) = (last.max(1), 0);
    while !index.is_multiple_of(step) {
        step = (step / 2).max(1);
        rank += 1;
    }
    rank
}

impl Experiment for BlockSize {
    const NAME: &'static str = "vcm-block-size";
    const TITLE: &'static str = "VCM, figure 2: speed and notifications by block size";
    const QUESTION: Question = Question {
        what: "What a notification costs",
        against: "the VCM paper's figure 2 (the speed falls beyond 16 KiB, and interrupts are to blame)",
    };

    type Config = Config;
    type Place = Ask;
    type Arm = Policy;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        let own = Self { config };
        for kind in own.kinds() {
            check_kind("algorithms", &own.config.backend, kind)?;
            check_blocks(
                "sizes_bytes",
                kind,
                own.sizes().into_iter().map(|(bytes, _)| bytes),
            )?;
        }
        own.check_memory()?;
        Ok(own)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<Ask, Policy>> {
        let mut subjects: Vec<Subject<Ask, Policy>> = Vec::new();
        for (placement, _) in self.places(host).kept {
            for kind in self.kinds() {
                for (bytes, rank) in self.sizes() {
                    let place = Ask {
                        placement,
                        kind,
                        block_bytes: Workload::input_bytes(kind, bytes),
                        depth: self.config.depth.get(),
                        tasks: 1,
                    };
                    // Requests with public keys have a size of their own.
                    if subjects.iter().any(|own| own.place == place) {
                        continue;
                    }
                    subjects.extend(self.config.policies.iter().map(|policy| {
                        Subject::new(place, policy.0, self.spot(place, policy.0)).ranked(rank)
                    }));
                }
            }
        }
        subjects
    }

    fn places(&self, host: &Host) -> Places {
        Places::named(&self.config.placements, &host.cpus)
    }

    /// Shorter holds too few completions of large blocks; longer says no more
    /// than another round would.
    fn times(&self) -> Times {
        Times::new((0.008, 0.015), OVERHEAD_S)
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        START_S * Places::among(subjects.iter().map(|subject| subject.place.placement)) as f64
    }

    fn rig(&self, host: &Host, subjects: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let asks = subjects.iter().map(|one| one.place);
        let mut benches = Benches::start(&self.config.backend, &self.places(host), asks)?;
        Ok(trials::<Self>(move |one, slice, go_on| {
            benches.trial(&one.place, slice, one.arm, go_on, |_| vec![])
        }))
    }

    fn measures(&self) -> Vec<Measure> {
        MEASURES.to_vec()
    }

    /// What `armed` gains at every place.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Ask, Policy>> {
        let armed = subjects.iter().filter(|one| one.arm == Policy::ARMED);
        let gain = |one: &Subject<Ask, Policy>| {
            let arms = (Policy::ARMED, Policy::EACH);
            Pair::at(one.place, arms, REQUESTS).changed_by(NOTIFY_SLEEPERS)
        };
        armed.map(gain).collect()
    }

    fn prices(&self, results: &Results<'_, Self>) -> Vec<trial::Price> {
        price::list(results)
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let depth = self.config.depth.get();
        let sleeps: Only<Ask, Policy> = |_, policy| policy.moderation.client_sleeps();
        let sheet = |what: &str, note, measure| {
            let title = format!("{what} by block size, {depth} requests in flight");
            Sheet::new(title, note, [Cells::of(measure, "")]).across("policy")
        };
        vec![
            Lines::new(
                "Speed by block size",
                format!(
                    "One task, {depth} requests in flight. The paper's figure 2 rises to {} and falls beyond. Whiskers: 95% interval of the median. Hollow: what is in flight exceeds L2, or the trial was disturbed.",
                    size(PEAK_BYTES)
                ),
                ("block_bytes", block_axis()),
                axis("speed", "MB/s", Scale::Linear),
            )
            .of(SPEED)
            .split(&["algorithm", "placement"])
            .into(),
            Lines::new(
                "Notifications by block size",
                format!(
                    "One task. The paper's interrupt rate rises with the block size, to {BEST_PER_S:.0}/s at its best block. A notification for every completion cannot rise, once computing takes longer."
                ),
                ("block_bytes", block_axis()),
                axis("notifications", "1/s", Scale::Log10),
            )
            .of(NOTIFICATIONS)
            .split(&["placement"])
            .only(sleeps)
            .into(),
            sheet(
                "Speed",
                "MB/s are 10^6 bytes a second; medians over the rounds.",
                SPEED,
            )
            .into(),
            sheet("Notifications", "Medians over the rounds.", NOTIFICATIONS)
                .only(sleeps)
                .into(),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }

    /// The price of a notification, a point a placement; the paper's figure 2
    /// beside ours.
    fn more(&self, results: &Results<'_, Self>) -> Vec<Event> {
        let points = price::points(results).into_iter().map(Event::Point);
        points
            .chain(figure::beside(results).map(Event::Table))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use kit::testing::{assert_refused, section};

    use super::*;

    #[test]
    fn the_papers_sizes_come_first_and_else_the_ends() {
        let ranks = |text| section::<BlockSize>(text).unwrap().sizes();
        let usual = ranks("").into_iter().filter(|(_, rank)| *rank == 0);
        assert_eq!(usual.map(|(bytes, _)| bytes).collect::<Vec<_>>(), FEW);
        let named = ranks("sizes_bytes = [1024, 16, 64, 256, 32]");
        assert_eq!(named, [(16, 0), (32, 2), (64, 1), (256, 2), (1024, 0)]);
        assert_eq!(ranks("sizes_bytes = [16]"), [(16, 0)]);
    }

    #[test]
    fn what_does_not_fit_memory_or_blocks_is_named() {
        assert_refused::<BlockSize>(&[
            (
                "depth = 4096\nsizes_bytes = [1048576]",
                "depth",
                "the limit is",
            ),
            ("sizes_bytes = [17]", "sizes_bytes", "multiples of 16"),
        ]);
    }
}
