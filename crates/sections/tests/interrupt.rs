//! The rigs of the sections of the kit, on this host: an interrupt ends a trial
//! of a minute within seconds, and leaves what was measured.

use std::cell::Cell;
use std::time::{Duration, Instant};

use lockgate_sections::SECTIONS;
use trial::{Event, PlanError, Probe, RunError, Sink, Validity};

/// After the first trial began, the user presses Ctrl-C.
const AFTER: Duration = Duration::from_millis(300);
/// How long it may take then, on a host that other tests keep busy: alone no section
/// takes a second, and a trial takes a minute.
const WITHIN: Duration = Duration::from_secs(5);

/// They boot several guests before the first round, which takes most of a minute without
/// KVM, by the same rig as vcm-guest and kspeed: tried with `LOCKGATE_THOROUGH=1`.
const OTHER_GUESTS: [&str; 2] = ["cpu-guest", "disk-guest"];

/// Interrupts some time after the first round has begun.
struct Impatient {
    began: Cell<Option<Instant>>,
    events: Vec<Event>,
}

impl Sink for Impatient {
    fn emit(&mut self, event: Event) {
        if matches!(&event, Event::Progress(_, now) if now.starts_with("round 1")) {
            let began = self.began.get().unwrap_or_else(Instant::now);
            self.began.set(Some(began));
        }
        self.events.push(event);
    }

    fn is_interrupted(&self) -> bool {
        self.began
            .get()
            .is_some_and(|began| began.elapsed() >= AFTER)
    }
}

/// What this host lacks for every place of a section: without a tool its trials end at
/// once, and none of them is long.
fn lack(events: &[Event]) -> Option<String> {
    let points = events.iter().filter_map(|event| match event {
        Event::Point(point) => Some(&point.verdict),
        _ => None,
    });
    let lacks = points.map(|verdict| {
        let is_lack = verdict.validity == Validity::NotSupported;
        is_lack.then(|| format!("{}; {}", verdict.reason, verdict.remedy))
    });
    lacks.collect::<Option<Vec<_>>>()?.pop()
}

#[test]
fn an_interrupt_ends_a_long_trial_within_seconds() {
    testing::booting(|| {
        let is_tried = |name| testing::is_thorough() || !OTHER_GUESTS.contains(&name);
        let kinds = SECTIONS.iter().filter(|kind| kind.kit.is_some());
        for kind in kinds.filter(|kind| is_tried(kind.name)) {
            let parsed = |table: &str| (kind.parse)(table.parse().expect("toml"));
            // A guest's trial that is so long would be refused: nothing ends it.
            let section = parsed("seconds = 60.0\npairs = 1").or_else(|_| parsed("pairs = 1"));
            let section = section.expect("every section has these");
            // The least there is: what comes before the rounds is short then.
            let budget = section.appetite().0 + Duration::from_secs(1);
            let plan = match section.plan(&Probe::default(), budget) {
                Ok(plan) => plan,
                Err(PlanError::NotSupported { reason, remedy }) => {
                    testing::left_out(format!("{}: {reason}; {remedy}", kind.name));
                    continue;
                }
                Err(error) => panic!("{}: {error}", kind.name),
            };
            let mut sink = Impatient {
                began: Cell::new(None),
                events: Vec::new(),
            };
            let begun = Instant::now();
            let result = section.run(&Probe::default(), &plan, &mut sink);
            println!("{}: {:?}", kind.name, begun.elapsed());
            if let (Ok(()), Some(lack)) = (&result, lack(&sink.events)) {
                testing::left_out(format!("{}: {lack}", kind.name));
                continue;
            }
            assert!(
                matches!(result, Err(RunError::Interrupted)),
                "{}: {result:?}",
                kind.name
            );
            let began = sink.began.get().expect("a round began");
            let took = began.elapsed().saturating_sub(AFTER);
            assert!(took <= WITHIN, "{}: {took:?}", kind.name);
            let told = sink.events.iter().any(
                |event| matches!(event, Event::Finding(one) if one.text.starts_with("Interrupted")),
            );
            assert!(told, "{}", kind.name);
        }
    });
}
