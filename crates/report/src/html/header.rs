//! The title line: which host, which CPU, when, and whether it was finished.

use trial::Run;

use super::markup::Html;
use crate::number::number;
use crate::words;

/// The document's title.
pub(super) fn title(run: &Run) -> String {
    format!("Lockgate: {}, {}", run.host, moment(&run.started_utc))
}

/// The head of the page.
pub(super) fn render(run: &Run) -> Html {
    let name = Html::tag("h1", [Html::text(&run.host), badge(run)]);
    let cpu = run
        .probe
        .text("cpu.model")
        .map_or_else(Html::empty, |cpu| item(Html::text(cpu)));
    let when = Html::element(
        "time",
        &[("datetime", &run.started_utc)],
        [Html::text(moment(&run.started_utc))],
    );
    let tier = words::tier(run).map_or_else(Html::empty, |tier| {
        item(Html::text(format!("measured as tier {tier}")))
    });
    let facts = [
        cpu,
        tier,
        item(when),
        item(Html::text(format!("{} in all", duration(run.seconds)))),
        item(Html::text(format!("Lockgate {}", run.build.version))),
    ];
    Html::tag(
        "header",
        [
            Html::classed("div", "brand", [name, theme()]),
            Html::classed("ul", "facts", facts),
        ],
    )
}

fn item(child: Html) -> Html {
    Html::tag("li", [child])
}

fn badge(run: &Run) -> Html {
    if !run.interrupted {
        return Html::empty();
    }
    Html::many([
        Html::text(" "),
        Html::classed("span", "badge", [Html::text("interrupted")]),
    ])
}

/// Light or dark without a script: the style sheet asks which one is chosen.
fn theme() -> Html {
    let choice = |id: &str, name: &str, chosen: bool| {
        let mut attributes = vec![("type", "radio"), ("name", "theme"), ("id", id)];
        if chosen {
            attributes.push(("checked", "checked"));
        }
        Html::tag(
            "label",
            [Html::element("input", &attributes, []), Html::text(name)],
        )
    };
    Html::element(
        "div",
        &[
            ("class", "theme"),
            ("role", "radiogroup"),
            ("aria-label", "colours"),
        ],
        [
            choice("theme-auto", "auto", true),
            choice("theme-light", "light", false),
            choice("theme-dark", "dark", false),
        ],
    )
}

/// `2026-11-21T21:15:22Z` as `2026-11-21 21:15 UTC`; other forms as they are.
fn moment(rfc3339: &str) -> String {
    let parts = rfc3339
        .split_once('T')
        .filter(|(_, time)| time.ends_with('Z'));
    match parts.and_then(|(day, time)| Some((day, time.get(..5)?))) {
        Some((day, minute)) => format!("{day} {minute} UTC"),
        None => rfc3339.to_owned(),
    }
}

/// Seconds as people say them.
pub(super) fn duration(seconds: f64) -> String {
    if !(100.0..1e9).contains(&seconds) {
        return format!("{} s", number(seconds));
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match hours {
        0 => format!("{minutes} min {rest} s"),
        _ => format!("{} h {minutes} min", number(hours as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, moment};

    #[test]
    fn moments_are_short_and_never_lost() {
        assert_eq!(moment("2026-11-21T21:15:22Z"), "2026-11-21 21:15 UTC");
        assert_eq!(
            moment("2026-11-21T21:15:22+01:00"),
            "2026-11-21T21:15:22+01:00"
        );
        assert_eq!(moment("TéZ"), "TéZ");
    }

    #[test]
    fn durations_read_aloud() {
        assert_eq!(duration(9.96), "9.96 s");
        assert_eq!(duration(192.4), "3 min 12 s");
        assert_eq!(duration(7384.0), "2 h 3 min");
        assert_eq!(duration(f64::NAN), "– s");
    }
}
