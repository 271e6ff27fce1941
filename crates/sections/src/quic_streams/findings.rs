//! What the numbers mean.

use kit::experiment::Results;
use kit::headline::Answer;
use kit::words::joined;

use super::{QuicStreams, RATE, STILL, TIME, Way};

/// Standing still and speed, by the number of streams, beside TCP.
pub(super) fn answer(results: &Results<'_, QuicStreams>) -> Option<Answer> {
    let config = &results.experiment.0;
    let of = |way, measure| results.valid_median(&(), &way, measure);
    let most = config.streams.values().max().map(Way::Quic)?;
    let mut ways: Vec<_> = config.streams.values().map(Way::Quic).collect();
    ways.sort_by_key(|way| *way != most);
    ways.push(Way::Tcp);
    let stands = |way: &Way| Some(format!("{} for {:.1}%", way.words(), of(*way, STILL)?));
    let takes = |way: &Way| Some(format!("{} {:.1} s", way.words(), of(*way, TIME)?));
    let still: Vec<_> = ways.iter().filter_map(stands).collect();
    let times: Vec<_> = ways.iter().filter_map(takes).collect();
    if still.is_empty() {
        return None;
    }
    let joined = |all: &[String]| joined(all.iter().map(String::as_str), ", ");
    let mut said = format!(
        "Where {}% of the frames is lost, nothing can be read for longer than a round trip: {} of the time.",
        config.loss_percent.get(),
        joined(&still),
    );
    if !times.is_empty() {
        let megabytes = config.bytes.get() as f64 / 1e6;
        said += &format!(" A file of {megabytes:.1} MB takes: {}.", joined(&times));
    }
    let ratio = results.ratio((&(), &most), (&(), &Way::Tcp), RATE);
    if let Some(ratio) = ratio.filter(|ratio| ratio.is_believed) {
        said += &format!(" {} has {} the speed of TCP.", most.words(), ratio.words());
    }
    let gains = of(most, STILL) < of(Way::Tcp, STILL);
    let remedy = match gains {
        true => "Give each independent piece of work a stream of its own where packets are lost.",
        false => "",
    };
    Some(Answer::new(said, remedy))
}
