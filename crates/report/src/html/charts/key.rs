//! What the signs in a drawing mean.

use trial::{Chart, Scale, Series, SeriesKind};

use super::plot::{self, WIDE};
use super::trace::is_drawable;
use crate::words::plural;

/// Words for the signs that this drawing uses, and only for those.
pub(super) fn words(chart: &Chart) -> String {
    let dots = || chart.series.iter().flat_map(|series| &series.dots);
    let is_reference = |series: &Series| series.kind == SeriesKind::Reference;
    let has_lines = chart.places.is_empty();
    let hidden = hidden(chart);
    let hidden_words = format!(
        "{} without a place on these axes (zero or less on a logarithmic axis, or not a number): \
         see the data.",
        plural(hidden, "point")
    );
    let signs = [
        (
            dots().any(|dot| !dot.valid),
            if has_lines { HOLLOW } else { HOLLOW_ALONE },
        ),
        (
            has_lines && chart.series.iter().any(is_reference),
            "Dashed lines are yardsticks.",
        ),
        (
            dots().any(|dot| dot.low.is_some()),
            "Whiskers are intervals.",
        ),
        (
            starts_above_zero(chart),
            "The vertical axis does not start at zero.",
        ),
        (hidden > 0, &hidden_words),
    ];
    let used = signs
        .iter()
        .filter(|(used, _)| *used)
        .map(|(_, words)| *words);
    used.collect::<Vec<_>>().join(" ")
}

const HOLLOW: &str = "Hollow marks are points whose verdict is not valid; lines pass them by.";

const HOLLOW_ALONE: &str = "Hollow marks are points whose verdict is not valid.";

fn hidden(chart: &Chart) -> usize {
    let dots = || chart.series.iter().flat_map(|series| &series.dots);
    let Some((x, y)) = plot::rulers(chart, WIDE) else {
        return 0;
    };
    dots().filter(|dot| !is_drawable(dot, &x, &y)).count()
}

fn starts_above_zero(chart: &Chart) -> bool {
    let linear = chart.y.scale == Scale::Linear && chart.places.is_empty();
    linear && plot::rulers(chart, WIDE).is_some_and(|(_, y)| y.low > 0.0)
}
