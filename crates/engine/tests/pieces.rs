//! Long requests in pieces: as many as there should be, in order within a
//! request, with the turns of others in between, and one completion.

use std::sync::{Arc, Mutex};

use crate::common::{LONG, WORKER, cases, lane_config};
use crypto::Status;
use lockgate_engine::{
    Batch, Engine, Lane, LaneConfig, LaneError, Order, Outcomes, PIECE_BYTES_MIN, Service,
};
use policy::Moderation;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Long {
    id: usize,
    from: usize,
    bytes: usize,
    is_resumed: bool,
    fails_at: usize,
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Long>>>);

impl Service for Log {
    type Request = Long;

    fn bytes(request: &Long) -> usize {
        request.bytes
    }

    fn split(&mut self, request: &mut Long, bytes: usize) -> Option<Long> {
        let first = Long { bytes, ..*request };
        request.from += bytes;
        request.bytes -= bytes;
        request.is_resumed = false;
        Some(first)
    }

    fn resume(&mut self, request: &mut Long) {
        request.is_resumed = true;
    }

    fn process(&mut self, requests: Batch<'_, Long>, outcomes: &mut Outcomes<'_, Long>) {
        for (index, request) in requests.iter().enumerate().rev() {
            self.0.lock().unwrap().push(*request);
            let fails = (request.from..request.from + request.bytes).contains(&request.fails_at);
            let status = if fails { Status::BadLength } else { Status::Ok };
            outcomes.complete(index, status);
            if index.is_multiple_of(2) {
                outcomes.publish();
            }
        }
    }
}

fn long(id: usize, bytes: usize) -> Long {
    Long {
        id,
        from: 0,
        bytes,
        is_resumed: true,
        fails_at: usize::MAX,
    }
}

fn engine() -> (Engine<Log>, Log) {
    let log = Log::default();
    let shared = log.clone();
    let engine = Engine::start(&[WORKER], move |_| shared.clone());
    (engine.unwrap(), log)
}

fn config(piece_bytes: usize, order: Order) -> LaneConfig {
    LaneConfig {
        piece_bytes: Some(piece_bytes),
        order,
        ..lane_config(64, Moderation::Armed)
    }
}

fn finish(lane: &mut Lane<Long>) -> Vec<(u64, Status)> {
    let mut seen = Vec::new();
    while lane.in_flight() > 0 {
        lane.wait(1, LONG).unwrap();
        lane.reap(usize::MAX, |done| seen.push((done.token, done.status)));
    }
    seen
}

#[test]
fn a_long_request_lets_short_ones_of_others_pass() {
    let (engine, log) = engine();
    let mut hog = engine.lane(0, config(512, Order::Any)).unwrap();
    let mut other = engine.lane(0, config(512, Order::Any)).unwrap();
    // The worker waits for the log until all are there.
    let held = log.0.lock().unwrap();
    hog.submit(long(0, 512 * 10_000), 0).unwrap();
    for id in 1..=50 {
        other.submit(long(id, 512), id as u64).unwrap();
    }
    drop(held);
    assert_eq!(finish(&mut other).len(), 50);
    assert_eq!(finish(&mut hog), [(0, Status::Ok)]);
    let pieces = log.0.lock().unwrap();
    let last = pieces.iter().rposition(|piece| piece.id != 0).unwrap();
    assert!(last < 1000, "the last short one was number {last}");
    assert_eq!(pieces.len(), 10_050);
}

#[test]
fn what_fails_in_a_piece_ends_there_and_once() {
    for order in [Order::Any, Order::Fifo] {
        let (engine, log) = engine();
        let mut lane = engine.lane(0, config(512, order)).unwrap();
        for id in 0..4 {
            let fails_at = if id == 2 { 1500 } else { usize::MAX };
            let request = Long {
                fails_at,
                ..long(id, 4000)
            };
            lane.enqueue(request, id as u64).unwrap();
        }
        let mut done = finish(&mut lane);
        done.sort_unstable_by_key(|done| done.0);
        let ends = [Status::Ok, Status::Ok, Status::BadLength, Status::Ok];
        assert!(done.iter().map(|done| done.1).eq(ends), "{done:?}");
        let pieces = log.0.lock().unwrap().iter().filter(|p| p.id == 2).count();
        assert_eq!(pieces, 3);
    }
}

#[test]
fn a_shutdown_finishes_what_was_begun() {
    let (engine, _) = engine();
    let mut lane = engine.lane(0, config(512, Order::Any)).unwrap();
    lane.submit(long(0, 512 * 10_000), 0).unwrap();
    engine.shutdown();
    assert_eq!(finish(&mut lane), [(0, Status::Ok)]);
}

#[test]
fn pieces_that_are_no_blocks_are_refused() {
    let (engine, _) = engine();
    for bytes in [0, 1, PIECE_BYTES_MIN - 1, PIECE_BYTES_MIN + 16] {
        let refused = engine.lane(0, config(bytes, Order::Any)).unwrap_err();
        assert!(matches!(refused, LaneError::Piece { bytes: b } if b == bytes));
        assert!(refused.to_string().contains(&bytes.to_string()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn every_byte_is_done_once_and_in_order(
        lengths in proptest::collection::vec(0usize..20_000, 1..64),
        piece in 1usize..6,
        fifo in any::<bool>(),
    ) {
        let piece_bytes = piece * PIECE_BYTES_MIN;
        let order = if fifo { Order::Fifo } else { Order::Any };
        let (engine, log) = engine();
        let mut lane = engine.lane(0, config(piece_bytes, order)).unwrap();
        for (id, &bytes) in lengths.iter().enumerate() {
            lane.enqueue(long(id, bytes), id as u64).unwrap();
        }
        let done = finish(&mut lane);
        let mut tokens: Vec<_> = done.iter().map(|done| done.0 as usize).collect();
        prop_assert!(!fifo || tokens.is_sorted(), "{:?}", tokens);
        tokens.sort_unstable();
        prop_assert!(tokens.into_iter().eq(0..lengths.len()));
        let log = log.0.lock().unwrap();
        for (id, &bytes) in lengths.iter().enumerate() {
            let pieces: Vec<_> = log.iter().filter(|piece| piece.id == id).collect();
            // Equation (9) of the VCM paper; an empty request is one, too.
            prop_assert_eq!(pieces.len(), bytes.div_ceil(piece_bytes).max(1));
            let mut from = 0;
            for piece in pieces {
                prop_assert_eq!(piece.from, from);
                prop_assert!(piece.is_resumed && piece.bytes <= piece_bytes);
                from += piece.bytes;
            }
            prop_assert_eq!(from, bytes);
        }
    }
}
