//! A run as text for a terminal: the first page, and on demand all of it.

use sys::plain::one_line;
use trial::{
    Chart, Comparison, Finding, Outcome, Point, Run, SectionResult, Standing, Table, Weight,
};

use crate::dots;
use crate::grid::Grid;
use crate::number::number;
use crate::page::{self, Change, Page, Trust, is_shown};
use crate::style::{Ink, Style};
use crate::words::{self, plural};
use crate::wrap::{hung, paragraph, width};

const LINES_MAX: usize = 40;
const BAR: (usize, usize) = (8, 36);
/// Text of a change beyond this is cut; a place with less room is left out.
const CHANGE_MAX: usize = 52;
const PLACE_MIN: usize = 12;

/// Rows of a table shown in full; the report has all.
const ROWS_MAX: usize = 24;

const REASONS_MAX: usize = 4;

/// Where the rest is: the run as `lockgate report` takes it, and the report's file;
/// empty where it was not saved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Saved<'a> {
    pub run: &'a str,
    pub report: &'a str,
}

/// The first page: at most 40 lines.
pub fn render(run: &Run, style: Style, saved: Saved<'_>) -> String {
    let text = Text { style };
    let page = Page::of(run);
    let tail = text.rest(saved);
    let head = text.head(run, &page);
    let (changes, limits) = (text.changes(&page), text.limits(&page));
    let others = [&head, &changes, &limits, &tail].map(|part| part.lines().count());
    // Beside its rows the list has a blank line, a title, and says what is cut.
    let rows = LINES_MAX.saturating_sub(others.iter().sum::<usize>() + 3);
    let mut out = [head, text.prices(&page, rows), changes].concat();
    let room = |out: &str| {
        let taken = [out, &limits, &tail].map(|part| part.lines().count());
        LINES_MAX.saturating_sub(taken.iter().sum())
    };
    out += &text.answers(&page, room(&out));
    // A run of one section has room for its figures.
    let has_any = |it: &&SectionResult| !it.points.is_empty() || !it.tables.is_empty();
    let mut sections = run.sections.iter().filter(has_any);
    if let (Some(section), None) = (sections.next(), sections.next()) {
        out += &text.glimpse(section, room(&out));
    }
    out + &limits + &tail
}

/// All of it: the first page, then each section with its findings, its first chart,
/// its tables, its ratios, and the points that are not valid.
pub fn full(run: &Run, style: Style, saved: Saved<'_>) -> String {
    let text = Text { style };
    let page = Page::of(run);
    let sections: String = run.sections.iter().map(|it| text.section(it)).collect();
    [
        text.head(run, &page),
        text.prices(&page, usize::MAX),
        text.changes(&page),
        text.limits(&page),
        sections,
        text.unmeasured(run),
        text.saved(saved.report),
    ]
    .concat()
}

#[derive(Clone, Copy)]
struct Text {
    style: Style,
}

impl Text {
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

    /// The text on one line, cut where there is no room.
    fn cut(text: &str, columns: usize) -> String {
        let text = one_line(text);
        if width(&text) <= columns {
            return text;
        }
        let kept: String = text.chars().take(columns.saturating_sub(1)).collect();
        kept.trim_end().to_owned() + "…"
    }

    fn head(self, run: &Run, page: &Page<'_>) -> String {
        let host = words::host(run).join(" · ");
        let ink = match page.verdict.trust {
            Trust::Sound => Ink::Good,
            Trust::InPart => Ink::Doubtful,
            Trust::NotSound => Ink::Bad,
        };
        self.text(Ink::Faint, &host) + &self.text(ink, &page.verdict.text)
    }

    fn heading(self, text: &str) -> String {
        String::from("\n") + &self.text(Ink::Strong, text)
    }

