//! The title line: which host, which CPU, when, and whether it was finished.

use trial::Run;

use super::markup::Html;
use crate::words::{self, moment};

pub(super) fn title(run: &Run) -> String {
    format!("Lockgate: {}, {}", run.host, moment(&run.started_utc))
}

pub(super) fn render(run: &Run) -> Html {
    let name = Html::tag("h1", [Html::text(&run.host), badge(run)]);
    let facts = words::host(run).into_iter().skip(1);
    let build = format!("Lockgate {}", run.build.version);
    let facts = facts.chain([build]).map(|fact| Html::words("li", "", fact));
    Html::tag(
        "header",
        [
            Html::classed("div", "brand", [name, theme()]),
            Html::classed("ul", "facts", facts),
        ],
    )
}

fn badge(run: &Run) -> Html {
    if !run.interrupted {
        return Html::empty();
    }
    Html::many([Html::text(" "), Html::words("span", "badge", "interrupted")])
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
