//! Markup that is escaped and balanced by construction.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use sha2::{Digest, Sha256};
use sys::plain::is_shown;

/// A piece of a page. Text enters only through [`Html::text`] and attribute
/// values, which escape it, and tags only through [`Html::element`], which
/// closes them: so no measured string can ever become a tag.
#[derive(Clone, Debug, Default)]
pub(super) struct Html(String);

impl Html {
    pub(super) fn empty() -> Self {
        Self::default()
    }

    pub(super) fn text(text: impl AsRef<str>) -> Self {
        Self(escape(text.as_ref()))
    }

    /// Stylesheets, which HTML does not unescape, and before them a policy that allows
    /// these and nothing else: no script, no other style, no other file, no form. Only
    /// Lockgate's own text may come here, and it has neither `<` nor `&`.
    pub(super) fn styles(sheets: &[&str]) -> Self {
        let hash = |css: &&str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(css)));
        let hashes: Vec<String> = sheets.iter().map(hash).collect();
        let policy = format!(
            "default-src 'none'; style-src {}; base-uri 'none'; form-action 'none'",
            hashes.join(" ")
        );
        let attributes = [
            ("http-equiv", "Content-Security-Policy"),
            ("content", &policy),
        ];
        let mut out = Self::element("meta", &attributes, []);
        for css in sheets {
            debug_assert!(
                !css.contains(['<', '&', '\r']),
                "a stylesheet must need no escaping"
            );
            out.0.push_str(&format!("<style>{css}</style>\n"));
        }
        out
    }

    /// A drawing of `plotters`, which escapes what it writes, with further attributes
    /// and children put in front of its own.
    pub(super) fn drawing(
        svg: &str,
        attributes: &[(&str, &str)],
        children: impl IntoIterator<Item = Html>,
    ) -> Self {
        let drawn = svg
            .strip_prefix("<svg")
            .and_then(|rest| rest.split_once('>'));
        let (size, shapes) = drawn.expect("plotters opens its drawing with <svg …>");
        let mut out = String::from("<svg");
        push_attributes(&mut out, attributes);
        out.push_str(size);
        out.push('>');
        out.extend(children.into_iter().map(|child| child.0));
        out.push_str(&sys::plain::lines(shapes));
        Self(out)
    }

    pub(super) fn element(
        name: &str,
        attributes: &[(&str, &str)],
        children: impl IntoIterator<Item = Html>,
    ) -> Self {
        let mut out = format!("<{name}");
        push_attributes(&mut out, attributes);
        if VOID.contains(&name) {
            out.push_str(" />");
            return Self(out);
        }
        out.push('>');
        for child in children {
            out.push_str(&child.0);
        }
        out.push_str(&format!("</{name}>"));
        if BLOCKS.contains(&name) {
            out.push('\n');
        }
        Self(out)
    }

    pub(super) fn tag(name: &str, children: impl IntoIterator<Item = Html>) -> Self {
        Self::element(name, &[], children)
    }

    pub(super) fn classed(
        name: &str,
        class: &str,
        children: impl IntoIterator<Item = Html>,
    ) -> Self {
        Self::element(name, &[("class", class)], children)
    }

    /// An element of a class that holds words only; of none where it is empty.
    pub(super) fn words(name: &str, class: &str, words: impl AsRef<str>) -> Self {
        let class = [("class", class)];
        let attributes = if class[0].1.is_empty() {
            &[][..]
        } else {
            &class
        };
        Self::element(name, attributes, [Self::text(words)])
    }

    pub(super) fn many(children: impl IntoIterator<Item = Html>) -> Self {
        Self(children.into_iter().map(|child| child.0).collect())
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// A paragraph of a class, or nothing where there are no words.
pub(super) fn paragraph(class: &str, words: &str) -> Html {
    if words.trim().is_empty() {
        return Html::empty();
    }
    Html::words("p", class, words)
}

/// A command line that one click selects, or nothing where there is none.
pub(super) fn command(line: &str) -> Html {
    if line.trim().is_empty() {
        return Html::empty();
    }
    let code = Html::element(
        "code",
        &[("title", "click selects the command")],
        [Html::text(line)],
    );
    Html::classed("p", "command", [code])
}

/// A head of a table's column.
pub(super) fn head(class: &str, name: impl AsRef<str>) -> Html {
    let attributes = [("scope", "col"), ("class", class)];
    let attributes = if class.is_empty() {
        &attributes[..1]
    } else {
        &attributes
    };
    Html::element("th", attributes, [Html::text(name)])
}

pub(super) fn details(summary: &str, children: impl IntoIterator<Item = Html>) -> Html {
    let summary = Html::words("summary", "", summary);
    Html::tag("details", std::iter::once(summary).chain(children))
}

const VOID: [&str; 4] = ["meta", "input", "br", "col"];

/// Elements after which a line break changes nothing but the source's looks.
const BLOCKS: [&str; 16] = [
    "p", "li", "ul", "tr", "thead", "tbody", "table", "div", "section", "header", "main", "figure",
    "h1", "h2", "h3", "details",
];

fn push_attributes(out: &mut String, attributes: &[(&str, &str)]) {
    for (key, value) in attributes {
        out.push_str(&format!(" {key}=\"{}\"", escape(value)));
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\r' => out.push(' '),
            // Neither HTML nor XML may hold control characters; what else is not seen
            // would make a text look like another.
            c if !is_shown(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_cannot_become_markup() {
        let html = Html::element(
            "p",
            &[("title", "a\"b<c")],
            [Html::text("<script>alert('1') & \"2\"</script>\0")],
        );
        assert_eq!(
            html.into_string(),
            "<p title=\"a&quot;b&lt;c\">&lt;script&gt;alert(&#39;1&#39;) &amp; &quot;2&quot;&lt;/script&gt;\u{fffd}</p>\n"
        );
    }

    #[test]
    fn what_has_no_words_leaves_no_trace() {
        assert_eq!(paragraph("note", " \n").into_string(), "");
        assert_eq!(command("").into_string(), "");
    }

    #[test]
    fn void_elements_close_themselves() {
        let html = Html::element("meta", &[("charset", "utf-8")], []);
        assert_eq!(html.into_string(), "<meta charset=\"utf-8\" />");
    }
}
