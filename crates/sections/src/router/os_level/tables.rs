//! The homes side by side: figure 3's axes as a table.

use trial::{Cell as Entry, Table};

use crate::router::throughput::config::Router;
use crate::router::throughput::context::Context;
use crate::router::throughput::tables::table;
use kit::drawing::{number, text};
use kit::routers::source::OS_LEVEL;
use kit::routers::trial::size_name;

/// Throughput as a share of the links, a row a router, a column a size.
pub(super) fn shares(context: &Context<'_>) -> Option<Table> {
    let sizes = &context.config().sizes;
    let row = |router: &Router| {
        let cases: Vec<_> = sizes
            .iter()
            .map(|size| context.case(*router, *size))
            .collect();
        cases.iter().any(Option::is_some).then(|| {
            let share = |case: &Option<&_>| -> Entry {
                let case: &crate::router::throughput::case::Case = match case {
                    Some(case) => case,
                    None => return Entry::Empty,
                };
                let rate = case.no_drop.rate();
                number(rate.map(|rate| context.percent_of_line(rate, case.size)))
            };
            let first = text(router.what());
            std::iter::once(first)
                .chain(cases.iter().map(share))
                .collect()
        })
    };
    let rows = context.config().routers.iter().filter_map(row).collect();
    let names: Vec<_> = sizes.iter().map(|size| size_name(*size)).collect();
    let mut columns = vec![("router", "")];
    columns.extend(names.iter().map(|name| (name.as_str(), "% of the links")));
    table(
        context,
        "Throughput of OS-level virtualisation, as figure 3 of the source",
        format!(
            "The source's figure has no numbers; its text: {OS_LEVEL}. OpenVZ is not in today's kernels: LXC is the nearest relative. {}",
            context.note()
        ),
        &columns,
        rows,
    )
}
