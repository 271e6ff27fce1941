//! What is measured: a file by each way, with a buffer of each size.

use kit::spot::Spot;
use kit::subject::{Pair, Subject};
use kit::transfers::{Congestion, Stack};
use kit::words::file_size;

use super::{Config, OF_TCP};

/// What holds packets back, or drops them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// Before the link: it is shared with TCP.
    Queue,
    /// QUIC's flow control: what may be under way.
    Window,
}

impl Buffer {
    pub const ALL: [Self; 2] = [Self::Queue, Self::Window];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Window => "window",
        }
    }
}

kit::named!(Buffer, "buffer");

/// Which buffer has how many bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub(super) buffer: Buffer,
    pub(super) bytes: usize,
}

/// What carries the file, and how it finds its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub(super) stack: Stack,
    pub(super) congestion: Congestion,
}

impl Way {
    pub(super) const TCP: Self = Self::cubic(Stack::Tcp);

    pub(super) const fn cubic(stack: Stack) -> Self {
        Self {
            stack,
            congestion: Congestion::Cubic,
        }
    }

    fn name(self) -> String {
        format!("{}-{}", self.stack.name(), self.congestion.name())
    }

    pub(super) fn words(self) -> String {
        match self.stack {
            Stack::Tcp => self.stack.words().to_owned(),
            _ => format!("{}, {}", self.stack.words(), self.congestion.name()),
        }
    }
}

pub(super) fn all(config: &Config) -> Vec<(Place, Way)> {
    let stacks = config.stacks.iter().map(|name| name.0);
    let ways = stacks.flat_map(|stack| {
        let congestion = config.congestion.iter().map(|name| name.0);
        let quic = congestion.map(move |congestion| Way { stack, congestion });
        match stack.is_tcp() {
            true => vec![Way::cubic(stack)],
            false => quic.collect::<Vec<_>>(),
        }
    });
    let ways: Vec<_> = ways.collect();
    let mut all = Vec::new();
    for buffer in config.buffers.iter().map(|name| name.0) {
        for bytes in config.sizes_bytes.values() {
            let place = Place { buffer, bytes };
            // A window of QUIC's is none of TCP's.
            let own = ways
                .iter()
                .filter(|way| buffer == Buffer::Queue || !way.stack.is_tcp());
            all.extend(own.map(|way| (place, *way)));
        }
    }
    all
}

pub(super) fn spot(place: Place, way: Way) -> Spot {
    let words = format!("{} of {}", place.buffer.name(), file_size(place.bytes));
    Spot::new()
        .with("bytes", place.bytes as u64, words)
        .also("buffer", place.buffer.name())
        .with("arm", way.name().as_str(), way.words())
}

/// What offloading changes, what BBR does, and how QUIC does beside a second TCP.
pub(super) fn pairs(subjects: &[Subject<Place, Way>]) -> Vec<Pair<Place, Way>> {
    let has = |place: Place, way: Way| {
        let is = |one: &Subject<Place, Way>| one.place == place && one.arm == way;
        subjects.iter().any(is)
    };
    let of = |subject: &Subject<Place, Way>| {
        let (place, way) = (subject.place, subject.arm);
        let stock = Way {
            stack: Stack::Stock,
            ..way
        };
        let reference = match (way.stack, way.congestion) {
            (Stack::Together, _) => stock,
            (Stack::Stock, Congestion::Bbr) => Way::cubic(Stack::Stock),
            (Stack::Stock, Congestion::Cubic) => Way::TCP,
            _ => return None,
        };
        has(place, reference).then(|| Pair::at(place, (way, reference), OF_TCP))
    };
    subjects.iter().filter_map(of).collect()
}
