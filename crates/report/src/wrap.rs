//! Text made safe for a terminal and broken into lines.

use std::borrow::Cow;

const TEXT_COLUMNS_MIN: usize = 20;

/// Columns that a text takes: one per character, since the texts are Latin.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// The text on one line, without control characters: a stored result may come
/// from anyone, and an escape sequence in it must not reach the terminal.
pub(crate) fn clean(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|letter| if is_unsafe(letter) { ' ' } else { letter })
        .collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Control characters, and those that reorder or hide the characters around them.
fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn options(columns: usize) -> textwrap::Options<'static> {
    textwrap::Options::new(columns.max(1)).word_splitter(textwrap::WordSplitter::NoHyphenation)
}

/// The cleaned text in lines of at most `columns`, broken between words; a longer
/// word is broken within. At least one line, which may be empty.
pub(crate) fn lines(text: &str, columns: usize) -> Vec<String> {
    let text = clean(text);
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
    let text = clean(text);
    let lines = textwrap::wrap(&text, options);
    lines
        .iter()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{clean, hung, lines, paragraph};

    #[test]
    fn control_characters_never_pass() {
        assert_eq!(clean("a\u{1b}[31mb\nc\t\u{202e}d\u{9b}e"), "a [31mb c d e");
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
