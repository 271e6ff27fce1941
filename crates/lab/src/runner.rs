//! Runs the sections, one after the other, and collects what they yield.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use sys::failure::with_causes;
use trial::{
    Event, Plan, PlanError, Point, Run, RunError, Section, SectionResult, SectionState, Sink,
};

use crate::finite::not_finite;
use crate::schedule::Scheduled;

/// Maximum number of points, ratios, charts, tables or findings of a section;
/// each beyond is dropped and counted in a warning. Bounds memory and disk.
pub const YIELD_MAX: usize = 10_000;

/// What follows a run while it runs: progress, storing.
pub trait Watcher {
    fn begins(&mut self, section: &dyn Section, plan: &Plan);

    /// A section is `share` (0 to 1) done and measures `now`.
    fn progress(&mut self, share: f64, now: &str);

    /// There is something new in `run`. At a `milestone` (a section ended),
    /// it must be kept now; else soon.
    fn changed(&mut self, run: &Run, milestone: bool);
}

/// Runs what is scheduled and returns `run` filled in. `run` comes with its
/// head (host, seed, scenario, probe …) and no sections. A section that fails
/// or panics is `failed` and the next one runs; once `interrupted` is set,
/// the current one is asked to stop and the others are not begun.
pub fn run(
    scheduled: Vec<Scheduled>,
    run: Run,
    interrupted: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Run {
    let mut course = Course {
        run,
        started: Instant::now(),
        interrupted,
        watcher,
    };
    for Scheduled { section, plan } in scheduled {
        let (state, seconds) = match plan {
            Err(why) => {
                course.open(section.as_ref());
                (skipped(why), 0.0)
            }
            Ok(_) if course.is_interrupted() => {
                course.open(section.as_ref());
                (partial("interrupted before it began"), 0.0)
            }
            Ok(plan) => course.attempt(section.as_ref(), &plan),
        };
        course.close(state, seconds);
    }
    course.run
}

/// A run under way.
struct Course<'a> {
    run: Run,
    started: Instant,
    interrupted: &'a AtomicBool,
    watcher: &'a mut dyn Watcher,
}

impl Course<'_> {
    fn attempt(&mut self, section: &dyn Section, plan: &Plan) -> (SectionState, f64) {
        self.open(section);
        self.watcher.begins(section, plan);
        let begun = Instant::now();
        let probe = self.run.probe.clone();
        let mut collector = Collector {
            course: self,
            dropped: 0,
        };
        // A section that panicked is never used again, and the collector only
        // ever holds whole events: nothing broken can be seen.
        let ended = catch_unwind(AssertUnwindSafe(|| {
            section.run(&probe, plan, &mut collector)
        }));
        let dropped = collector.dropped;
        if dropped > 0 {
            tracing::warn!(
                section = section.name(),
                dropped,
                "more results than {YIELD_MAX} of a kind: dropped"
            );
        }
        (end_state(ended, dropped), begun.elapsed().as_secs_f64())
    }

    /// Enters a section into the run, as interrupted until it says otherwise:
    /// that is what a reader finds if the process is killed.
    fn open(&mut self, section: &dyn Section) {
        let state = partial("it had not ended when this was stored");
        let name = (section.name(), section.title());
        let opened = SectionResult::new(name, &section.command(), state);
        self.run.sections.push(opened);
    }

    fn close(&mut self, state: SectionState, seconds: f64) {
        let section = self.section();
        section.state = state;
        section.seconds = seconds;
        section.findings.sort_by_key(|finding| finding.weight);
        self.run.interrupted = self.is_interrupted();
        self.changed(true);
    }

    fn changed(&mut self, milestone: bool) {
        self.run.seconds = self.started.elapsed().as_secs_f64();
        self.watcher.changed(&self.run, milestone);
    }

    fn section(&mut self) -> &mut SectionResult {
        self.run
            .sections
            .last_mut()
            .expect("open() pushed the current section")
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// The sink of one section.
struct Collector<'a, 'b> {
    course: &'a mut Course<'b>,
    dropped: usize,
}

impl Sink for Collector<'_, '_> {
    fn emit(&mut self, event: Event) {
        // Ends the section as failed; all that came before stands.
        let broken = not_finite(&event);
        assert!(
            broken.is_none(),
            "{} holds a number that is not finite",
            broken.unwrap_or_default()
        );
        let section = self.course.section();
        let kept = match event {
            Event::Progress(share, now) => {
                return self.course.watcher.progress(share.clamp(0.0, 1.0), &now);
            }
            Event::Point(point) => keep_point(&mut section.points, point),
            Event::Comparison(comparison) => keep(&mut section.comparisons, comparison),
            Event::Price(price) => keep(&mut section.prices, price),
            Event::Chart(chart) => keep(&mut section.charts, chart),
            Event::Table(table) => keep(&mut section.tables, table),
            Event::Finding(finding) => keep(&mut section.findings, finding),
        };
        self.dropped += usize::from(!kept);
        self.course.changed(false);
    }

    fn is_interrupted(&self) -> bool {
        self.course.is_interrupted()
    }
}

/// A point measured again (another round of it) replaces what it was.
fn keep_point(points: &mut Vec<Point>, point: Point) -> bool {
    let same = |other: &&mut Point| other.dimensions == point.dimensions;
    match points.iter_mut().find(same) {
        Some(earlier) => {
            *earlier = point;
            true
        }
        None => keep(points, point),
    }
}

fn keep<T>(list: &mut Vec<T>, item: T) -> bool {
    let fits = list.len() < YIELD_MAX;
    if fits {
        list.push(item);
    }
    fits
}

fn end_state(
    ended: Result<Result<(), RunError>, Box<dyn Any + Send>>,
    dropped: usize,
) -> SectionState {
    match ended {
        Ok(Ok(())) if dropped > 0 => partial(&format!(
            "{dropped} results above the limit of {YIELD_MAX} of a kind were dropped"
        )),
        Ok(Ok(())) => SectionState::Complete,
        Ok(Err(RunError::Interrupted)) => partial("interrupted"),
        Ok(Err(error @ RunError::Failed { .. })) => SectionState::Failed {
            reason: with_causes(&error),
        },
        Err(panic) => SectionState::Failed {
            reason: format!("a defect of Lockgate: {}", panic_message(&*panic)),
        },
    }
}

fn skipped(why: PlanError) -> SectionState {
    let (reason, remedy) = match why {
        PlanError::NotSupported { reason, remedy } => (reason, remedy),
        PlanError::Budget { needed_s, budget_s } => (
            format!("needs at least {needed_s:.1} s of measuring, {budget_s:.1} s are left for it"),
            format!(
                "raise --budget by {:.0} s or name fewer scenarios",
                (needed_s - budget_s).ceil().max(1.0)
            ),
        ),
    };
    SectionState::NotSupported { reason, remedy }
}

fn partial(reason: &str) -> SectionState {
    SectionState::Partial {
        reason: reason.to_owned(),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it panicked without a message")
}

#[cfg(test)]
mod tests;
