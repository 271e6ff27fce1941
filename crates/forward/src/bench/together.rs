//! One trial of one bench or of several at the same moment.

use std::time::Duration;

use super::churn::Churn;
use super::result::Changes;
use super::usage::Usage;
use super::{Bench, BenchError, Offer, TrialResult};
use crate::tester::trial::{HostUse, Placement, run};
use crate::tester::validity::OwnCpu;

/// Sent before the first trial with frames of one kind: caches, rings and clocks of
/// every router are then as in the middle of a trial. Otherwise a router that was
/// just started would be measured cold.
const WARM_UP: Duration = Duration::from_millis(50);

/// Longest wait for frames under way. RFC 2544, section 23, says two seconds, for
/// slower networks.
pub(super) const RESIDUAL: Duration = Duration::from_millis(500);

/// One judged trial of all routers, with an offer for each; results in the same
/// order. Before the first trial of a kind, a shorter one is sent and discarded.
///
/// # Panics
/// If there is not one offer for each.
pub(super) fn trial(
    benches: &mut [&mut Bench],
    offers: &[Offer],
    go_on: &dyn Fn() -> bool,
) -> Result<Vec<TrialResult>, BenchError> {
    for (bench, offer) in benches.iter_mut().zip(offers) {
        bench.ceiling_pps(offer)?;
    }
    warm_up(benches, offers, go_on)?;
    let (mut results, host) = send(benches, offers, RESIDUAL, go_on)?;
    judge(benches, &mut results, host)?;
    Ok(results)
}

fn warm_up(
    benches: &mut [&mut Bench],
    offers: &[Offer],
    go_on: &dyn Fn() -> bool,
) -> Result<(), BenchError> {
    let mut pairs = benches.iter().zip(offers);
    if pairs.all(|(bench, offer)| bench.is_warm_for(offer)) {
        return Ok(());
    }
    let short = |offer: &Offer| Offer {
        duration: offer.duration.min(WARM_UP),
        ..*offer
    };
    let short: Vec<_> = offers.iter().map(short).collect();
    send(benches, &short, RESIDUAL, go_on)?;
    for (bench, offer) in benches.iter_mut().zip(offers) {
        bench.set_warm_for(offer);
    }
    Ok(())
}

/// The same, not judged.
///
/// # Panics
/// As [`trial()`].
pub(super) fn send(
    benches: &mut [&mut Bench],
    offers: &[Offer],
    residual: Duration,
    go_on: &dyn Fn() -> bool,
) -> Result<(Vec<TrialResult>, HostUse), BenchError> {
    assert_eq!(offers.len(), benches.len(), "one offer a router");
    let mut placement = Placement::default();
    let (mut begun, mut streams) = (Vec::new(), Vec::new());
    for (bench, offer) in benches.iter_mut().zip(offers) {
        placement.add(bench.placement());
        begun.push(bench.begin(offer)?);
        streams.push(bench.streams(offer)?);
    }
    let counts: Vec<_> = streams.iter().map(Vec::len).collect();
    let churns = benches.iter().zip(offers);
    let churns: Result<Vec<_>, _> = churns.map(|(bench, offer)| bench.churn(offer)).collect();
    let churns = churns?;
    let (mut ways, mut watched) = (Vec::new(), Vec::new());
    for (bench, streams) in benches.iter_mut().zip(streams) {
        let (own, router) = bench.parts(streams);
        ways.extend(own);
        watched.push(router);
    }
    let mut read = || -> Result<Vec<Usage>, BenchError> {
        watched.iter_mut().map(|router| router.usage()).collect()
    };
    let ran = run(&mut ways, &placement, residual, &mut read, go_on)?;
    drop(ways);
    let mut changes = Vec::new();
    for churn in churns {
        changes.push(churn.map_or_else(|| Ok(Changes::default()), Churn::end)?);
    }
    let [first, last] = ran.readings;
    let used = last?.into_iter().zip(first?);
    let mut directions = ran.directions.into_iter();
    let mut results = Vec::new();
    let parts = benches.iter_mut().zip(offers).zip(begun).zip(counts);
    for (((((bench, offer), before), count), (last, first)), changes) in
        parts.zip(used).zip(changes)
    {
        let own = directions.by_ref().take(count).collect();
        let result = bench.finish(offer, own, before, last.since(first))?;
        bench.note_changes(changes.made);
        results.push(TrialResult { changes, ..result });
    }
    Ok((results, ran.host))
}

/// Each router's verdict. The CPU time of the other routers is not a stranger's, and
/// all share the generator and its ceiling.
fn judge(
    benches: &[&mut Bench],
    results: &mut [TrialResult],
    host: HostUse,
) -> Result<(), BenchError> {
    let mut own_cpu = OwnCpu::default();
    for result in results.iter() {
        let one = result.own_cpu();
        own_cpu.generators += one.generators;
        own_cpu.behind += one.behind;
    }
    let all_pps: f64 = results.iter().map(TrialResult::received_pps).sum();
    for (bench, result) in benches.iter().zip(results) {
        let ceiling_pps = bench.ceiling_for(&result.offer, all_pps)?;
        // A router that received nothing has no result that could be near.
        let share = match result.received_pps() / all_pps {
            share if share > 0.0 => share,
            _ => 1.0,
        };
        bench.judge(result, host, ceiling_pps * share, own_cpu);
    }
    Ok(())
}
