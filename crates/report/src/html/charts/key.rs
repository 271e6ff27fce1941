//! What the signs in a drawing mean.

use trial::{Chart, Scale, Series, SeriesKind};

use super::plot::{self, WIDE};
use super::trace::is_drawable;
use crate::words::plural;

/// Words for the signs that this drawing uses, and only for those.
pub(super) fn words(chart: &Chart) -> String {
    let is_reference = |series: &Series| series.kind == SeriesKind::Reference;
    let has_lines = chart.places.is_empty();
    let hidden = hidden(chart);
    let hidden_words = format!(
        "{} without a place on these axes (zero or less on a logarithmic axis, or not a number): \
         see the data.",
        plural(hidden, "point")
    );
    let has_references = has_lines && chart.series.iter().any(is_reference);
    let hollow = if has_lines { HOLLOW } else { HOLLOW_ALONE };
    let signs = [
        (chart.dots().any(|dot| !dot.valid), hollow),
        (has_references, "Dashed lines are yardsticks."),
        (
            chart.dots().any(|dot| dot.low.is_some()),
            "Whiskers are intervals.",
        ),
        (
            starts_above_zero(chart),
            "The vertical axis does not start at zero.",
        ),
        (hidden > 0, &hidden_words),
    ];
    let used = signs.iter().filter(|(is_used, _)| *is_used);
    let words: Vec<_> = used.map(|(_, words)| *words).collect();
    words.join(" ")
}

const HOLLOW: &str = "Hollow marks are points whose verdict is not valid; lines pass them by.";

const HOLLOW_ALONE: &str = "Hollow marks are points whose verdict is not valid.";

fn hidden(chart: &Chart) -> usize {
    let Some((x, y)) = plot::rulers(chart, WIDE) else {
        return 0;
    };
    let hidden = chart.dots().filter(|dot| !is_drawable(dot, &x, &y));
    hidden.count()
}

fn starts_above_zero(chart: &Chart) -> bool {
    let linear = chart.y.scale == Scale::Linear && chart.places.is_empty();
    linear && plot::rulers(chart, WIDE).is_some_and(|(_, y)| y.low > 0.0)
}
