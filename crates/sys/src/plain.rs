//! Text of others, made safe to show.

/// The text of `bytes`, without control characters other than line ends and tabs: what a
/// guest or a file says reaches the user's terminal, and must not control it.
pub fn plain(bytes: &[u8]) -> String {
    let is_shown = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    let text = String::from_utf8_lossy(bytes);
    text.trim().chars().filter(is_shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_steered() {
        let hostile = b"\x1b]0;owned\x07 a\r\nb\tc \xc2\x9b2J\xff ";
        assert_eq!(plain(hostile), "]0;owned a\nb\tc 2J\u{fffd}");
    }
}
