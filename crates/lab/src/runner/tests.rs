use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trial::{Event, Finding, Plan, Probe, Run, RunError, Section, SectionState, Weight};

use crate::runner::{Watcher, YIELD_MAX, run};
use crate::schedule::schedule;
use crate::testing::{Fake, blank_run, point};

/// Notes what it was told; sets a flag after this many points.
struct Log<'a> {
    begun: usize,
    progress: Vec<f64>,
    changes: usize,
    milestones: Vec<Run>,
    interrupt: Option<(usize, &'a AtomicBool)>,
}

impl Log<'_> {
    fn new() -> Self {
        Self {
            begun: 0,
            progress: vec![],
            changes: 0,
            milestones: vec![],
            interrupt: None,
        }
    }
}

impl Watcher for Log<'_> {
    fn begins(&mut self, _: &dyn Section, _: &Plan) {
        self.begun += 1;
    }

    fn progress(&mut self, share: f64, _: &str) {
        self.progress.push(share);
    }

    fn changed(&mut self, run: &Run, milestone: bool) {
        self.changes += 1;
        if milestone {
            self.milestones.push(run.clone());
        }
        if let Some((after, flag)) = self.interrupt {
            flag.store(self.changes >= after, Ordering::Relaxed);
        }
    }
}

fn run_all(sections: Vec<Fake>, interrupted: &AtomicBool, log: &mut Log<'_>) -> Run {
    let sections = sections.into_iter().map(Fake::boxed).collect();
    let scheduled = schedule(sections, &Probe::default(), Duration::from_secs(60));
    run(scheduled, blank_run(), interrupted, log)
}

#[test]
fn events_end_up_in_the_result() {
    let section = Fake::acting(|sink| {
        sink.emit(Event::Progress(7.0, "all".to_owned()));
        sink.emit(Event::Point(point(1)));
        let finding = |weight| Finding {
            weight,
            text: "so".to_owned(),
            remedy: String::new(),
        };
        sink.emit(Event::Finding(finding(Weight::Note)));
        sink.emit(Event::Finding(finding(Weight::Headline)));
        Ok(())
    });
    let mut log = Log::new();
    let run = run_all(vec![section], &AtomicBool::new(false), &mut log);
    let result = &run.sections[0];
    assert_eq!(result.state, SectionState::Complete);
    assert_eq!(result.points, [point(1)]);
    assert_eq!(result.findings[0].weight, Weight::Headline);
    assert_eq!(log.progress, [1.0]);
    assert_eq!((log.begun, log.changes, log.milestones.len()), (1, 4, 1));
    assert!(!run.interrupted);
}

#[test]
fn a_panic_is_a_failure_and_the_next_section_runs() {
    let sound = Fake::acting(|sink| {
        sink.emit(Event::Point(point(2)));
        Ok(())
    });
    let panicking = Fake::acting(|sink| {
        sink.emit(Event::Point(point(1)));
        panic!("the gate fell off")
    });
    let run = run_all(
        vec![panicking, sound],
        &AtomicBool::new(false),
        &mut Log::new(),
    );
    assert!(
        matches!(&run.sections[0].state, SectionState::Failed { reason } if reason.contains("the gate fell off")),
        "{:?}",
        run.sections[0].state
    );
    assert_eq!(run.sections[0].points, [point(1)]);
    assert_eq!(run.sections[1].state, SectionState::Complete);
}

#[test]
fn a_failure_keeps_its_causes() {
    let failing = Fake::acting(|_| {
        let source = std::io::Error::other("no water");
        Err(RunError::Failed {
            context: "filling the lock".to_owned(),
            source: Some(Box::new(source)),
        })
    });
    let run = run_all(vec![failing], &AtomicBool::new(false), &mut Log::new());
    let reason = "filling the lock: no water".to_owned();
    assert_eq!(run.sections[0].state, SectionState::Failed { reason });
}

#[test]
fn an_interrupt_keeps_what_there_is_and_begins_nothing_more() {
    let endless = Fake::acting(|sink| {
        for number in 0.. {
            sink.emit(Event::Point(point(number)));
            if sink.is_interrupted() {
                return Err(RunError::Interrupted);
            }
        }
        unreachable!("the loop has no other end")
    });
    let flag = AtomicBool::new(false);
    let mut log = Log {
        interrupt: Some((3, &flag)),
        ..Log::new()
    };
    let run = run_all(vec![endless.clone(), endless], &flag, &mut log);
    assert!(run.interrupted);
    assert_eq!(run.sections[0].points.len(), 3);
    assert_eq!(
        run.sections[0].state,
        SectionState::Partial {
            reason: "interrupted".to_owned()
        }
    );
    assert!(
        matches!(&run.sections[1].state, SectionState::Partial { reason } if reason.contains("before"))
    );
    assert_eq!(log.begun, 1);
}

#[test]
fn a_section_the_host_cannot_run_is_in_the_result_with_its_remedy() {
    let run = run_all(
        vec![Fake::hungry(0, 1).unsupported()],
        &AtomicBool::new(false),
        &mut Log::new(),
    );
    assert!(
        matches!(&run.sections[0].state, SectionState::NotSupported { remedy, .. } if remedy == "plug one in"),
        "{:?}",
        run.sections[0].state
    );
}

#[test]
fn a_flood_is_bounded_and_said() {
    let flood = Fake::acting(|sink| {
        (0..=YIELD_MAX as u64).for_each(|number| sink.emit(Event::Point(point(number))));
        Ok(())
    });
    let run = run_all(vec![flood], &AtomicBool::new(false), &mut Log::new());
    assert_eq!(run.sections[0].points.len(), YIELD_MAX);
    assert!(
        matches!(&run.sections[0].state, SectionState::Partial { reason } if reason.contains("10000"))
    );
}

#[test]
fn a_number_that_is_not_finite_fails_its_section_and_never_gets_into_the_file() {
    let broken = Fake::acting(|sink| {
        sink.emit(Event::Point(point(1)));
        let cell = trial::Cell::Number(f64::NAN);
        let (title, note, command) = ("Speeds".to_owned(), String::new(), String::new());
        sink.emit(Event::Table(trial::Table {
            title,
            note,
            columns: vec![],
            rows: vec![vec![cell]],
            command,
        }));
        Ok(())
    });
    let run = run_all(vec![broken], &AtomicBool::new(false), &mut Log::new());
    let result = &run.sections[0];
    assert!(
        matches!(&result.state, SectionState::Failed { reason } if reason.contains("'Speeds'")),
        "{result:?}"
    );
    assert_eq!((result.points.len(), result.tables.len()), (1, 0));
}

#[test]
fn a_point_measured_again_replaces_what_it_was() {
    let rounds = Fake::acting(|sink| {
        for round in ["first", "second"] {
            for number in [1, 2] {
                let command = round.to_owned();
                sink.emit(Event::Point(trial::Point {
                    command,
                    ..point(number)
                }));
            }
        }
        Ok(())
    });
    let run = run_all(vec![rounds], &AtomicBool::new(false), &mut Log::new());
    let points = &run.sections[0].points;
    assert_eq!(points.len(), 2);
    assert!(points.iter().all(|point| point.command == "second"));
}
