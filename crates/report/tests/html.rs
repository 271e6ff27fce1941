//! The HTML report: complete, escaped, well-formed, and unharmed by whatever a
//! run may hold.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lockgate_report::html::render;
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};
use trial::{Axis, Chart, Dot, Run, Scale, Series, SeriesKind, Weight};

/// Markup, quotes, an ampersand, line ends, a bell, a NUL, a lone surrogate's
/// replacement and letters of two bytes and more.
const POISON: &str =
    "<script>alert('x')</script> \"q\" & </title></style>-->\r\n\u{7}\0 \u{fffd} é 試 ]]>";

/// Walks the document as XML and says what is wrong with it. All but the first
/// line must be XML: every element closed, in order, and no stray `<` or `&`.
fn check_markup(html: &str) -> Result<(), String> {
    let mut rest = html.strip_prefix("<!DOCTYPE html>\n").ok_or("no doctype")?;
    let mut open: Vec<&str> = Vec::new();
    while let Some(start) = rest.find('<') {
        check_text(&rest[..start])?;
        let end = rest[start..].find('>').ok_or("a tag never ends")? + start;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let expected = open
                .pop()
                .ok_or_else(|| format!("</{name}> closes nothing"))?;
            if expected != name {
                return Err(format!("</{name}> closes <{expected}>"));
            }
            continue;
        }
        let (body, closed) = tag
            .strip_suffix('/')
            .map_or((tag, false), |body| (body, true));
        let (name, attributes) = body.split_once(' ').unwrap_or((body, ""));
        if !name.starts_with(|c: char| c.is_ascii_alphabetic())
            || !name.chars().all(|c| c.is_ascii_alphanumeric())
        {
            return Err(format!("<{tag}> is no tag"));
        }
        check_attributes(attributes).map_err(|what| format!("<{tag}>: {what}"))?;
        if !closed {
            open.push(name);
        }
    }
    check_text(rest)?;
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("{open:?} stay open"))
    }
}

fn check_attributes(text: &str) -> Result<(), String> {
    let mut rest = text.trim();
    let mut seen = Vec::new();
    while !rest.is_empty() {
        let (name, after) = rest
            .split_once("=\"")
            .ok_or("an attribute without a value")?;
        let (value, after) = after.split_once('"').ok_or("a value without an end")?;
        check_text(value)?;
        if seen.contains(&name) {
            return Err(format!("{name} twice"));
        }
        seen.push(name);
        rest = after.trim_start();
    }
    Ok(())
}

fn check_text(text: &str) -> Result<(), String> {
    if let Some(bad) = text
        .chars()
        .find(|c| c.is_control() && *c != '\n' && *c != '\t')
    {
        return Err(format!("{bad:?} may not stand in a document"));
    }
    let known = ["&lt;", "&gt;", "&amp;", "&quot;", "&apos;", "&#39;"];
    match text
        .match_indices('&')
        .find(|(at, _)| !known.iter().any(|it| text[*at..].starts_with(it)))
    {
        Some((at, _)) => Err(format!(
            "a bare & in {:?}",
            text[at..].chars().take(30).collect::<String>()
        )),
        None => Ok(()),
    }
}

fn sound(html: &str) {
    if let Err(what) = check_markup(html) {
        panic!("{what}");
    }
}

/// The words of a piece of the document, an element a line, without drawings.
fn words(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        out.push_str(&rest[..start]);
        let tag = &rest[start..];
        let end = if tag.starts_with("<svg") {
            tag.find("</svg>").expect("drawings end") + 6
        } else {
            tag.find('>').expect("tags end") + 1
        };
        let tag = &tag[..end];
        if ["</td>", "</th>"].contains(&tag) {
            out.push_str(" | ");
        }
        if ["</p>", "</li>", "</tr>", "</h2>", "</h3>", "</summary>"].contains(&tag) {
            out.push('\n');
        }
        rest = &rest[start + end..];
    }
    let lines = out.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

fn between<'a>(html: &'a str, from: &str, to: &str) -> &'a str {
    let start = html
        .find(from)
        .unwrap_or_else(|| panic!("{from} is missing"));
    let end = html[start..]
        .find(to)
        .unwrap_or_else(|| panic!("{to} is missing"));
    &html[start..start + end]
}

fn axis(scale: Scale, unit: &str) -> Axis {
    Axis::new("a", unit, scale)
}

