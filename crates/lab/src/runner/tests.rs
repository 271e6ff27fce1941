use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trial::{
    Event, Finding, Plan, Probe, Run, RunError, Section, SectionResult, SectionState, Sink, Weight,
};

use crate::runner::{Watcher, YIELD_MAX, run};
use crate::schedule::schedule;
use crate::testing::{Act, Fake, blank_run, point, table};

/// Keeps what it was given; sets a flag after this many points.
#[derive(Default)]
struct Log<'a> {
    begun: usize,
    progress: Vec<f64>,
    changes: usize,
    milestones: Vec<Run>,
    interrupt: Option<(usize, &'a AtomicBool)>,
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
    let sections = sections.into_iter().map(Fake::wanted).collect();
    let scheduled = schedule(sections, &Probe::default(), Duration::from_secs(60));
    run(scheduled, blank_run(), interrupted, log)
}

/// What one section gave that nothing interrupts.
fn result_of(section: Fake) -> SectionResult {
    let mut run = run_all(vec![section], &AtomicBool::new(false), &mut Log::default());
    run.sections.remove(0)
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
    let mut log = Log::default();
    let run = run_all(vec![section], &AtomicBool::new(false), &mut log);
    let result = &run.sections[0];
    assert_eq!(result.state, SectionState::Complete);
    assert_eq!(result.points, [point(1)]);
    assert_eq!(result.findings[0].weight, Weight::Headline);
    assert_eq!(log.progress, [1.0]);
    assert_eq!((log.begun, log.changes, log.milestones.len()), (1, 4, 1));
    assert!(!run.interrupted);
}

/// Whatever ends it: its state says so, and what came before stands.
#[test]
fn how_a_section_ends_is_its_state_and_the_next_one_runs() {
    let failed = |reason: &str| SectionState::Failed {
        reason: reason.to_owned(),
    };
    let one = |sink: &mut dyn Sink| sink.emit(Event::Point(point(1)));
    let acts: [(Act, _); 4] = [
        (|_| Ok(()), SectionState::Complete),
        (
            |_| panic!("the gate fell off"),
            failed("a defect of Lockgate: the gate fell off"),
        ),
        (
            |_| {
                let source = std::io::Error::other("no water");
                Err(RunError::Failed {
                    context: "filling the lock".to_owned(),
                    source: Some(Box::new(source)),
                })
            },
            failed("filling the lock: no water"),
        ),
        (
            |sink| {
                sink.emit(Event::Table(table(trial::Cell::Number(f64::NAN))));
                Ok(())
            },
            failed("a defect of Lockgate: table 'Speeds' holds a number that is not finite"),
        ),
    ];
    let (acts, states): (Vec<_>, Vec<_>) = acts.into_iter().unzip();
    let sections = acts.into_iter().map(|act| {
        Fake::acting(move |sink| {
            one(sink);
            act(sink)
        })
    });
    let interrupted = AtomicBool::new(false);
    let run = run_all(sections.collect(), &interrupted, &mut Log::default());
    for (result, state) in run.sections.iter().zip(states) {
        assert_eq!(result.state, state);
        assert_eq!(result.points, [point(1)], "{state:?}");
        assert!(result.tables.is_empty());
    }
    let absent = result_of(Fake::hungry(0, 1).unsupported()).state;
    assert!(
        matches!(&absent, SectionState::NotSupported { remedy, .. } if remedy == "plug one in"),
        "{absent:?}"
    );
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
        ..Log::default()
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
fn a_flood_is_bounded_and_said() {
    let flood = result_of(Fake::acting(|sink| {
        (0..=YIELD_MAX as u64).for_each(|number| sink.emit(Event::Point(point(number))));
        Ok(())
    }));
    assert_eq!(flood.points.len(), YIELD_MAX);
    assert!(
        matches!(&flood.state, SectionState::Partial { reason } if reason.contains("10000")),
        "{:?}",
        flood.state
    );
}

#[test]
fn a_point_measured_again_replaces_what_it_was() {
    let rounds = result_of(Fake::acting(|sink| {
        for (round, number) in [("first", 1), ("first", 2), ("second", 1), ("second", 2)] {
            let command = round.to_owned();
            sink.emit(Event::Point(trial::Point {
                command,
                ..point(number)
            }));
        }
        Ok(())
    }));
    assert_eq!(rounds.points.len(), 2);
    assert!(rounds.points.iter().all(|point| point.command == "second"));
}
