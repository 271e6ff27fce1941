//! A run as a short text: the verdict first, in words, then the figures.

use trial::{Chart, Comparison, Outcome, Point, Run, SectionResult, Table, Weight};

use crate::dots;
use crate::grid::Grid;
use crate::number::number;
use crate::style::{Ink, Style};
use crate::words::{self, Standing, plural};
use crate::wrap::{clean, hung, paragraph};

/// Tables shown of each section, and rows of each; the report has all.
const TABLES_MAX: usize = 1;
const ROWS_MAX: usize = 24;

/// Reasons shown of points that are not valid.
const REASONS_MAX: usize = 4;

/// The summary of a run for the terminal. `saved` says where the whole report
/// lies; empty when it was not saved.
#[must_use]
pub fn render(run: &Run, style: Style, saved: &str) -> String {
    let page = Page { style };
    let sections: String = run
        .sections
        .iter()
        .map(|section| page.section(section))
        .collect();
    [
        page.origin(run),
        page.verdict(run),
        sections,
        page.unmeasured(run),
        page.saved(saved),
    ]
    .concat()
}

#[derive(Clone, Copy)]
struct Page {
    style: Style,
}

impl Page {
    /// Text at the margin, its following lines indented a little.
    fn text(self, ink: Ink, text: &str) -> String {
        self.style.paint(ink, &hung(2, text, self.style.width))
    }

    fn item(self, first: &str, text: &str) -> String {
        paragraph(first, text, self.style.width)
    }

    fn remedy(self, indent: &str, remedy: &str) -> String {
        match remedy.trim() {
            "" => String::new(),
            remedy => self.item(&format!("{indent}→ "), remedy),
        }
    }

    fn origin(self, run: &Run) -> String {
        let tier =
            crate::words::tier(run).map_or_else(String::new, |tier| format!(" · tier {tier}"));
        let words = format!(
            "{}{tier} · {} · {} s · lockgate {} ({})",
            run.host,
            run.started_utc,
            number(run.seconds),
            run.build.version,
            run.build.git_revision
        );
        self.text(Ink::Faint, &words) + "\n"
    }

    /// Findings by weight, and what the run lacks.
    fn verdict(self, run: &Run) -> String {
        let findings = words::findings(run);
        let mut out = String::new();
        if findings
            .first()
            .is_none_or(|first| first.weight != Weight::Headline)
        {
            out += &self.text(
                Ink::Strong,
                "This run came to no headline; its figures are below.",
            );
        }
        for finding in findings {
            let lead = format!("{}: ", words::weight(finding.weight));
            let (ink, lead) = match finding.weight {
                Weight::Headline => (Ink::Strong, ""),
                Weight::Advice => (Ink::Good, lead.as_str()),
                Weight::Warning => (Ink::Doubtful, lead.as_str()),
                Weight::Note => (Ink::Plain, lead.as_str()),
            };
            out += &self.text(ink, &format!("{lead}{}", finding.text));
            out += &self.remedy("  ", &finding.remedy);
        }
        if run.interrupted {
            out += &self.text(
                Ink::Doubtful,
                "Warning: the run was interrupted; what is here is sound, but not all.",
            );
        }
        out
    }

    fn section(self, section: &SectionResult) -> String {
        let (tables, comparisons) = (&section.tables, &section.comparisons);
        if tables.is_empty() && comparisons.is_empty() && section.points.is_empty() {
            return String::new();
        }
        let title = format!("{} ({} s)", section.title, number(section.seconds));
        let mut out = String::from("\n") + &self.text(Ink::Strong, &title);
        out.extend(section.charts.iter().take(1).map(|chart| self.chart(chart)));
        let mut said = words::Said::default();
        for table in tables.iter().take(TABLES_MAX) {
            out += &self.table(table, said.fresh(&table.note));
        }
        if tables.len() > TABLES_MAX {
            out += &format!(
                "\n  {} in the report\n",
                plural(tables.len() - TABLES_MAX, "more table")
            );
        }
        out + &self.comparisons(comparisons) + &self.points(&section.points)
    }

    /// A chart over named places; what is drawn over numbers is for the report.
    fn chart(self, chart: &Chart) -> String {
        let lines = dots::lines(chart, self.style.width);
        if lines.is_empty() {
            return String::new();
        }
        let lines = lines.into_iter().map(|line| line + "\n");
        String::from("\n") + &self.text(Ink::Plain, &chart.title) + &lines.collect::<String>()
    }

    fn table(self, table: &Table, note: &str) -> String {
        let head = table.columns.iter().map(words::heading).collect();
        let row = |cells: &Vec<_>| {
            let columns = table
                .columns
                .iter()
                .map(Some)
                .chain(std::iter::repeat(None));
            cells
                .iter()
                .zip(columns)
                .map(|(cell, column)| words::cell(cell, column))
                .collect()
        };
        let rows = table.rows.iter().map(row).collect();
        let title = match note.trim() {
            "" => table.title.clone(),
            note => format!("{} ({note})", table.title),
        };
        self.titled(&title, head, rows, &|_, text| text.to_owned())
    }