fn chart(scale: Scale, series: Vec<Series>) -> Chart {
    Chart {
        title: "It is so".to_owned(),
        note: String::new(),
        x: axis(scale, "bytes"),
        y: axis(scale, "MB/s"),
        places: Vec::new(),
        series,
        command: "lockgate speed".to_owned(),
    }
}

/// A run with that chart and nothing else in its way.
fn run_with(chart: Chart) -> Run {
    let mut run = crate::common::sample_run();
    run.sections.truncate(1);
    let section = &mut run.sections[0];
    section.points.clear();
    section.tables.clear();
    section.comparisons.clear();
    section.charts = vec![chart];
    run
}

#[test]
fn the_checker_sees_what_is_wrong() {
    for bad in [
        "<p>",
        "</p>",
        "<p></b></p>",
        "<p class=x></p>",
        "<p class=\"a\" class=\"b\"></p>",
        "<p title=\"a&b\"></p>",
        "a < b",
        "a & b",
        "\0",
        "<1></1>",
    ] {
        assert!(
            check_markup(&format!("<!DOCTYPE html>\n{bad}")).is_err(),
            "{bad}"
        );
    }
    assert_eq!(
        check_markup("<!DOCTYPE html>\n<p class=\"a\">&lt;<br /></p>"),
        Ok(())
    );
}

#[test]
fn the_sample_is_well_formed_and_needs_nothing_else() {
    let html = render(&crate::common::sample_run());
    sound(&html);
    for foreign in [
        "<script",
        "<link",
        "<iframe",
        "<img",
        " src=",
        "@import",
        "url(",
        "href=\"http",
    ] {
        assert!(!html.contains(foreign), "{foreign}");
    }
}

#[test]
fn the_answers_come_first_and_the_environment_last() {
    let run = crate::common::sample_run();
    let html = render(&run);
    let at = |text: &str| {
        html.find(text)
            .unwrap_or_else(|| panic!("{text} is missing"))
    };
    let order = [
        "<h1>",
        "<strong class=\"trust",
        "What a crossing costs here",
        "What to change first",
        "What limits trust",
        "id=\"section-1\"",
        "class=\"headline\"",
        "id=\"environment\"",
    ];
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])));
    assert_eq!(
        html.rfind("<section").unwrap(),
        html.find("<section id=\"environment\"").unwrap()
    );
}

#[test]
fn what_is_seen_in_words() {
    let html = render(&crate::common::sample_run());
    for (name, from, to) in [
        (
            "the_first_screen_in_words",
            "<section class=\"first\"",
            "</section>",
        ),
        ("ratios_in_words", "<h3>Ratios", "</table>"),
        ("invalid_points", ">Validity: ", "</details>"),
    ] {
        insta::assert_snapshot!(name, words(between(&html, from, to)));
    }
    let ratios = between(&html, "<h3>Ratios", "</table>");
    insta::assert_snapshot!("a_ratio_drawn", between(ratios, "<tbody>", "</svg>"));
}

#[test]
fn a_target_inside_the_interval_is_neither_met_nor_missed() {
    let mut run = crate::common::sample_run();
    run.sections[0].comparisons.truncate(1);
    let comparison = &mut run.sections[0].comparisons[0];
    (comparison.low, comparison.high) = (0.85, 0.95);
    comparison.target = Some(trial::Target {
        at_least: 0.9,
        met: false,
    });
    let html = render(&run);
    assert!(html.contains("Targets: 1 undecided."));
    let table = words(between(&html, "<h3>Ratios", "</table>"));
    assert!(table.contains("undecided at least 0.900×"), "{table}");
}

#[test]
fn pointing_at_a_figure_shows_its_spread() {
    let mut run = crate::common::sample_run();
    run.sections[0].points[0].metrics[0].samples = vec![12.0, f64::NAN, 9.5, 11.0];
    assert!(render(&run).contains("title=\"4 repetitions, 9.50 to 12\""));
}

#[test]
fn every_command_and_every_remedy_is_on_the_page() {
    let mut run = crate::common::sample_run();
    let section = &mut run.sections[0];
    section.command = "again section".to_owned();
    section.charts[0].command = "again chart".to_owned();
    section.tables[0].command = "again table".to_owned();
    section.comparisons[0].command = "again ratio".to_owned();
    section.points[0].command = "again point".to_owned();
    run.command = "again run".to_owned();
    for finding in &mut section.findings {
        finding.remedy = format!("cure {:?}", finding.weight);
    }
    let html = render(&run);
    for command in ["section", "chart", "table", "ratio", "point", "run"] {
        assert!(
            html.contains(&format!(">again {command}</code>")),
            "{command}"
        );
    }
    for weight in [
        Weight::Headline,
        Weight::Advice,
        Weight::Warning,
        Weight::Note,
    ] {
        assert!(html.contains(&format!("cure {weight:?}")), "{weight:?}");
    }
}

