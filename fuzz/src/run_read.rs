//! A stored run, as every command that reads one treats it.

use report::Style;
use report::compare::{self, Options};
use trial::Run;

/// Reads the bytes as a stored run; what is one can be stored again, shown in
/// every format, and compared with itself without a difference.
pub fn run_read(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match Run::read(text) {
        Ok(run) => {
            stores_and_reads_back(&run);
            shows(&run);
            equals_itself(&run);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn stores_and_reads_back(run: &Run) {
    let stored = report::json::render(run);
    let again = Run::read(&stored).unwrap_or_else(|error| panic!("own output refused: {error}"));
    assert_eq!(report::json::render(&again), stored);
}

fn shows(run: &Run) {
    for width in [0, 80, usize::MAX] {
        let style = Style {
            width,
            color: width == 80,
        };
        let saved = report::terminal::Saved::default();
        assert!(!report::terminal::render(run, style, saved).is_empty());
        assert!(!report::terminal::full(run, style, saved).is_empty());
        let _ = report::probe_text::render(&run.probe, style);
    }
    assert!(report::csv::render(run).starts_with("section,"));
    assert!(report::markdown::render(run).starts_with("# "));
    let page = report::html::render(run);
    assert!(page.ends_with("</html>\n"), "the page is cut off");
}

fn equals_itself(run: &Run) {
    let options = Options {
        fail_below: Some(0.95),
        seed: 1,
    };
    let compared = compare::compare(run, run, &[], options).expect("0.95 is a ratio");
    let document: serde_json::Value =
        serde_json::from_str(&compared.json()).expect("a comparison is JSON");
    assert!(document["rows"].is_array());
    assert!(!compare::text(&compared, Style::default()).is_empty());
    assert!(compare::markdown(&compared).starts_with("# "));
}
