//! Every subject as a point.

use trial::{Event, Point, Sink};

use crate::evidence::Usual;
use crate::experiment::{Experiment, Results};
use crate::metric::metric;
use crate::series::Series;
use crate::subject::Subject;

/// Emits points of all that was tried; with their latencies, which take long to
/// write, where the rounds are over.
pub fn emit<E: Experiment>(results: &Results<'_, E>, are_final: bool, sink: &mut dyn Sink) {
    let usual = results.usual();
    let pairs = results.subjects.iter().zip(&results.series);
    for (subject, series) in pairs.filter(|(_, series)| series.is_tried()) {
        let point = point(results, subject, series, &usual, are_final);
        sink.emit(Event::Point(point));
    }
}

fn point<E: Experiment>(
    results: &Results<'_, E>,
    subject: &Subject<E::Place, E::Arm>,
    series: &Series,
    usual: &Usual,
    is_final: bool,
) -> Point {
    let measures = results.experiment.measures().into_iter();
    let mut metrics: Vec<_> = measures
        .filter_map(|measure| {
            let values = series.values(measure);
            metric(measure.name, measure.unit, measure.direction, values)
        })
        .collect();
    let mut histogram = String::new();
    if is_final && !series.latency().is_empty() {
        let latency = series.latency().histogram();
        metrics.extend(latency.metrics());
        histogram = latency.encode();
    }
    let mut dimensions = subject.spot.dimensions();
    dimensions.extend(results.about.dimensions());
    if let Some(last) = series.rounds.values().next_back() {
        dimensions.extend(last.also.dimensions());
    }
    Point {
        dimensions,
        metrics,
        verdict: results.verdict_of(series, usual),
        command: results.command.to_owned(),
        histogram,
    }
}
