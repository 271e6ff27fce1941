//! Text of others, made safe to show: what a guest, a file, a process or the environment
//! says reaches terminals, documents and logs, and must not control them.

use std::fmt::Write;
use std::ops::RangeInclusive;

/// Characters that are not seen and change what is seen around them: all of
/// `Default_Ignorable_Code_Point`, and of the general categories `Cf`, `Zl` and `Zp` those
/// that have no shape of their own (Unicode 16.0, `DerivedCoreProperties.txt`). Marks for
/// bidirectional text are among them, tags, variation selectors and joiners.
const UNSEEN: [RangeInclusive<char>; 23] = [
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fdd0}'..='\u{fdef}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    '\u{fffe}'..='\u{ffff}',
    '\u{13430}'..='\u{1343f}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{1fffe}'..='\u{1ffff}',
    '\u{2fffe}'..='\u{2ffff}',
    '\u{3fffe}'..='\u{3ffff}',
    // Tags and more selectors; planes without letters, and those of private use.
    '\u{4fffe}'..='\u{10ffff}',
];

/// Whether a character shows itself and nothing else: no control character (C0, C1), and
/// none that reorders or hides those around it. Line ends and tabs are control characters.
#[must_use]
pub fn is_shown(letter: char) -> bool {
    !letter.is_control() && !UNSEEN.iter().any(|range| range.contains(&letter))
}

/// The text without what [is not shown](is_shown), but for line ends and tabs.
#[must_use]
pub fn lines(text: &str) -> String {
    let is_kept = |letter: &char| is_shown(*letter) || matches!(letter, '\n' | '\t');
    text.chars().filter(is_kept).collect()
}

/// The text of `bytes` as [`lines`] shows it, without the space around it.
#[must_use]
pub fn plain(bytes: &[u8]) -> String {
    lines(&String::from_utf8_lossy(bytes)).trim().to_owned()
}

/// The words of a text on one line, a space between them.
#[must_use]
pub fn one_line(text: &str) -> String {
    let words = text.split_whitespace().map(lines);
    let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// [`lines`] of a text that comes in pieces, which may part a character.
#[derive(Debug, Default)]
pub struct Pieces(Vec<u8>);

impl Pieces {
    /// What the next piece shows. The beginning of a character waits for its end.
    pub fn next(&mut self, piece: &[u8]) -> String {
        self.0.extend_from_slice(piece);
        let is_begun = |from: &usize| {
            let begun = std::str::from_utf8(&self.0[*from..]).err();
            begun.is_some_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        };
        let end = self.0.len();
        let end = (end.saturating_sub(3)..end).find(is_begun).unwrap_or(end);
        let rest = self.0.split_off(end);
        let text = std::mem::replace(&mut self.0, rest);
        lines(&String::from_utf8_lossy(&text))
    }
}

/// [`lines`] that may also be coloured: sequences that select how characters look (SGR)
/// stay. Only text of our own may bring them; what it holds of others was shown before.
#[must_use]
pub fn coloured(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut shown = lines(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|letter: char| !letter.is_ascii_digit() && letter != ';');
        match end.filter(|end| part[*end..].starts_with('m')) {
            Some(end) => {
                shown.push_str("\x1b[");
                shown.push_str(&part[..=end]);
                shown.push_str(&lines(&part[end + 1..]));
            }
            None => shown.push_str(&lines(&format!("[{part}"))),
        }
    }
    shown
}

/// A JSON document that says the same, with escapes for what [is not shown](is_shown):
/// such characters stand in its strings only.
#[must_use]
pub fn json(document: &str) -> String {
    let mut text = String::with_capacity(document.len());
    for letter in document.chars() {
        if is_shown(letter) || letter.is_ascii_whitespace() {
            text.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let written = write!(text, "\\u{unit:04x}");
                written.expect("a string takes all that is written");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of each kind: embeddings and overrides, isolates, marks, what has no width, line and
    /// paragraph separators, C1, tags, selectors, fillers, noncharacters.
    const HOSTILE: &str = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\
        \u{200e}\u{200f}\u{61c}\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{ad}\u{180e}\u{2028}\u{2029}\
        \u{80}\u{85}\u{9b}\u{9f}\u{7f}\0\x1b\x07\u{e0001}\u{e0020}\u{e007f}\u{fe00}\u{fe0f}\u{e0100}\
        \u{115f}\u{3164}\u{ffa0}\u{fff9}\u{fffe}\u{10ffff}\u{1d173}\u{206a}";

    #[test]
    fn a_terminal_is_not_steered() {
        let hostile = b"\x1b]0;owned\x07 a\r\nb\tc \xc2\x9b2J\xff ";
        assert_eq!(plain(hostile), "]0;owned a\nb\tc 2J\u{fffd}");
    }

    #[test]
    fn what_reorders_or_hides_passes_nowhere() {
        for letter in HOSTILE.chars() {
            assert!(!is_shown(letter), "{letter:?}");
        }
        let text = format!("a{HOSTILE}b");
        assert_eq!(plain(text.as_bytes()), "ab");
        assert_eq!(lines(&text), "ab");
        assert_eq!(coloured(&text), "ab");
        assert_eq!(one_line(&text), "a b", "separators of lines part words");
        assert_eq!(plain("\u{202e} a".as_bytes()), "a");
    }

    #[test]
    fn letters_of_all_scripts_pass() {
        let text = "é ß Ω Ж ע ع ไ 試 한 か 🦀 · – “x” × ÷ → ≥ \u{a0}\u{2003}\u{fffd}";
        assert_eq!(lines(text), text);
    }

    #[test]
    fn ranges_are_in_order_and_apart() {
        assert!(
            UNSEEN
                .windows(2)
                .all(|pair| pair[0].end() < pair[1].start())
        );
    }

    #[test]
    fn words_come_on_one_line() {
        assert_eq!(one_line(" a\r\n\tb \u{2028}c \u{202e} d"), "a b c d");
        assert_eq!(one_line(" \u{200b} "), "");
    }

    #[test]
    fn colours_pass_and_nothing_else_does() {
        let red = "\x1b[1;31merror:\x1b[0m a\n";
        assert_eq!(coloured(red), red);
        let hostile = "\x1b[2J\x1b]0;x\x07\x1b[31\x1b[5;5H\x1b[mb\x1b[\u{202e}m\x1b";
        assert_eq!(coloured(hostile), "[2J]0;x[31[5;5H\x1b[mb[m");
    }

    #[test]
    fn pieces_part_characters_and_hide_nothing() {
        let text = "é\u{202e}試🦀\x1b[2J\u{9b}a\n".as_bytes();
        for size in 1..text.len() {
            let mut pieces = Pieces::default();
            let shown: String = text.chunks(size).map(|piece| pieces.next(piece)).collect();
            assert_eq!(shown, "é試🦀[2Ja\n", "{size}");
        }
        // What no character begins with waits for nothing.
        assert_eq!(Pieces::default().next(b"a\xff\xfe"), "a\u{fffd}\u{fffd}");
    }

    #[test]
    fn json_says_the_same() {
        let document = "{\n  \"a\": \"\u{202e}é\u{7f}\u{e0041}\\n\"\n}\n";
        let shown = "{\n  \"a\": \"\\u202eé\\u007f\\udb40\\udc41\\n\"\n}\n";
        assert_eq!(json(document), shown);
    }
}
