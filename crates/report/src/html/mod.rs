//! A run as one HTML file: no script, no other file, no network, and a policy in it by
//! which a browser would refuse them.
//!
//! The page knows sections only as data: findings, charts, tables, ratios and
//! points. Its first screen answers; the proof is folded beneath: findings, figures
//! with the command behind each, every point, and last the environment.

mod charts;
mod comparisons;
mod environment;
mod first;
mod header;
mod markup;
mod points;
mod section;
mod tables;
mod validity;

use trial::Run;

use self::markup::Html;

/// The report of `run` as a complete HTML document.
///
/// Every string of the run is escaped. Figures that cannot be drawn (no point,
/// or none with a value that the axes can show) say so in words.
pub fn render(run: &Run) -> String {
    let sections = run.sections.iter().enumerate();
    let sections = sections.map(|(index, it)| section::render(index, it));
    let parts = std::iter::once(first::render(run)).chain(sections);
    let main = Html::tag("main", parts.chain([environment::render(run)]));
    let body = Html::tag("body", [header::render(run), main]);
    let page = Html::element("html", &[("lang", "en")], [head(run), body]);
    format!("<!DOCTYPE html>\n{}\n", page.into_string())
}

fn head(run: &Run) -> Html {
    // Browsers without light-dark() would drop strokes altogether.
    let strokes = format!(
        "@supports (color: light-dark(#000, #fff)) {{\n{}}}\n",
        charts::style()
    );
    let meta = |name, content| Html::element("meta", &[("name", name), ("content", content)], []);
    Html::tag(
        "head",
        [
            Html::element("meta", &[("charset", "utf-8")], []),
            meta("viewport", "width=device-width, initial-scale=1"),
            meta("color-scheme", "light dark"),
            meta("generator", &format!("lockgate {}", run.build.version)),
            Html::words("title", "", header::title(run)),
            Html::styles(&[include_str!("style.css"), &strokes]),
        ],
    )
}