    fn comparisons(self, comparisons: &[Comparison]) -> String {
        let Some(first) = comparisons.first() else {
            return String::new();
        };
        // What a claim rests on comes first; where there is no claim, all.
        let claimed = comparisons.iter().any(|it| it.target.is_some());
        let shown = |it: &&Comparison| !claimed || it.target.is_some();
        let hidden = comparisons.iter().filter(|it| !shown(it)).count();
        let title = format!(
            "Ratios of interleaved pairs: median [{}% interval]",
            number(first.confidence * 100.0)
        );
        let head = ["what", "arm ÷ reference", "ratio", "verdict", "target"]
            .map(str::to_owned)
            .to_vec();
        let rows = comparisons.iter().filter(shown).map(|it| {
            vec![
                it.subject.clone(),
                format!("{} ÷ {}", it.arm, it.reference),
                words::ratio_of_pairs(it),
                words::said(it).to_owned(),
                words::target(it),
            ]
        });
        let rows = rows.collect();
        let mut out = self.titled(&title, head, rows, &|column, text| {
            self.judged(column, text)
        });
        if hidden > 0 {
            out += &format!("  {} in the report\n", plural(hidden, "more ratio"));
        }
        out
    }

    /// Verdicts coloured by what they say.
    fn judged(self, column: usize, text: &str) -> String {
        let ink = match column {
            3 if text == words::outcome(Outcome::Faster) => Ink::Good,
            3 if text == words::outcome(Outcome::Slower) => Ink::Bad,
            4 if text.ends_with(Standing::Met.words()) => Ink::Good,
            4 if text.ends_with(Standing::Missed.words()) => Ink::Bad,
            _ => Ink::Plain,
        };
        self.style.paint(ink, text)
    }

    fn titled(
        self,
        title: &str,
        head: Vec<String>,
        mut rows: Vec<Vec<String>>,
        paint: &dyn Fn(usize, &str) -> String,
    ) -> String {
        let more = rows.len().saturating_sub(ROWS_MAX);
        rows.truncate(ROWS_MAX);
        let grid = Grid::new(head, rows);
        let faint = |_: usize, text: &str| self.style.paint(Ink::Faint, text);
        let mut out = String::from("\n") + &self.text(Ink::Plain, title);
        out += &grid.render(self.style.width, &faint, paint);
        if more > 0 {
            out += &format!("  {} in the report\n", plural(more, "more row"));
        }
        out
    }

    /// How many points do not count, and why, the most frequent reason first.
    fn points(self, points: &[Point]) -> String {
        let invalid = points.iter().filter(|point| !point.verdict.is_valid());
        let mut reasons: Vec<(usize, &trial::Verdict)> = Vec::new();
        for verdict in invalid.map(|point| &point.verdict) {
            let same = |known: &trial::Verdict| {
                (known.validity, &known.remedy) == (verdict.validity, &verdict.remedy)
            };
            match reasons.iter_mut().find(|(_, known)| same(known)) {
                Some((count, _)) => *count += 1,
                None => reasons.push((1, verdict)),
            }
        }
        if reasons.is_empty() {
            return String::new();
        }
        reasons.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let all: usize = reasons.iter().map(|(count, _)| count).sum();
        let words = format!(
            "{} of {} not valid, and counted neither as a pass nor as a loss:",
            number(all as f64),
            plural(points.len(), "point")
        );
        let mut out = String::from("\n") + &self.text(Ink::Doubtful, &words);
        for (count, verdict) in reasons.iter().take(REASONS_MAX) {
            let first = format!("  {count} × {}: ", words::validity(verdict.validity));
            let example = if *count > 1 { "for example, " } else { "" };
            out += &self.item(&first, &format!("{example}{}", verdict.reason));
            out += &self.remedy("    ", &verdict.remedy);
        }
        if reasons.len() > REASONS_MAX {
            out += &format!(
                "  {} in the report\n",
                plural(reasons.len() - REASONS_MAX, "more reason")
            );
        }
        out
    }

    fn unmeasured(self, run: &Run) -> String {
        let mut out = String::new();
        for section in &run.sections {
            if let Some((how, reason, remedy)) = words::ending(&section.state) {
                out += &self.text(
                    Ink::Doubtful,
                    &format!("{} ({how}): {reason}", section.title),
                );
                out += &self.remedy("  ", remedy);
            }
        }
        if out.is_empty() {
            out
        } else {
            String::from("\n") + &self.text(Ink::Strong, "Not measured, or not whole") + &out
        }
    }

    fn saved(self, saved: &str) -> String {
        match clean(saved).as_str() {
            "" => String::new(),
            // A path is copied with the mouse: never broken.
            saved => format!("\nReport: {saved}\n"),
        }
    }
}
