//! Requests that are done in pieces, of functions that are reset meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::crypto_lane::{aws_lc, call};
use crate::common::{LONG, WORKER, lane_config};
use crypto::{Algorithm, KeyMaterial, Operation, Status};
use lockgate_engine::{
    CallError, CryptoEngine, CryptoFunction, CryptoLane, FunctionConfig, LaneConfig, Order,
    SessionId, Span,
};
use policy::Moderation;

const DEPTH: usize = 16;
const BYTES: usize = 8192;

fn attach(function: &CryptoFunction, lane: &mut CryptoLane) -> SessionId {
    loop {
        let material = KeyMaterial::take(&mut [7; 16]);
        let session = function.session(Algorithm::Aes128Cbc, &material).unwrap();
        match lane.attach(&session) {
            // Reset again in between.
            Err(CallError::SessionEnded) => {}
            made => return made.unwrap(),
        }
    }
}

/// Decrypts in place, each request in buffers of its own, and writes into
/// them meanwhile; how many were done and how many cancelled.
fn decrypt(
    function: &CryptoFunction,
    order: Order,
    resets: usize,
    count: &[AtomicBool],
) -> [u64; 2] {
    let config = LaneConfig {
        order,
        piece_bytes: Some(512),
        ..lane_config(DEPTH, [Moderation::Armed, Moderation::Each][resets % 2])
    };
    let mut lane = function.lane(resets % 2, config, DEPTH * BYTES, 1).unwrap();
    let mut session = attach(function, &mut lane);
    let (mut ends, mut next) = ([0; 2], 0);
    let mut free: Vec<usize> = (0..DEPTH).collect();
    let mut last = None;
    while next < count.len() || lane.in_flight() > 0 {
        while next < count.len()
            && let Some(buffer) = free.pop()
        {
            let span = [Span::slab(
                buffer * BYTES,
                16 + next * 496 % BYTES / 16 * 16,
            )];
            let call = call(session, Operation::Decrypt, &span, &span);
            match lane.enqueue(&call, (next * DEPTH + buffer) as u64) {
                Ok(()) => next += 1,
                Err(CallError::SessionEnded) => {
                    free.push(buffer);
                    session = attach(function, &mut lane);
                }
                Err(error) => panic!("{error}"),
            }
        }
        let spoilt = Span::slab(next * 64 % BYTES, 64);
        lane.write(spoilt.region, spoilt.offset, &[5; 64]).unwrap();
        lane.wait(1, LONG).unwrap();
        lane.reap(usize::MAX, |done| {
            let token = usize::try_from(done.token).unwrap();
            let (number, buffer) = (token / DEPTH, token % DEPTH);
            assert!(
                !count[number].swap(true, Ordering::Relaxed),
                "{number} twice"
            );
            assert!(order == Order::Any || last.is_none_or(|last| last < number));
            last = Some(number);
            free.push(buffer);
            match done.status {
                Status::Ok => ends[0] += 1,
                Status::Cancelled => ends[1] += 1,
                other => panic!("{other:?}"),
            }
        });
    }
    ends
}

#[test]
fn pieces_end_exactly_once_however_often_the_function_is_reset() {
    let engine = CryptoEngine::start(aws_lc(), &[WORKER; 2]).unwrap();
    for round in 0..4 {
        let function = engine.function(FunctionConfig::default()).unwrap();
        let seen: Vec<AtomicBool> = (0..4000).map(|_| AtomicBool::new(false)).collect();
        let is_over = AtomicBool::new(false);
        let order = [Order::Any, Order::Fifo][round / 2];
        let ends = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    function.reset(LONG).unwrap();
                    std::thread::sleep(Duration::from_micros(300));
                }
            });
            let ends = decrypt(&function, order, round, &seen);
            is_over.store(true, Ordering::Relaxed);
            ends
        });
        assert_eq!(ends[0] + ends[1], seen.len() as u64, "{ends:?}");
        assert!(seen.iter().all(|one| one.load(Ordering::Relaxed)));
        function.remove(LONG).unwrap();
    }
}
