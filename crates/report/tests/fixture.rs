//! The fixture holds what its readers rely on.

use trial::{Run, Weight};

#[test]
fn the_sample_run_holds_every_case_and_survives_storing() {
    let run = crate::common::sample_run();
    let speed = &run.sections[0];
    for weight in [
        Weight::Headline,
        Weight::Advice,
        Weight::Warning,
        Weight::Note,
    ] {
        assert!(
            speed
                .findings
                .iter()
                .any(|finding| finding.weight == weight)
        );
    }
    assert!(speed.points.iter().any(|point| point.verdict.is_valid()));
    assert_eq!(
        speed
            .points
            .iter()
            .filter(|point| !point.verdict.is_valid())
            .count(),
        6
    );
    assert_eq!(speed.charts[0].series.len(), 3);
    let text = serde_json::to_string(&run).expect("a run is JSON");
    assert_eq!(
        serde_json::from_str::<Run>(&text).expect("and reads back"),
        run
    );
}
