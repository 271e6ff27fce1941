//! The section on routers of known speed.

use kit::routers::testing::{Fake, headline, measured};
use trial::{Event, Weight};

use super::*;

fn run(text: &str, fake: &Fake) -> Vec<Event> {
    measured(text, fake, |_: &Tcp, host, routers| {
        OnRouters::new(host, routers)
    })
}

#[test]
fn table_3_has_the_source_s_rows_and_ours() {
    let host = Fake {
        missing: vec!["bridge"],
        ..Fake::default()
    };
    let events = run("paths = ['kernel', 'xdp-fib', 'bridge']", &host);
    let mut counts = (0, 0);
    for event in &events {
        match event {
            Event::Table(table) => {
                assert_eq!(table.rows.len(), 4, "two of the source, two of ours");
                counts.0 += 1;
            }
            Event::Comparison(one) => {
                assert_eq!((one.ratio, one.pairs.len()), (1.0, 9));
                assert!(one.subject.starts_with("TCP, "), "{}", one.subject);
                counts.1 += 1;
            }
            Event::Finding(finding) if finding.weight == Weight::Warning => {
                assert_eq!(finding.remedy, "install bridge");
            }
            _ => {}
        }
    }
    assert_eq!(counts, (1, 2));
    let first = headline(&events);
    assert!(first.text.starts_with("TCP through kernel routing: 10000"));
    assert!(first.text.contains("210 to 749"), "{}", first.text);
    let ratio = "Beside it: XDP with bpf_fib_lookup 1.00×";
    assert!(first.text.contains(ratio), "{}", first.text);
}
