//! The source's table 2 beside ours.

use forward::tester::stream::FrameSize;
use trial::{Cell as Entry, Table};

use crate::router::throughput::case::Case;
use crate::router::throughput::context::Context;
use crate::router::throughput::tables::table;
use kit::drawing::{number, text};
use kit::judged::judged;
use kit::routers::source::{LINK_MBIT_PER_S, NATIVE, PORTS, TEST_BED, native};
use kit::routers::trial::size_name;

pub(super) fn table_2(context: &Context<'_>) -> Option<Table> {
    let has_source =
        |case: &&Case| matches!(case.size, FrameSize::Fixed(bytes) if native(bytes).is_some());
    // Sizes that the source has not are in the table of all.
    context.measured().find(has_source)?;
    let rows = context.measured().map(|case| row(context, case)).collect();
    table(
        context,
        "The source's table 2 beside this host: throughput without virtualisation",
        format!(
            "The source: {TEST_BED}; its percentages are of {PORTS} links of {LINK_MBIT_PER_S:.0} Mbit/s. Here: {}",
            context.note()
        ),
        &[
            ("router", ""),
            ("frame", ""),
            ("source: throughput", "frames/s"),
            ("source: of the links", "%"),
            ("source: links", "frames/s"),
            ("here: throughput", "frames/s"),
            ("here: of the links", "%"),
            ("here: links", "frames/s"),
            ("here: at overload, no link", "frames/s"),
            ("verdict", ""),
        ],
        rows,
    )
}

fn row(context: &Context<'_>, case: &Case) -> Vec<Entry> {
    let source = match case.size {
        FrameSize::Fixed(bytes) => native(bytes),
        FrameSize::Imix => None,
    };
    let throughput = case.no_drop.rate();
    let share = throughput.map(|rate| context.percent_of_line(rate, case.size));
    vec![
        text(case.router.what()),
        text(size_name(case.size)),
        number(source.map(|row| row.frames_per_s)),
        number(source.map(|row| row.share_percent)),
        number(source.map(|row| row.frames_per_s_max)),
        number(throughput),
        number(share),
        number(Some(context.config().line_pps(case.size))),
        number(case.overload.rate()),
        judged(&case.no_drop.verdict()),
    ]
}

/// Sizes of the source.
pub(super) fn sizes() -> impl Iterator<Item = FrameSize> {
    NATIVE.iter().map(|row| FrameSize::Fixed(row.frame_bytes))
}
