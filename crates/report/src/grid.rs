//! Aligned tables in plain text.

use sys::plain::one_line;

use crate::wrap::{lines, width};

const GAP: usize = 2;

/// Words up to this long are never broken within.
const TEXT_COLUMNS_MIN: usize = 20;

/// A table of words: numbers right-aligned, words left-aligned and wrapped.
pub(crate) struct Grid {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    numeric: Vec<bool>,
}

pub(crate) type Paint<'a> = &'a dyn Fn(usize, &str) -> String;

impl Grid {
    /// A grid of as many columns as `head`; shorter rows are filled up, longer ones
    /// cut. A column is numeric where every filled cell begins as a number.
    pub(crate) fn new(head: Vec<String>, rows: Vec<Vec<String>>) -> Self {
        let head: Vec<String> = head.iter().map(|text| one_line(text)).collect();
        let fit = |row: Vec<String>| -> Vec<String> {
            let cells = row.iter().map(|text| one_line(text));
            cells
                .chain(std::iter::repeat(String::new()))
                .take(head.len())
                .collect()
        };
        let rows: Vec<Vec<String>> = rows.into_iter().map(fit).collect();
        let numeric = (0..head.len())
            .map(|column| is_numeric(&rows, column))
            .collect();
        Self {
            head,
            rows,
            numeric,
        }
    }

    /// The grid within `columns`, indented by two, the head painted by `head`
    /// and the cells by `cell`. Where it cannot be that narrow, one line a cell.
    pub(crate) fn render(&self, columns: usize, head: Paint<'_>, cell: Paint<'_>) -> String {
        let room = columns.saturating_sub(2);
        match self.widths(room) {
            Some(widths) => {
                let rows = self.rows.iter().map(|row| self.row(row, &widths, cell));
                self.row(&self.head, &widths, head) + &rows.collect::<String>()
            }
            None => self
                .rows
                .iter()
                .map(|row| self.record(row, columns))
                .collect(),
        }
    }

    pub(crate) fn fits(&self, columns: usize) -> bool {
        self.widths(columns.saturating_sub(2)).is_some()
    }

    /// The columns' widths, the widest texts squeezed until all fit in `room`.
    fn widths(&self, room: usize) -> Option<Vec<usize>> {
        let count = self.head.len();
        let mut widths: Vec<usize> = (0..count).map(|column| self.natural(column)).collect();
        let least: Vec<usize> = (0..count).map(|column| self.least(column)).collect();
        let room = room.checked_sub(GAP * count.saturating_sub(1))?;
        while widths.iter().sum::<usize>() > room {
            let squeezable = (0..count).filter(|column| widths[*column] > least[*column]);
            let widest = squeezable.max_by_key(|column| widths[*column])?;
            widths[widest] -= 1;
        }
        Some(widths)
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().map(move |row| row[column].as_str())
    }

    fn natural(&self, column: usize) -> usize {
        self.cells(column)
            .chain([self.head[column].as_str()])
            .map(width)
            .max()
            .unwrap_or(0)
    }

    /// Numbers are never broken; heads and words are, but not within a word
    /// that is shorter than the least width of text.
    fn least(&self, column: usize) -> usize {
        let word = |text: &str| text.split(' ').map(width).max().unwrap_or(0);
        let head = word(&self.head[column]).min(TEXT_COLUMNS_MIN);
        let cells = self.cells(column).map(|text| match self.numeric[column] {
            true => width(text),
            false => word(text).min(TEXT_COLUMNS_MIN),
        });
        cells.max().unwrap_or(0).max(head)
    }

    fn row(&self, row: &[String], widths: &[usize], paint: Paint<'_>) -> String {
        let cells: Vec<Vec<String>> = row
            .iter()
            .zip(widths)
            .map(|(text, width)| lines(text, *width))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        (0..height)
            .map(|line| self.line(&cells, line, widths, paint))
            .collect()
    }

    fn line(
        &self,
        cells: &[Vec<String>],
        line: usize,
        widths: &[usize],
        paint: Paint<'_>,
    ) -> String {
        let mut out = String::from(" ");
        let mut pending = 1;
        for (column, (cell, columns)) in cells.iter().zip(widths).enumerate() {
            let text = cell.get(line).map_or("", String::as_str);
            // A line of marks that take no width has more letters than columns.
            let fill = columns.saturating_sub(width(text));
            let before = if self.numeric[column] { fill } else { 0 };
            if !text.is_empty() {
                out.push_str(&" ".repeat(pending + before));
                out.push_str(&paint(column, text));
                pending = fill - before + GAP;
            } else {
                pending += columns + GAP;
            }
        }
        out.truncate(out.trim_end().len());
        out + "\n"
    }

    fn record(&self, row: &[String], columns: usize) -> String {
        let filled = self
            .head
            .iter()
            .zip(row)
            .filter(|(_, text)| !text.is_empty());
        let lines: String = filled
            .map(|(head, text)| crate::wrap::paragraph("  ", &format!("{head}: {text}"), columns))
            .collect();
        lines + "\n"
    }
}

fn is_numeric(rows: &[Vec<String>], column: usize) -> bool {
    let mut filled = rows
        .iter()
        .map(|row| row[column].as_str())
        .filter(|text| !text.is_empty())
        .peekable();
    let begins = |text: &str| {
        let text = text.trim_start_matches(['-', '(']);
        text.starts_with(|first: char| first.is_ascii_digit() || first == '–' || first == '∞')
    };
    // Long texts that begin with a figure are words all the same.
    filled.peek().is_some() && filled.all(|text| begins(text) && width(text) <= 24)
}

#[cfg(test)]
mod tests {
    use super::Grid;

    fn plain(_: usize, text: &str) -> String {
        text.to_owned()
    }

    fn grid() -> Grid {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        Grid::new(
            row(["block", "speed, MB/s", "words"]),
            vec![
                row(["64 B", "7.12", "bound by crossings"]),
                row(["16 KiB", "11,400", ""]),
            ],
        )
    }

    #[test]
    fn numbers_stand_right_and_words_left() {
        let text = grid().render(80, &plain, &plain);
        let expected = "   block  speed, MB/s  words\n    64 B         7.12  bound by crossings\n  16 KiB       11,400\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn words_are_squeezed_and_numbers_are_not() {
        let text = grid().render(30, &plain, &plain);
        assert!(
            text.lines().all(|line| line.chars().count() <= 30),
            "{text}"
        );
        assert!(
            text.contains("11,400") && text.contains("crossings"),
            "{text}"
        );
    }

    #[test]
    fn what_cannot_be_so_narrow_becomes_records() {
        let text = grid().render(12, &plain, &plain);
        assert!(text.contains("block: 16 KiB"), "{text}");
    }

    #[test]
    fn marks_without_a_width_are_no_panic() {
        let accents = "e\u{301}\u{301}\u{301} ".repeat(30);
        let grid = Grid::new(vec!["a".to_owned()], vec![vec![accents]]);
        assert!(grid.render(24, &plain, &plain).contains('\u{301}'));
    }

    #[test]
    fn rows_of_a_wrong_length_are_no_panic() {
        let one = |text: &str| vec![text.to_owned()];
        let text = Grid::new(
            one("a"),
            vec![vec![], ["b", "c"].map(str::to_owned).to_vec()],
        )
        .render(80, &plain, &plain);
        assert!(text.contains('b') && !text.contains('c'));
        assert_eq!(
            Grid::new(vec![], vec![vec![]]).render(80, &plain, &plain),
            ""
        );
    }
}
