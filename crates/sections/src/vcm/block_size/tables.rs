//! Every figure, and the paper's beside ours.

use crypto::Kind;
use trial::stats::median;
use trial::{Cell as Entry, Table};

use crate::vcm::block_size::context::Context;
use crate::vcm::block_size::grid::{Place, mb_per_s};
use kit::drawing::{column, number, text};
use kit::load::moderated::Arm;
use kit::place::Placement;
use kit::places::on;
use kit::words::what;
use kit::words::{percent, size, speed};

pub(super) fn tables(context: &Context<'_>) -> Vec<Table> {
    [beside(context), figures(context)]
        .into_iter()
        .flatten()
        .collect()
}

/// What one line of the figure says.
pub(super) struct Shape {
    pub(super) peak_bytes: usize,
    pub(super) peak_mb_per_s: f64,
    pub(super) peak_notifications_per_s: f64,
    pub(super) last_bytes: usize,
    /// Speed at the largest block against the peak's.
    pub(super) last_share: f64,
    /// Notifications/s at the smallest and the largest block.
    pub(super) notifications_per_s: (f64, f64),
}

impl Shape {
    /// Of a line with a notification for every completion.
    pub(super) fn of(line: &[&Place]) -> Option<Self> {
        let speed = |place: &&Place| mb_per_s(place, Arm::EACH).unwrap_or(0.0);
        let rate = |place: &Place| {
            place
                .arm(&Arm::EACH)?
                .median(|window| window.notifications_per_s(0))
        };
        let peak = line
            .iter()
            .max_by(|a, b| speed(a).total_cmp(&speed(b)))
            .filter(|peak| speed(peak) > 0.0)?;
        let (first, last) = (line.first()?, line.last()?);
        Some(Self {
            peak_bytes: peak.key.block_bytes,
            peak_mb_per_s: speed(peak),
            peak_notifications_per_s: rate(peak)?,
            last_bytes: last.key.block_bytes,
            last_share: speed(last) / speed(peak),
            notifications_per_s: (rate(first)?, rate(last)?),
        })
    }

    fn peak(&self) -> String {
        let rising = if self.peak_bytes == self.last_bytes {
            ", the largest"
        } else {
            ""
        };
        format!("{}{rising}", size(self.peak_bytes))
    }

    fn rate(&self) -> String {
        let (first, last) = self.notifications_per_s;
        let way = if last < first { "falls" } else { "rises" };
        format!("{way}: {} to {}", rate(first), rate(last))
    }
}

/// A rate as people write it.
pub(super) fn rate(per_s: f64) -> String {
    match per_s {
        rate if rate >= 1e6 => format!("{:.2} M/s", rate / 1e6),
        rate if rate >= 1e4 => format!("{:.0} k/s", rate / 1e3),
        rate => format!("{rate:.0}/s"),
    }
}

/// The paper's figure 2 beside this host's.
fn beside(context: &Context<'_>) -> Option<Table> {
    let lines: Vec<_> = context
        .lines()
        .filter_map(|line| Some((line, Shape::of(&context.line(line))?)))
        .collect();
    let paper = model::paper::published::AES_128;
    let of = |say: &dyn Fn(&Shape) -> String| -> Vec<Entry> {
        lines.iter().map(|(_, shape)| text(say(shape))).collect()
    };
    let peak_bytes = paper.peak_block_bytes.unwrap_or_default() as usize;
    let best = paper.best_interrupts_per_s.unwrap_or_default();
    let rows = [
        (
            "speed is greatest at",
            size(peak_bytes),
            of(&|shape| shape.peak()),
        ),
        (
            "greatest speed",
            "below 0.7 GB/s (axis)".to_owned(),
            of(&|shape| speed(shape.peak_mb_per_s)),
        ),
        (
            "speed of the largest block, as a share of that",
            "below 100%".to_owned(),
            of(&|shape| percent(shape.last_share)),
        ),
        (
            "notifications there",
            rate(best),
            of(&|shape| rate(shape.peak_notifications_per_s)),
        ),
        (
            "notification rate as blocks grow",
            "rises".to_owned(),
            of(&|shape| shape.rate()),
        ),
    ];
    let mut columns = vec![column("", ""), column("paper: AES-128, QAT", "")];
    columns.extend(
        lines.iter().map(|((placement, kind), _)| {
            column(format!("{}, {}", what(*kind), on(*placement)), "")
        }),
    );
    let rows = rows
        .into_iter()
        .map(|(name, theirs, ours)| [vec![text(name), text(theirs)], ours].concat());
    (!lines.is_empty()).then(|| Table {
        title: "The paper's figure 2 beside this host, a notification for every completion"
            .to_owned(),
        note: format!("The paper: {}.", model::paper::published::TEST_BED),
        columns,
        rows: rows.collect(),
        command: context.command.to_owned(),
    })
}

/// Every place with every arm.
fn figures(context: &Context<'_>) -> Option<Table> {
    let arms: Vec<_> = context.arms().collect();
    let mut columns = vec![
        column("placement", ""),
        column("algorithm", ""),
        column("block", ""),
    ];
    columns.extend(arms.iter().map(|arm| column(arm.to_string(), "MB/s")));
    let sleeping: Vec<_> = arms
        .iter()
        .copied()
        .filter(|arm| arm.moderation.client_sleeps())
        .collect();
    columns.extend(
        sleeping
            .iter()
            .map(|arm| column(format!("notifications, {arm}"), "1/s")),
    );
    columns.push(column("a notification", "ns"));
    let rows: Vec<_> = context
        .lines()
        .flat_map(|line| context.line(line))
        .map(|cell| row(cell, &arms, &sleeping))
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: format!(
            "Speed and notifications by block size, {} requests in flight",
            context.config.depth
        ),
        note: "MB/s are 10^6 bytes a second; medians over the rounds. The last column: how much later everything is for each notification that `each` sends and `armed` does not.".to_owned(),
        columns,
        rows,
        command: context.command.to_owned(),
    })
}

fn row(cell: &Place, arms: &[Arm], sleeping: &[Arm]) -> Vec<Entry> {
    let spot = cell.key;
    let mut row = vec![
        text(spot.placement.name()),
        text(what(spot.kind)),
        text(size(spot.block_bytes)),
    ];
    row.extend(arms.iter().map(|arm| number(mb_per_s(cell, *arm))));
    let rate = |arm: &Arm| {
        let series = cell.arm(arm)?;
        series.median(|window| window.notifications_per_s(0))
    };
    row.extend(sleeping.iter().map(|arm| number(rate(arm))));
    let price = crate::vcm::block_size::price::of_place(cell).and_then(|values| median(&values));
    row.push(number(price));
    row
}

/// A line of the figure in words.
pub(super) fn name((placement, kind): (Placement, Kind)) -> String {
    format!("{}, {}", what(kind), on(placement))
}