    /// The price list: one line each, with a bar on a logarithmic scale. At most
    /// `rows_max` rows.
    fn prices(self, page: &Page<'_>, rows_max: usize) -> String {
        let Some(scale) = page::scale(&page.prices) else {
            return String::new();
        };
        let of = |text: fn(&trial::Price) -> String| -> Vec<String> {
            let texts = page.prices.iter().map(|price| one_line(&text(price)));
            texts.collect()
        };
        let names = of(|price| price.crossing.clone());
        let prices = of(|price| page::time(price.ns));
        let spans = of(page::span);
        let most = |texts: &[String]| texts.iter().map(|it| width(it)).max().unwrap_or(0);
        let (price, span) = (most(&prices), most(&spans));
        // Indent and gaps.
        let fixed = 8 + price + span;
        let room = self.style.width.saturating_sub(fixed);
        let name = most(&names).min(room.saturating_sub(BAR.0).max(12));
        let bar = room.saturating_sub(name).clamp(BAR.0, BAR.1);
        let (low, high) = (page::time(scale.0), page::time(scale.1));
        let head = match bar.checked_sub(width(&low) + width(&high)) {
            Some(gap @ 1..) => format!("{low}{:gap$}{high}", ""),
            _ => String::new(),
        };
        let title = Self::cut("What a crossing costs", name + 2 + price + 2 + span);
        let mut out = format!(
            "\n{}{:pad$}  {}\n",
            self.style.paint(Ink::Strong, &title),
            "",
            self.style.paint(Ink::Faint, &head),
            pad = (2 + name + 2 + price + 2 + span).saturating_sub(width(&title)),
        );
        for (index, it) in page.prices.iter().enumerate().take(rows_max) {
            let share = page::share(it.ns, scale);
            let length = ((share * bar as f64).round() as usize).max(1);
            out += &format!(
                "  {:<name$}  {:>price$}  {}  {}\n",
                Self::cut(&names[index], name),
                prices[index],
                self.style
                    .paint(Ink::Faint, &format!("{:>span$}", spans[index])),
                "━".repeat(length),
            );
        }
        let more = page.prices.len().saturating_sub(rows_max);
        if more > 0 {
            out += &format!("  {} in full\n", plural(more, "more price"));
        }
        out
    }

