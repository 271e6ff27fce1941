//! Several generators on one thread. `bpf/turns.bpf.c` is the program.

use std::os::fd::{AsFd, AsRawFd};

use sys::failure::Failure;

use crate::object::{Map, Object, source};

use super::plan::Image;
use super::{Generator, Phase, Plan, SendError, Sent, Watch, run};

/// Generators that one thread serves. `GENERATORS_MAX` in `bpf/turns.bpf.c`.
pub const GENERATORS_MAX: usize = 32;

/// Several generators that take turns, frame by frame, on one thread.
///
/// Separate threads would take turns too, but milliseconds long where they share a
/// CPU: each stream would have gaps, and bursts after them.
pub struct Turns {
    object: Object,
    generators: Map,
    turn: Map,
}

impl Turns {
    pub fn load() -> Result<Self, Failure> {
        let object = Object::load(&source!("turns"), |_| Ok(()))?;
        Ok(Self {
            generators: object.map("generators")?,
            turn: object.map(".data.turn")?,
            object,
        })
    }

    /// Sends one plan by each generator from the calling thread, all at the same
    /// time, until all are over or the watcher ends them. The watcher hears when
    /// the first begins and when the last is over. Each has an equal share of the CPU
    /// time.
    ///
    /// # Errors
    /// [`SendError`]; [`SendError::Turns`] where there is not one plan for each
    /// of 1 to [`GENERATORS_MAX`] generators, and [`SendError::Frames`] where
    /// their frames differ in length or family.
    pub fn send<'a>(
        &mut self,
        generators: &mut [&mut Generator],
        plans: &[Plan],
        watch: impl Into<Watch<'a>>,
    ) -> Result<Vec<Sent>, SendError> {
        let count = generators.len();
        if count != plans.len() || !(1..=GENERATORS_MAX).contains(&count) {
            return Err(SendError::Turns {
                generators: count,
                plans: plans.len(),
            });
        }
        let images = plans.iter().map(Plan::image);
        let images = images.collect::<Result<Vec<Image>, _>>()?;
        let first = &images[0];
        if !images.iter().all(|image| image.is_like(first)) {
            return Err(SendError::Frames);
        }
        self.prepare(generators, &images)?;
        let cpu = sys::clock::thread_cpu();
        let program = self.object.program("take_turns");
        let phase = || phase_of(generators);
        let longest = plans.iter().map(|plan| plan.duration).max();
        let longest = longest.unwrap_or_default();
        // The smallest batch: a paced stream must not wait for the others'.
        let batch = images.iter().map(|image| image.batch).min();
        let batch = batch.unwrap_or(first.batch);
        let what = (program.as_fd(), &first.page[..], batch);
        run(what, watch.into(), longest, &phase)?;
        let cpu = sys::clock::thread_cpu().saturating_sub(cpu);
        let share_ns = u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX) / count as u64;
        let sent = generators.iter().zip(&images).zip(plans);
        sent.map(|((generator, image), plan)| {
            let mut sent = generator.sent(image, plan.duration)?;
            sent.cpu_ns = share_ns;
            Ok(sent)
        })
        .collect()
    }

    fn prepare(&self, generators: &[&mut Generator], images: &[Image]) -> Result<(), Failure> {
        for ((index, generator), image) in (0..).zip(generators).zip(images) {
            generator.begin(image)?;
            let descriptor = generator.program.as_raw_fd();
            self.generators.write(index, &descriptor.to_ne_bytes())?;
        }
        // `struct turn`: whose is next, how many there are.
        let mut turn = [0; 8];
        turn[4..].copy_from_slice(&u32::to_ne_bytes(generators.len() as u32));
        self.turn.write(0, &turn)
    }
}

fn phase_of(generators: &[&mut Generator]) -> Option<Phase> {
    let phases: Vec<_> = generators.iter().map(|one| one.phase()).collect();
    let is_begun = phases.iter().any(Option::is_some);
    let slowest = phases.into_iter().min().flatten();
    slowest.max(is_begun.then_some(Phase::Begun))
}
