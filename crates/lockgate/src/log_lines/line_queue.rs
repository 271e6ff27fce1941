//! Lines on their way to a log that may be slow, full or closed.

use std::collections::VecDeque;

/// Of all lines that wait.
pub const BYTES_MAX: usize = 1 << 20;
/// Of one; what is longer is cut.
const LINE_BYTES_MAX: usize = 1 << 18;

/// What waits to be written, within bounds, and how much was lost.
#[derive(Default)]
pub struct LineQueue {
    lines: VecDeque<Line>,
    bytes: usize,
    /// Lines that nobody was told of.
    lost: u64,
}

/// A line, or several that belong together.
#[derive(Debug)]
pub struct Line {
    text: String,
    /// Lines before it that were left out.
    left_out: u64,
}

impl LineQueue {
    /// Takes a line, unless too much waits already: then it is lost, and counted.
    pub fn put(&mut self, text: &str, left_out: u64) -> bool {
        let text = text.trim_end_matches('\n');
        let cut = &text[..text.floor_char_boundary(LINE_BYTES_MAX)];
        if self.bytes + cut.len() > BYTES_MAX {
            self.lost += 1 + left_out;
            return false;
        }
        let end = if cut.len() < text.len() { "…" } else { "" };
        let text = [cut, end].concat();
        self.bytes += text.len();
        self.lines.push_back(Line { text, left_out });
        true
    }

    /// The next line; it tells of all that were lost before.
    pub fn take(&mut self) -> Option<Line> {
        let mut line = self.lines.pop_front()?;
        self.bytes -= line.text.len();
        line.left_out += std::mem::take(&mut self.lost);
        Some(line)
    }

    /// A line that was taken could not be written.
    pub fn failed(&mut self, line: &Line) {
        self.lost += 1 + line.left_out;
    }

    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }
}

impl Line {
    /// As it is written.
    pub fn text(&self) -> String {
        match self.left_out {
            0 => format!("{}\n", self.text),
            1 => format!("{} (1 line before it was left out)\n", self.text),
            many => format!("{} ({many} lines before it were left out)\n", self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(queue: &mut LineQueue) -> String {
        queue.take().map(|line| line.text()).unwrap_or_default()
    }

    #[test]
    fn what_is_lost_is_told_by_the_next_line_that_gets_through() {
        let mut queue = LineQueue::default();
        assert!(queue.put("a\n", 0) && queue.put("b", 2));
        assert_eq!(next(&mut queue), "a\n");
        let failed = queue.take().unwrap();
        queue.failed(&failed);
        assert!(queue.put("c", 0) && queue.put("d", 0));
        assert_eq!(next(&mut queue), "c (3 lines before it were left out)\n");
        assert_eq!(next(&mut queue), "d\n");
        assert_eq!(next(&mut queue), "");
    }

    #[test]
    fn a_log_that_nobody_takes_grows_no_further() {
        let mut queue = LineQueue::default();
        let line = "x".repeat(1000);
        let taken = (0..100_000).filter(|_| queue.put(&line, 0)).count();
        assert!(queue.bytes <= BYTES_MAX && taken == BYTES_MAX / 1000);
        let lost = format!("({} lines before it were left out)\n", 100_000 - taken);
        assert!(next(&mut queue).ends_with(&lost));
        // As much as was taken fits again.
        assert!(queue.put(&line, 0));
    }

    #[test]
    fn a_long_line_is_cut() {
        let mut queue = LineQueue::default();
        assert!(queue.put(&"é".repeat(LINE_BYTES_MAX), 0));
        let text = next(&mut queue);
        assert!(text.len() <= LINE_BYTES_MAX + 4 && text.ends_with("é…\n"));
    }
}
