//! Text made safe for a terminal and broken into lines: a stored result may come from
//! anyone.

use std::borrow::Cow;

use sys::plain::one_line;

const TEXT_COLUMNS_MIN: usize = 20;

/// Columns that a text takes: one per character, since the texts are Latin.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

fn options(columns: usize) -> textwrap::Options<'static> {
    textwrap::Options::new(columns.max(1)).word_splitter(textwrap::WordSplitter::NoHyphenation)
}

/// The words of a text in lines of at most `columns`, broken between words; a longer
/// word is broken within. At least one line, which may be empty.
pub(crate) fn lines(text: &str, columns: usize) -> Vec<String> {
    let text = one_line(text);
    let lines = textwrap::wrap(&text, options(columns));
    lines.into_iter().map(Cow::into_owned).collect()
}

/// [`lines`] after `first`, the following ones indented as far as it reaches.
/// Ends each line with a newline.
pub(crate) fn paragraph(first: &str, text: &str, columns: usize) -> String {
    indented(first, width(first), text, columns)
}

/// The text with every line but the first indented by `indent` columns.
pub(crate) fn hung(indent: usize, text: &str, columns: usize) -> String {
    indented("", indent, text, columns)
}

fn indented(first: &str, indent: usize, text: &str, columns: usize) -> String {
    let rest = " ".repeat(indent);
    let options = options(columns.max(indent + TEXT_COLUMNS_MIN))
        .initial_indent(first)
        .subsequent_indent(&rest);
    let text = one_line(text);
    let lines = textwrap::wrap(&text, options);
    lines
        .iter()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{hung, lines, paragraph};

    #[test]
    fn control_characters_never_pass() {
        let hostile = "a\u{1b}[31mb\nc\t\u{202e}d\u{9b}e";
        assert_eq!(lines(hostile, 80), ["a[31mb c de"]);
        assert_eq!(hung(2, hostile, 80), "a[31mb c de\n");
    }

    #[test]
    fn lines_keep_every_word_and_the_width() {
        assert_eq!(lines("one two three", 7), ["one two", "three"]);
        assert_eq!(lines("unbreakable a", 5), ["unbre", "akabl", "e a"]);
        assert_eq!(lines("", 5), [""]);
        assert_eq!(lines("ab", 0), ["a", "b"]);
    }

    #[test]
    fn following_lines_hang() {
        let text = paragraph("note  ", "some words that go on for a while", 26);
        assert_eq!(text, "note  some words that go\n      on for a while\n");
    }

    #[test]
    fn hung_lines_use_the_whole_width() {
        assert_eq!(
            hung(2, "Note: some words that go on and on", 22),
            "Note: some words that\n  go on and on\n"
        );
        assert_eq!(hung(2, "short", 22), "short\n");
        assert_eq!(hung(2, "", 22), "\n");
    }
}
