//! Markdown's grammar: text escaped, tables, code (`CommonMark` with GitHub's
//! tables).

/// Text without markup: every character that Markdown or HTML could interpret is
/// escaped, line ends become spaces.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in sys::plain::one_line(text).chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => out.extend(['\\', letter]),
            _ => out.push(letter),
        }
    }
    escaped_start(out)
}

/// `- `, `+ ` and `1. ` would begin a list, `---` draw a line, `===` make a
/// heading of the line before; `-1.5` and `3.0.17` are harmless.
fn escaped_start(text: String) -> String {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let mut rest = text[digits..].chars();
    let first = rest.next();
    let second = rest.next();
    match first {
        Some('-' | '+' | '=') if digits == 0 && !second.is_some_and(|it| it.is_ascii_digit()) => {
            format!("\\{text}")
        }
        Some('.' | ')') if digits > 0 && second.is_none_or(|it| it == ' ') => {
            format!("{}\\{}", &text[..digits], &text[digits..])
        }
        _ => text,
    }
}

/// A code span, with a longer fence than any run of backticks inside. Inside a table
/// a bar would still end the cell, so it is escaped as GitHub's tables do.
pub(crate) fn code(text: &str) -> String {
    let text = sys::plain::one_line(text).replace('|', "\\|");
    if text.is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    let touches = text.starts_with('`') || text.ends_with('`');
    let space = if touches { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

pub(crate) fn block(language: &str, text: &str) -> String {
    let text = sys::plain::lines(text);
    let fence = "`".repeat((longest_run(&text) + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}\n\n", text.trim_end())
}

/// The command behind a figure; nothing without one.
pub(crate) fn command(command: &str) -> String {
    if command.trim().is_empty() {
        String::new()
    } else {
        block("sh", command)
    }
}

fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or(0)
}

/// A table of cells that are Markdown already; `numeric` columns are
/// right-aligned. Short rows are filled up, long ones cut; nothing without rows.
pub(crate) fn table(head: &[String], numeric: &[bool], rows: &[Vec<String>]) -> String {
    if rows.is_empty() || head.is_empty() {
        return String::new();
    }
    let line = |cells: &[String]| {
        let filled = (0..head.len()).map(|column| cells.get(column).map_or("", String::as_str));
        format!("| {} |\n", filled.collect::<Vec<_>>().join(" | "))
    };
    let rule = (0..head.len()).map(|column| match numeric.get(column) {
        Some(true) => "---:".to_owned(),
        _ => "---".to_owned(),
    });
    let rule: Vec<String> = rule.collect();
    let rows: String = rows.iter().map(|row| line(row)).collect();
    line(head) + &line(&rule) + &rows + "\n"
}

#[cfg(test)]
mod tests {
    use super::{block, code, table, text};

    #[test]
    fn text_means_itself() {
        for (raw, escaped) in [
            ("a | b", "a \\| b"),
            ("<b> & `tick`", "&lt;b&gt; &amp; \\`tick\\`"),
            ("two\nlines", "two lines"),
            ("*star* _line_", "\\*star\\* \\_line\\_"),
            ("[link](x) \\", "\\[link\\](x) \\\\"),
            ("- item", "\\- item"),
            ("12. item", "12\\. item"),
            ("3.0.17", "3.0.17"),
            ("-1.5", "-1.5"),
            ("--- cut", "\\--- cut"),
            ("# head", "\\# head"),
        ] {
            assert_eq!(text(raw), escaped);
        }
    }

    #[test]
    fn code_cannot_be_left() {
        assert_eq!(code("a `b` ``c"), "```a `b` ``c```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(block("sh", "a\n```\nb"), "````sh\na\n```\nb\n````\n\n");
    }

    #[test]
    fn nothing_passes_that_reorders_or_hides() {
        let hostile = "a\u{202e}b\u{200b}\u{e0041}\u{9b}\x1b[2J";
        assert_eq!(text(hostile), "ab\\[2J");
        assert_eq!(code(hostile), "`ab[2J`");
        assert_eq!(block("sh", hostile), "```sh\nab[2J\n```\n\n");
    }

    #[test]
    fn tables_are_as_wide_as_their_head() {
        let one = |text: &str| text.to_owned();
        let text = table(
            &[one("a"), one("b")],
            &[false, true],
            &[vec![one("1")], vec![one("1"), one("2"), one("3")]],
        );
        assert_eq!(text, "| a | b |\n| --- | ---: |\n| 1 |  |\n| 1 | 2 |\n\n");
        assert_eq!(table(&[one("a")], &[], &[]), "");
    }
}
