//! How a text for the terminal may look.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns; texts are wrapped to it (and never narrower than 20).
    pub width: usize,
    pub color: bool,
}

impl Default for Style {
    /// 80 columns, no colour: right for a file or a pipe.
    fn default() -> Self {
        Self {
            width: 80,
            color: false,
        }
    }
}

/// What a text is, and so how it is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Strong,
    Faint,
    Good,
    Bad,
    Doubtful,
}

impl Style {
    /// The text in that ink, each of its lines by itself, so that a pager that
    /// cuts lines cuts no colour.
    pub(crate) fn paint(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Strong => "1",
            Ink::Faint => "2",
            Ink::Good => "32",
            Ink::Bad => "31",
            Ink::Doubtful => "33",
            Ink::Plain => return text.to_owned(),
        };
        if !self.color {
            return text.to_owned();
        }
        let paint = |line: &str| match line.trim_end_matches('\n') {
            "" => line.to_owned(),
            words => format!("\u{1b}[{code}m{words}\u{1b}[0m{}", &line[words.len()..]),
        };
        text.split_inclusive('\n').map(paint).collect()
    }
}
