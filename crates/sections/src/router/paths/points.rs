//! Subjects as points.

use trial::Point;

use kit::routers::metrics::{dimensions, of_series};
use kit::routers::subject::Subject;

/// Everything that was tried.
pub(super) fn points(subjects: &[Subject], command: &str) -> Vec<Point> {
    let tried = |subject: &&Subject| subject.series.is_tried();
    let point = |subject: &Subject| Point {
        dimensions: dimensions(&subject.setups[0], subject.offer(), "saturation"),
        metrics: of_series(&subject.series),
        verdict: subject.series.verdict(),
        command: command.to_owned(),
        histogram: String::new(),
    };
    subjects.iter().filter(tried).map(point).collect()
}