    fn changes(self, page: &Page<'_>) -> String {
        if page.changes.is_empty() {
            return String::new();
        }
        let gain = |change: &Change<'_>| format!("{}×", words::ratio(change.gain));
        let span = |change: &Change<'_>| {
            format!(
                "{} to {}",
                words::ratio(change.low),
                words::ratio(change.high)
            )
        };
        let most = |of: &dyn Fn(&Change<'_>) -> String| {
            let widths = page.changes.iter().map(|it| width(&of(it)));
            widths.max().unwrap_or(0)
        };
        let (gains, spans) = (most(&gain), most(&span));
        // Number, gaps, figures; what remains is for words.
        let room = self.style.width.saturating_sub(gains + spans + 9);
        let texts = most(&|change| one_line(change.text))
            .min(CHANGE_MAX)
            .min(room);
        let room = room - texts;
        let mut out = self.heading("What to change first, by what it gains");
        for (index, change) in page.changes.iter().enumerate() {
            let place = match room >= PLACE_MIN {
                true => Self::cut(&change.at(), room),
                false => String::new(),
            };
            let line = format!(
                "{}. {:<texts$}  {}  {}  {place}",
                index + 1,
                Self::cut(change.text, texts),
                self.style
                    .paint(Ink::Good, &format!("{:>gains$}", gain(change))),
                self.style
                    .paint(Ink::Faint, &format!("{:>spans$}", span(change))),
            );
            out += &(line.trim_end().to_owned() + "\n");
        }
        out
    }

    fn limits(self, page: &Page<'_>) -> String {
        if page.limits.is_empty() {
            return String::new();
        }
        let lines = page.limits.iter().map(|limit| {
            let line = Self::cut(limit, self.style.width.saturating_sub(2));
            format!("  {}\n", self.style.paint(Ink::Doubtful, &line))
        });
        self.heading("What limits trust") + &lines.collect::<String>()
    }

    /// The answers of the other sections, the first sentence each, as many as fit
    /// whole.
    fn answers(self, page: &Page<'_>, room: usize) -> String {
        let mut out = String::new();
        for answer in &page.answers {
            let line = self.text(Ink::Plain, page::first_sentence(answer));
            // The line before the first.
            if 1 + out.lines().count() + line.lines().count() <= room {
                out += &line;
            }
        }
        match out.as_str() {
            "" => out,
            _ => String::from("\n") + &out,
        }
    }

    fn glimpse(self, section: &SectionResult, room: usize) -> String {
        let charts = section.charts.iter().take(1).map(|it| self.chart(it));
        let tables = section
            .tables
            .iter()
            .take(1)
            .map(|it| self.table(it, "", ROWS_MAX));
        let ratios = std::iter::once(self.comparisons(&section.comparisons));
        let mut out = String::new();
        for part in tables.chain(ratios).chain(charts) {
            let left = room.saturating_sub(out.lines().count());
            if part.lines().count() <= left {
                out += &part;
            }
        }
        out
    }

    fn rest(self, saved: Saved<'_>) -> String {
        let run = match one_line(saved.run).as_str() {
            "" => "RUN".to_owned(),
            run => run.to_owned(),
        };
        // A path is copied with the mouse: never broken.
        let report = match one_line(saved.report).as_str() {
            "" => String::new(),
            report => format!("Report: {report}\n"),
        };
        format!("\nAll of it: lockgate report {run} --full\n{report}")
    }

    fn finding(self, finding: &Finding) -> String {
        let lead = format!("{}: ", words::weight(finding.weight));
        let (ink, lead) = match finding.weight {
            Weight::Headline => (Ink::Strong, ""),
            Weight::Advice => (Ink::Good, lead.as_str()),
            Weight::Warning => (Ink::Doubtful, lead.as_str()),
            Weight::Note => (Ink::Plain, lead.as_str()),
        };
        self.text(ink, &format!("{lead}{}", finding.text)) + &self.remedy("  ", &finding.remedy)
    }

    fn section(self, section: &SectionResult) -> String {
        let (tables, comparisons) = (&section.tables, &section.comparisons);
        let is_bare = tables.is_empty() && comparisons.is_empty() && section.points.is_empty();
        if is_bare && section.findings.is_empty() {
            return String::new();
        }
        let title = format!("{} ({} s)", section.title, number(section.seconds));
        let mut out = String::from("\n") + &self.text(Ink::Strong, &title);
        out.extend(section.findings.iter().map(|it| self.finding(it)));
        out.extend(section.charts.iter().take(1).map(|chart| self.chart(chart)));
        let mut said = words::Said::default();
        for table in tables {
            out += &self.table(table, said.fresh(&table.note), ROWS_MAX);
        }
        out + &self.comparisons(comparisons) + &self.points(&section.points)
    }

    fn chart(self, chart: &Chart) -> String {
        let lines = dots::lines(chart, self.style.width);
        if lines.is_empty() {
            return String::new();
        }
        let lines = lines.into_iter().map(|line| line + "\n");
        String::from("\n") + &self.text(Ink::Plain, &chart.title) + &lines.collect::<String>()
    }

    fn table(self, table: &Table, note: &str, rows_max: usize) -> String {
        let columns = table.columns.iter();
        let head = columns.map(|it| words::heading(&it.label, &it.unit));
        let row = |cells: &Vec<_>| {
            let cells = cells.iter().enumerate();
            cells
                .map(|(at, cell)| words::cell(cell, table.columns.get(at)))
                .collect()
        };
        let rows = table.rows.iter().map(row).collect();
        let title = match note.trim() {
            "" => table.title.clone(),
            note => format!("{} ({note})", table.title),
        };
        let plain = |_: usize, text: &str| text.to_owned();
        self.titled(&title, head.collect(), rows, rows_max, &plain)
    }

    fn comparisons(self, comparisons: &[Comparison]) -> String {
        let hidden = page::unshown(comparisons).map(|it| self.item("  ", &it));
        let hidden = hidden.unwrap_or_default();
        let shown: Vec<_> = comparisons.iter().filter(|it| is_shown(it)).collect();
        if shown.is_empty() {
            return match hidden.as_str() {
                "" => hidden,
                _ => String::from("\n") + &hidden,
            };
        }
        let title = "Ratios of interleaved pairs: median [interval of 95% or more]";
        let head = ["what", "arm ÷ reference", "ratio", "verdict", "target"]
            .map(str::to_owned)
            .to_vec();
        // Two measures of the same sides would have the same words.
        let is_like = |one: &Comparison, other: &Comparison| {
            one.metric != other.metric
                && (&one.subject, &one.arm, &one.reference)
                    == (&other.subject, &other.arm, &other.reference)
        };
        let subject = |it: &Comparison| match shown.iter().any(|other| is_like(it, other)) {
            true => format!("{} ({})", it.subject, it.metric),
            false => it.subject.clone(),
        };
        let rows = shown.iter().map(|it| {
            vec![
                subject(it),
                format!("{} ÷ {}", it.arm, it.reference),
                words::interval(it.ratio, it.low, it.high),
                words::outcome(it.outcome).to_owned(),
                words::target(it),
            ]
        });
        let paint = |column: usize, text: &str| self.judged(column, text);
        self.titled(title, head, rows.collect(), usize::MAX, &paint) + &hidden
    }

    fn judged(self, column: usize, text: &str) -> String {
        let ink = match column {
            3 if text == words::outcome(Outcome::Faster) => Ink::Good,
            3 if text == words::outcome(Outcome::Slower) => Ink::Bad,
            4 if text.ends_with(Standing::NotMet.words()) => Ink::Bad,
            4 if text.ends_with(Standing::Met.words()) => Ink::Good,
            _ => Ink::Plain,
        };
        self.style.paint(ink, text)
    }

    fn titled(
        self,
        title: &str,
        head: Vec<String>,
        mut rows: Vec<Vec<String>>,
        rows_max: usize,
        paint: &dyn Fn(usize, &str) -> String,
    ) -> String {
        let more = rows.len().saturating_sub(rows_max);
        rows.truncate(rows_max);
        let grid = Grid::new(head, rows);
        let faint = |_: usize, text: &str| self.style.paint(Ink::Faint, text);
        let mut out = String::from("\n") + &self.text(Ink::Plain, title);
        out += &grid.render(self.style.width, &faint, paint);
        if more > 0 {
            out += &format!("  {} in the report\n", plural(more, "more row"));
        }
        out
    }

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
        let words = words::invalid(all, points.len());
        let mut out = String::from("\n") + &self.text(Ink::Doubtful, &words);
        for (count, verdict) in reasons.iter().take(REASONS_MAX) {
            let first = format!("  {count} × {}: ", verdict.validity.name());
            let example = if *count > 1 { "for example, " } else { "" };
            out += &self.item(&first, &format!("{example}{}", verdict.reason));
            out += &self.remedy("    ", &verdict.remedy);
        }
        if let more @ 1.. = reasons.len().saturating_sub(REASONS_MAX) {
            out += &format!("  {} in the report\n", plural(more, "more reason"));
        }
        out
    }

    fn unmeasured(self, run: &Run) -> String {
        let mut out = String::new();
        for section in &run.sections {
            if let Some((how, reason, remedy)) = words::ending(&section.state) {
                let words = format!("{} ({how}): {reason}", section.title);
                out += &self.text(Ink::Doubtful, &words);
                out += &self.remedy("  ", remedy);
            }
        }
        match out.as_str() {
            "" => out,
            sections => self.heading("Not measured, or not whole") + sections,
        }
    }

    fn saved(self, saved: &str) -> String {
        match one_line(saved).as_str() {
            "" => String::new(),
            // A path is copied with the mouse: never broken.
            saved => format!("\nReport: {saved}\n"),
        }
    }
}
