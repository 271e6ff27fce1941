//! The section on routers of known speed.

use kit::routers::testing::{Fake, assert_has, comparisons, findings, headline, measured, tables};
use trial::Weight;

use super::*;

fn run(text: &str, fake: &Fake) -> Vec<Event> {
    measured(text, fake, on)
}

#[test]
fn table_3_has_the_source_s_rows_and_ours() {
    let host = Fake {
        missing: vec!["bridge"],
        ..Fake::default()
    };
    let events = run("paths = ['kernel', 'xdp-fib', 'bridge']", &host);
    let tables = tables(&events);
    assert_eq!(tables.len(), 1);
    assert_eq!(tables[0].rows.len(), 4, "two of the source, two of ours");
    let ratios = comparisons(&events);
    assert_eq!(ratios.len(), 2);
    for one in ratios {
        assert_eq!((one.ratio, one.pairs.len()), (1.0, 9));
        assert!(one.subject.starts_with("TCP, "), "{}", one.subject);
    }
    let warnings = findings(&events, Weight::Warning);
    assert!(warnings.ends_with("install bridge\n"), "{warnings}");
    let first = headline(&events);
    assert!(first.text.starts_with("TCP through kernel routing: 10000"));
    let ratio = "Beside it: XDP with bpf_fib_lookup 1.00×";
    assert_has(&first.text, ["210 to 749", ratio]);
}
