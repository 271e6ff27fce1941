//! Counts test frames where they arrive, and drops them. `bpf/sink.bpf.c` is the
//! program.

mod latency;

use sys::failure::Failure;

use crate::attached::{Attached, Entry, Path};
use crate::object::{Map, Object, number, source};

pub use latency::Latency;

/// Sequences among which a second copy is recognised: a frame that is further behind
/// the newest one counts as received and reordered. `WINDOW_WORDS` in
/// `bpf/sink.bpf.c`.
pub const WINDOW_FRAMES: u64 = 1 << 20;

/// `struct seen`.
const SEEN_BYTES: usize = 8 + 8 * (1 << 15);

/// What was counted since [`Sink::begin`]. Each frame counts once: in
/// `received`, `duplicates`, `late` or `foreign`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub received: u64,
    pub duplicates: u64,
    /// Of `received`, those with a lower sequence than one before (RFC 4737,
    /// section 3.3).
    pub reordered: u64,
    pub late: u64,
    /// Frames of another stream of this trial, and those without a stamp, which go to
    /// the kernel.
    pub foreign: u64,
    /// Bytes of `received`, each frame with its frame check sequence.
    pub bytes: u64,
    /// From the first timed frame to the last, ns.
    pub elapsed_ns: u64,
    /// From due time to arrival, of the frames that were timed.
    pub latency: Latency,
}

/// Numbers of `struct counts`.
const COUNTS: usize = 8;

/// How far a sink is, for a [`Generator`](crate::Generator) that follows it.
pub struct Reached(pub(crate) Map);

struct Program {
    object: Object,
    ifindex: u32,
}

impl Path for Program {
    fn entries(&self) -> Vec<Entry<'_>> {
        vec![Entry {
            ifindex: self.ifindex,
            program: self.object.program("sink"),
        }]
    }
}

pub struct Sink {
    watch: Map,
    counts: Map,
    seen: Map,
    reached: Reached,
    latency: Map,
    clock_mask: u32,
    base: [u64; COUNTS],
    _attached: Attached<Program>,
}

impl Sink {
    /// Puts a sink on the port, in whose network namespace the calling thread must
    /// be. Before [`Self::begin`] it counts only late and foreign frames.
    pub fn attach(ifindex: u32) -> Result<Self, Failure> {
        let object = Object::load(&source!("sink"), |_| Ok(()))?;
        let mut sink = Self {
            watch: object.map(".data.watch")?,
            counts: object.map("counts")?,
            seen: object.map("seen")?,
            reached: Reached(object.map("reached")?),
            latency: object.map("latency")?,
            clock_mask: 0,
            base: [0; COUNTS],
            _attached: Attached::new(Program { object, ifindex })?,
        };
        sink.base = sink.totals()?;
        Ok(sink)
    }

    /// From the next [`Self::begin`] on, the clock is read only for frames whose
    /// sequence is a multiple of `frames`, rounded up to a power of two. Reading it
    /// costs about 20 ns, which shows at millions of frames a second. At first it is
    /// read for every frame.
    pub fn time_every(&mut self, frames: u32) {
        self.clock_mask = frames.clamp(1, 1 << 16).next_power_of_two() - 1;
    }

    pub fn reached(&self) -> &Reached {
        &self.reached
    }

    /// Starts to count the frames of this trial and stream, from zero.
    pub fn begin(&mut self, trial: u8, stream: u8) -> Result<(), Failure> {
        // What comes meanwhile is of an earlier trial.
        self.watch.write(0, &[0; 8])?;
        self.seen.write(0, &[0; SEEN_BYTES])?;
        self.reached.0.write(0, &[0; 8])?;
        self.latency.write(0, &[0; latency::BYTES])?;
        self.clear_times()?;
        self.base = self.totals()?;
        let mut watch = [b'L', b'G', trial, stream, 0, 0, 0, 0];
        watch[4..].copy_from_slice(&self.clock_mask.to_ne_bytes());
        self.watch.write(0, &watch)
    }

    pub fn counts(&self) -> Result<Counts, Failure> {
        let totals = self.totals()?;
        let since = |index: usize| totals[index].saturating_sub(self.base[index]);
        Ok(Counts {
            received: since(0),
            duplicates: since(1),
            reordered: since(2),
            late: since(3),
            foreign: since(4),
            bytes: since(5),
            elapsed_ns: totals[7].saturating_sub(totals[6]),
            latency: Latency::from_value(&self.latency.read(0)?),
        })
    }

    fn totals(&self) -> Result<[u64; COUNTS], Failure> {
        let mut totals = [0; COUNTS];
        for value in self.counts.read_per_cpu(0)? {
            for (index, total) in totals.iter_mut().enumerate() {
                let here = number(&value, index);
                *total = match index {
                    6 if *total == 0 => here,
                    6 if here == 0 => *total,
                    6 => here.min(*total),
                    7 => here.max(*total),
                    _ => *total + here,
                };
            }
        }
        Ok(totals)
    }

    /// The first and last times are not sums from which a base could be subtracted.
    fn clear_times(&self) -> Result<(), Failure> {
        let mut values = self.counts.read_per_cpu(0)?;
        for value in &mut values {
            if let Some(times) = value.get_mut(48..64) {
                times.fill(0);
            }
        }
        self.counts.write_per_cpu(0, &values)
    }
}
