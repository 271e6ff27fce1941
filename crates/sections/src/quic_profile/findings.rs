//! What the numbers mean, beside the source's 3.5 times TCP's CPU time.

use kit::experiment::Results;
use kit::headline::Answer;
use kit::profile::Part;
use kit::transfers::Stack;
use kit::words::{finding, listed};
use offload::perf::STOCK_TOGETHER_MAX;
use trial::{Finding, Weight};

use super::{CPU, MASK, PACKET, PARTS, QuicProfile};

type Measured<'a, 'b> = &'b Results<'a, QuicProfile>;

/// Of stock QUIC's CPU time, part by part, the largest first: `protocol 40%`.
fn parts(results: Measured<'_, '_>, place: usize, stack: Stack) -> Vec<String> {
    let Some(all) = results.valid_median(&place, &stack, CPU) else {
        return Vec::new();
    };
    let of = |(part, measure): (Part, _)| {
        Some((part, results.valid_median(&place, &stack, measure)? / all))
    };
    let mut parts: Vec<_> = PARTS.into_iter().filter_map(of).collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let told = parts.iter().filter(|(_, share)| *share >= 0.005);
    told.map(|(part, share)| format!("{} {:.0}%", part.words(), 100.0 * share))
        .collect()
}

/// How much QUIC costs beside TCP, what of it is what, and what larger datagrams give.
pub(super) fn answer(results: Measured<'_, '_>) -> Option<Answer> {
    let smallest = results.experiment.smallest();
    let of = |place, stack| results.valid_median(&place, &stack, CPU);
    let stock = of(smallest, Stack::Stock)?;
    let times = |stack, words: &str| {
        Some(format!(
            "{:.1} times that of {words}",
            stock / of(smallest, stack)?
        ))
    };
    let beside = [
        times(Stack::Tcp, "TCP"),
        times(Stack::TcpTls, "TCP with TLS"),
    ];
    let beside: Vec<_> = beside.into_iter().flatten().collect();
    let mut said = format!("Stock QUIC spends {stock:.2} CPU s/GB");
    if !beside.is_empty() {
        said += &format!(", {} (source: 3.5 times TCP)", beside.join(" and "));
    }
    said += ".";
    let parts = parts(results, smallest, Stack::Stock);
    if !parts.is_empty() {
        said += &format!(" Of it {}.", listed(&parts, parts.len()));
    }
    // What is evident, of stock QUIC; the largest gain.
    let larger = results.told_by(|told| {
        let pair = &told.pair;
        pair.arm.1 == Stack::Stock && pair.arm.0 != smallest && told.ratio.is_evident()
    });
    let mut remedy = String::new();
    if let Some(most) = larger.last().filter(|told| told.ratio.value() > 1.0) {
        said += &format!(
            " Datagrams of {} B carry {} the bytes by CPU second.",
            most.pair.arm.0,
            most.ratio.words()
        );
        remedy = "Between guests or namespaces of a host raise the MTU, and the size of quinn's datagrams with it.".to_owned();
    }
    Some(Answer::new(said, remedy))
}

pub(super) fn findings(results: Measured<'_, '_>) -> Vec<Finding> {
    let smallest = results.experiment.smallest();
    let of = |measure| results.valid_median(&smallest, &Stack::Stock, measure);
    let masks = of(MASK).zip(of(PACKET)).map(|(mask, packet)| {
        // Masked by one end, and unmasked by the other.
        let text = format!(
            "Header protection is {:.1}% of stock QUIC's time: a mask takes {mask:.0} ns, at each end of a packet that costs {packet:.0} ns.",
            100.0 * 2.0 * mask / packet
        );
        finding(Weight::Note, text, "")
    });
    let is_large = |place: usize| place > STOCK_TOGETHER_MAX;
    let alone = results
        .measured()
        .any(|(one, _)| one.arm == Stack::Stock && is_large(one.place));
    let alone = alone.then(|| {
        let text = format!(
            "Stock quinn sends datagrams of more than {STOCK_TOGETHER_MAX} B one by one here: ten do not fit a message of UDP, and quinn would lose them without a word."
        );
        let remedy = "Switch enable_segmentation_offload off for such datagrams, or take lockgate-offload's sockets, which send as many as fit.";
        finding(Weight::Note, text, remedy)
    });
    let is_sampled = results
        .measured()
        .any(|(one, _)| results.median(&one.place, &one.arm, PARTS[0].1).is_some());
    let blind = (!is_sampled && results.measured().next().is_some()).then(|| {
        finding(
            Weight::Note,
            "Which part CPU time is for is not known: the kernel lets this process take no samples.".to_owned(),
            "Run as root, or with CAP_PERFMON.",
        )
    });
    masks.into_iter().chain(alone).chain(blind).collect()
}