#[test]
fn an_interrupted_run_says_so() {
    let mut run = crate::common::sample_run();
    assert!(!render(&run).contains("class=\"badge\""));
    run.interrupted = true;
    assert!(render(&run).contains("<span class=\"badge\">interrupted</span>"));
}

#[test]
fn names_of_sections_change_nothing_but_themselves() {
    let mut run = crate::common::sample_run();
    let before = render(&run);
    run.sections[0].name = "zz-renamed".to_owned();
    let section = |html: &str| html.replace("crypto-speed", "*").replace("zz-renamed", "*");
    // The scenario names it too, so both are masked.
    assert_eq!(section(&before), section(&render(&run)));
}

#[test]
fn each_chart_has_a_name_and_its_data_for_those_who_cannot_see_it() {
    let html = render(&crate::common::sample_run());
    let title = "Waiting for each request costs more than the crypto below 64 KiB";
    assert_eq!(
        html.matches(&format!("role=\"img\" aria-label=\"{title}\""))
            .count(),
        2
    );
    assert_eq!(html.matches(&format!("<title>{title}</title>")).count(), 2);
    assert_eq!(html.matches("Data of this chart").count(), 2);
    let data = words(between(
        &html,
        "aria-label=\"Data of the chart: Waiting",
        "</table>",
    ));
    assert!(
        data.contains("raw loop &amp; peer | 16 KiB | 13,349 | 12,700 to 13,900 | yes |"),
        "{data}"
    );
    assert!(
        data.contains("sync | 64 KiB | 1,403 | 1,330 to 1,460 | no |"),
        "{data}"
    );
}

#[test]
fn block_sizes_are_written_as_people_say_them() {
    let html = render(&crate::common::sample_run());
    let svg = between(&html, "<svg class=\"wide\"", "</svg>");
    for label in [
        "64",
        "1 KiB",
        "64 KiB",
        "block size, bytes",
        "speed, MB/s",
        "raw loop &amp; peer",
    ] {
        assert!(svg.contains(&format!(">\n{label}\n</text>")), "{label}");
    }
}

