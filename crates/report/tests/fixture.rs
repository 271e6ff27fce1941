//! The fixture holds what its readers rely on.

use trial::Weight;

#[test]
fn the_sample_run_holds_every_case() {
    let run = crate::common::sample_run();
    let speed = &run.sections[0];
    for weight in [
        Weight::Headline,
        Weight::Advice,
        Weight::Warning,
        Weight::Note,
    ] {
        let mut findings = speed.findings.iter();
        assert!(
            findings.any(|finding| finding.weight == weight),
            "{weight:?}"
        );
    }
    let valid = speed.points.iter().filter(|point| point.verdict.is_valid());
    assert_eq!((valid.count(), speed.points.len()), (9, 15));
    assert_eq!(speed.charts[0].series.len(), 3);
}
