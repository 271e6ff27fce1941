//! Every figure, and the article's beside ours.

use trial::{Cell as Entry, Comparison, Table};

use crate::kspeed::article::{PUBLISHED, Published, TEST_BED};
use crate::kspeed::cell::Cell;
use crate::kspeed::comparisons::{Ratio, of};
use crate::kspeed::context::Context;
use crate::kspeed::method::Method;
use kit::drawing::{column, number, text};
use kit::words::size;

pub(super) fn tables(context: &Context<'_>, ratios: &[Ratio<'_>]) -> Vec<Table> {
    [
        rates(context),
        shares(context),
        same(context, ratios),
        beside(context),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Requests a second of every place by every method.
fn rates(context: &Context<'_>) -> Option<Table> {
    let entry = |cell: &Cell, method| {
        let rate = cell.arm(method).and_then(|series| series.median());
        number(rate)
    };
    by_method(
        context,
        "Requests a second by method",
        "requests/s",
        format!(
            "{} requests in flight, except sync, tcrypt serial and AF_ALG: one. Medians over the rounds. {}",
            context.config.depth,
            context.guest.note()
        ),
        &context.config.methods,
        entry,
    )
}

/// What every method shows of the asynchronous rate.
fn shares(context: &Context<'_>) -> Option<Table> {
    if !context.config.has(Method::Async) {
        return None;
    }
    let others: Vec<_> = (context.config.methods.iter().copied())
        .filter(|method| *method != Method::Async && *method != Method::Engine)
        .collect();
    let entry = |cell: &Cell, method| {
        let ratio = context.ratio(cell, method, Method::Async);
        number(ratio.map(|ratio| ratio.ratio * 100.0))
    };
    let note = format!(
        "100% is kspeed async at the same driver and size. {}",
        context.guest.note()
    );
    let title = "How much of the asynchronous rate each method shows";
    by_method(context, title, "% of async", note, &others, entry)
}

fn by_method(
    context: &Context<'_>,
    title: &str,
    unit: &str,
    note: String,
    methods: &[Method],
    entry: impl Fn(&Cell, Method) -> Entry,
) -> Option<Table> {
    let has = |cell: &&Cell| methods.iter().any(|&method| cell.arm(method).is_some());
    let row = |cell: &Cell| {
        let mut row = place(context, cell);
        row.extend(methods.iter().map(|&method| entry(cell, method)));
        row
    };
    let rows: Vec<_> = context.cells.iter().filter(has).map(row).collect();
    let mut columns = vec![
        column("driver", ""),
        column("completes", ""),
        column("size", ""),
    ];
    columns.extend(methods.iter().map(|method| column(method.title(), unit)));
    (!rows.is_empty() && !methods.is_empty()).then(|| Table {
        title: title.to_owned(),
        note,
        columns,
        rows,
        command: context.command.to_owned(),
    })
}

/// The driver, how it completes, and the size.
fn place(context: &Context<'_>, cell: &Cell) -> Vec<Entry> {
    let completes = match context.is_async(cell) {
        Some(true) => "later",
        Some(false) => "at once",
        None => "",
    };
    let threads = match cell.place.threads {
        1 => String::new(),
        threads => format!(", {threads} threads"),
    };
    let driver = format!("{}{threads}", cell.place.driver);
    vec![
        text(driver),
        text(completes),
        text(size(cell.place.size_bytes)),
    ]
}

/// Whether the kernel's benchmark and ours measure the same.
fn same(context: &Context<'_>, ratios: &[Ratio<'_>]) -> Option<Table> {
    let row = |cell: &Cell| {
        let serial = of(ratios, cell, Method::Tcrypt, Method::Sync);
        let many = of(ratios, cell, Method::TcryptMb, Method::Batch);
        (serial.is_some() || many.is_some()).then(|| {
            let mut row = place(context, cell);
            row.extend([ratio(serial), ratio(many)]);
            row
        })
    };
    let rows: Vec<_> = context.cells.iter().filter_map(row).collect();
    let columns = [
        "driver",
        "completes",
        "size",
        "tcrypt serial over kspeed sync",
        "tcrypt num_mb over kspeed batch",
    ];
    (!rows.is_empty()).then(|| Table {
        title: "The kernel's benchmark beside kspeed: the same, asked the same way".to_owned(),
        note: format!(
            "Ratios with their 95% intervals, from interleaved pairs. tcrypt has a few sizes only. {}",
            context.guest.note()
        ),
        columns: columns.map(|label| column(label, "")).to_vec(),
        rows,
        command: context.command.to_owned(),
    })
}

fn ratio(ratio: Option<&Comparison>) -> Entry {
    ratio.map_or(Entry::Empty, |ratio| {
        text(format!(
            "{:.2}× ({:.2} to {:.2})",
            ratio.ratio, ratio.low, ratio.high
        ))
    })
}

/// The article's figures beside this guest's.
fn beside(context: &Context<'_>) -> Option<Table> {
    let mut rows = Vec::new();
    for published in PUBLISHED {
        let same = |cell: &&Cell| {
            cell.place.size_bytes == published.size_bytes
                && cell.arm(Method::Async).is_some()
                && cell.arm(Method::Engine).is_some()
        };
        let cells = context.cells.iter().filter(same);
        rows.extend(cells.map(|cell| beside_row(context, cell, published)));
    }
    let columns = [
        "driver",
        "completes",
        "size",
        "article: serial",
        "here: serial",
        "article: async",
        "here: async",
        "what agrees",
    ];
    (!rows.is_empty()).then(|| Table {
        title: "The article's figures beside this guest's: the kernel's rate over user space's"
            .to_owned(),
        note: format!(
            "The article: {TEST_BED}. Here user space is Lockgate's engine in the same guest, on the guest's own CPU: no accelerator is behind it; a virtio-crypto device computes on the host's. {}",
            context.guest.note()
        ),
        columns: columns.map(|label| column(label, "")).to_vec(),
        rows,
        command: context.command.to_owned(),
    })
}

fn beside_row(context: &Context<'_>, cell: &Cell, published: Published) -> Vec<Entry> {
    let serial = context
        .ratio(cell, Method::Tcrypt, Method::Engine)
        .or_else(|| context.ratio(cell, Method::Sync, Method::Engine));
    let asynchronous = context.ratio(cell, Method::Async, Method::Engine);
    let gain = context.ratio(cell, Method::Async, Method::Sync);
    // Trials that are not valid agree with nothing.
    let is_valid = |other| context.is_valid(cell, Method::Async) && context.is_valid(cell, other);
    let theirs = |ratio: Option<f64>| {
        ratio.map_or_else(|| text("not stated"), |ratio| text(format!("{ratio:.2}×")))
    };
    let mut row = place(context, cell);
    row.extend([
        theirs(published.serial),
        ratio(serial.as_ref()),
        theirs(Some(published.asynchronous)),
        ratio(asynchronous.as_ref()),
        text(agreement(
            asynchronous.filter(|_| is_valid(Method::Engine)).as_ref(),
            gain.filter(|_| is_valid(Method::Sync)).as_ref(),
            published,
        )),
    ]);
    row
}

/// What of the article is seen here: that callbacks gain, and how far that
/// reaches.
fn agreement(
    asynchronous: Option<&Comparison>,
    gain: Option<&Comparison>,
    published: Published,
) -> String {
    let gains = match gain {
        Some(gain) if gain.low > 1.0 => "async gains, as there",
        Some(_) => "async gains nothing here, unlike there",
        None => return String::new(),
    };
    let reaches = match asynchronous {
        Some(ratio) if ratio.low > published.asynchronous => "more of user space than there",
        Some(ratio) if ratio.high < published.asynchronous => "less of user space than there",
        Some(_) => "as much of user space as there",
        None => return gains.to_owned(),
    };
    format!("{gains}; {reaches}")
}