/// Puts `text` wherever a run has free text: every string of its stored form but those
/// that choose among words.
pub fn poison(run: &Run, text: &str) -> Run {
    const CHOICES: [&str; 7] = [
        "state",
        "weight",
        "validity",
        "direction",
        "outcome",
        "kind",
        "scale",
    ];
    fn put(value: &mut Value, text: &str) {
        match value {
            Value::String(own) => text.clone_into(own),
            Value::Array(all) => all.iter_mut().for_each(|one| put(one, text)),
            Value::Object(fields) => fields.iter_mut().for_each(|(name, own)| {
                if !CHOICES.contains(&name.as_str()) || !own.is_string() {
                    put(own, text);
                }
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut stored = serde_json::to_value(run).expect("a run is JSON");
    put(&mut stored, text);
    let mut run: Run = serde_json::from_value(stored).expect("only texts changed");
    run.build.libraries = BTreeMap::from([(text.to_owned(), text.to_owned())]);
    run.scenario = serde_json::json!({ text: [text] });
    for point in run.sections.iter_mut().flat_map(|it| &mut it.points) {
        point.dimensions = BTreeMap::from([(text.to_owned(), text.into())]);
    }
    run
}

/// What a browser hashes: the text between the tags of each style sheet.
fn style_hashes(html: &str) -> Vec<String> {
    let sheets = html.match_indices("<style>").map(|(at, tag)| {
        let text = &html[at + tag.len()..];
        &text[..text.find("</style>").expect("style sheets end")]
    });
    let hash = |css| format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(css)));
    sheets.map(hash).collect()
}

#[test]
fn a_policy_allows_the_styles_of_the_page_and_nothing_else() {
    let html = render(&crate::common::sample_run());
    let head = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
    let policy = between(&html, head, "\" />")[head.len()..].replace("&#39;", "'");
    let directives: Vec<Vec<&str>> = policy
        .split("; ")
        .map(|it| it.split(' ').collect())
        .collect();
    let hashes = style_hashes(&html);
    let quoted: Vec<String> = hashes.iter().map(|it| format!("'{it}'")).collect();
    let styles = ["style-src"]
        .into_iter()
        .chain(quoted.iter().map(String::as_str));
    assert_eq!(hashes.len(), 2);
    assert_eq!(
        directives,
        [
            vec!["default-src", "'none'"],
            styles.collect(),
            vec!["base-uri", "'none'"],
            vec!["form-action", "'none'"],
        ]
    );
    // A policy holds for what comes after it.
    assert!(html.find(head) < html.find("<style>"));
    // It refuses style attributes and what an attribute would run: there are none.
    let tags = html
        .split('<')
        .skip(1)
        .filter_map(|it| it.split('>').next());
    for tag in tags {
        let names = tag
            .split('"')
            .step_by(2)
            .filter_map(|it| it.strip_suffix('='));
        let mut names = names.map(|it| it.trim().rsplit(' ').next().unwrap_or_default());
        let refused = names.find(|name| *name == "style" || name.starts_with("on"));
        assert_eq!(refused, None, "<{tag}>");
    }
}

#[test]
fn no_text_becomes_markup() {
    let html = render(&poison(&crate::common::sample_run(), POISON));
    sound(&html);
    assert!(!html.contains("<script"));
    assert!(html.matches("&lt;script&gt;").count() > 50);
}

#[test]
fn very_long_names_leave_the_drawing_for_the_legend() {
    let long = "an_endless_name_".repeat(40);
    let html = render(&run_with(chart(
        Scale::Log2,
        vec![Series::measured(
            &long,
            vec![Dot::at(64.0, 1.0), Dot::at(128.0, 2.0)],
        )],
    )));
    sound(&html);
    assert!(!between(&html, "<svg class=\"wide\"", "</svg>").contains("an_endless_name_"));
    assert!(html.contains("<ul class=\"legend\">"));
}

#[test]
fn forty_series_are_all_told_apart_in_the_legend() {
    let forty = (0..40).map(|i| {
        Series::measured(
            format!("arm {i}"),
            vec![Dot::at(64.0, f64::from(i)), Dot::at(128.0, 9.0)],
        )
    });
    let html = render(&run_with(chart(Scale::Linear, forty.collect())));
    sound(&html);
    let legend = between(&html, "<ul class=\"legend\">", "</ul>");
    let mut swatches: Vec<&str> = legend
        .split("<svg")
        .skip(1)
        .map(|rest| rest.split("</svg>").next().unwrap())
        .collect();
    assert_eq!(swatches.len(), 40);
    swatches.sort_unstable();
    swatches.dedup();
    assert_eq!(swatches.len(), 40);
}

#[test]
fn ten_thousand_points_make_a_light_drawing_and_a_whole_table() {
    let dots = (1..=10_000).map(|i| Dot {
        valid: i % 7 != 0,
        ..Dot::at(f64::from(i), f64::from(i % 101 + 1))
    });
    let html = render(&run_with(chart(
        Scale::Log10,
        vec![Series::measured("a", dots.collect())],
    )));
    sound(&html);
    assert!(between(&html, "<svg class=\"wide\"", "</svg>").len() < 300_000);
    assert_eq!(
        between(&html, "Data of this chart", "</table>")
            .matches("<tr>")
            .count(),
        10_001
    );
}

#[test]
fn charts_without_anything_to_show_say_so() {
    let nan = Dot::at(f64::NAN, f64::NAN);
    for (scale, dots) in [
        (Scale::Linear, vec![]),
        (Scale::Linear, vec![nan, Dot::at(f64::INFINITY, 1.0)]),
        (Scale::Log2, vec![Dot::at(0.0, 1.0), Dot::at(-4.0, 1.0)]),
        (Scale::Log10, vec![Dot::at(1.0, 0.0)]),
    ] {
        let html = render(&run_with(chart(scale, vec![Series::measured("a", dots)])));
        sound(&html);
        assert!(html.contains("Nothing to draw"), "{scale:?}");
        assert!(!html.contains("<svg class=\"wide\""), "{scale:?}");
    }
    let html = render(&run_with(chart(Scale::Linear, vec![])));
    assert!(html.contains("Nothing to draw"));
}

#[test]
fn ratios_near_one_are_not_flattened_but_rates_start_at_zero() {
    let labels = |unit: &str, values: [f64; 2]| {
        let dots = vec![Dot::at(64.0, values[0]), Dot::at(128.0, values[1])];
        let mut chart = chart(Scale::Log2, vec![Series::measured("a", dots)]);
        chart.y = axis(Scale::Linear, unit);
        let html = render(&run_with(chart));
        let says = html.contains("does not start at zero");
        let svg = between(&html, "<svg class=\"wide\"", "</svg>").to_owned();
        assert_eq!(says, !svg.contains(">\n0\n</text>"));
        move |label: &str| svg.contains(&format!(">\n{label}\n</text>"))
    };
    let near = labels("", [0.9, 0.97]);
    assert!(near("0.9") && near("1") && !near("0"));
    let far = labels("", [0.3, 0.97]);
    assert!(far("0") && far("1"));
    let rates = labels("MB/s", [0.9, 0.97]);
    assert!(rates("0"));
}

#[test]
fn what_a_logarithmic_axis_cannot_show_is_counted() {
    let dots = vec![
        Dot::at(64.0, 5.0),
        Dot::at(128.0, 0.0),
        Dot::at(256.0, f64::NAN),
        Dot::at(512.0, 7.0),
    ];
    let html = render(&run_with(chart(
        Scale::Log2,
        vec![Series::measured("a", dots)],
    )));
    sound(&html);
    assert!(html.contains("2 points without a place on these axes"));
}

#[test]
fn hollow_marks_and_dashes_are_explained_where_they_occur() {
    let invalid = Dot {
        valid: false,
        ..Dot::at(64.0, 5.0)
    };
    let mut yardstick = Series::measured("peer", vec![invalid, Dot::at(128.0, 6.0)]);
    let plain = render(&run_with(chart(
        Scale::Log2,
        vec![Series::measured("a", vec![Dot::at(64.0, 5.0)])],
    )));
    assert!(!plain.contains("Hollow marks are") && !plain.contains("yardsticks"));
    yardstick.kind = SeriesKind::Reference;
    let html = render(&run_with(chart(Scale::Log2, vec![yardstick])));
    assert!(html.contains("Hollow marks are points whose verdict is not valid"));
    assert!(html.contains("Dashed lines are yardsticks."));
}

#[test]
fn an_empty_run_is_still_a_page() {
    let mut run = crate::common::sample_run();
    run.sections.clear();
    run.probe.groups.clear();
    run.scenario = serde_json::Value::Null;
    let html = render(&run);
    sound(&html);
    assert!(html.contains("No point was measured."));
}

fn cases() -> u32 {
    testing::cases(64, 2000)
}

fn any_dot() -> impl Strategy<Value = Dot> {
    let value = || {
        prop_oneof![
            any::<f64>(),
            -10.0..1e6,
            Just(0.0),
            Just(f64::MAX),
            Just(f64::MIN_POSITIVE)
        ]
    };
    (
        value(),
        value(),
        proptest::option::of(value()),
        proptest::option::of(value()),
        any::<bool>(),
    )
        .prop_map(|(x, y, low, high, valid)| Dot {
            x,
            y,
            low,
            high,
            valid,
        })
}

fn any_chart() -> impl Strategy<Value = Chart> {
    let scale = || prop_oneof![Just(Scale::Linear), Just(Scale::Log2), Just(Scale::Log10)];
    let unit = || prop_oneof![Just(""), Just("bytes"), Just("MB/s")];
    let kind = prop_oneof![Just(SeriesKind::Measured), Just(SeriesKind::Reference)];
    let one = (".{0,40}", kind, proptest::collection::vec(any_dot(), 0..30))
        .prop_map(|(name, kind, dots)| Series { name, kind, dots });
    (
        scale(),
        scale(),
        unit(),
        unit(),
        proptest::collection::vec(one, 0..12),
    )
        .prop_map(|(x, y, x_unit, y_unit, series)| Chart {
            x: axis(x, x_unit),
            y: axis(y, y_unit),
            ..chart(x, series)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chart_is_drawn_or_explained(chart in any_chart()) {
        let html = render(&run_with(chart));
        prop_assert_eq!(check_markup(&html), Ok(()));
        // Scenes with values beyond all bounds stay within the canvas's format.
        for bad in ["NaN", "\"inf", "-2147483648", "2147483647"] {
            prop_assert!(!html.contains(bad), "{}", bad);
        }
    }

    #[test]
    fn any_text_stays_text(text in any::<String>()) {
        let run = poison(&crate::common::sample_run(), &text);
        prop_assert_eq!(check_markup(&render(&run)), Ok(()));
    }
}
