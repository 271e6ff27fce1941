//! Crypto lanes, their sessions and calls.

use std::fmt::Debug;
use std::sync::Arc;

use crypto::{Backend, Operation, Status};
use lockgate_engine::{Call, CryptoEngine, CryptoLane, Session, SessionId, Span};

use super::{LONG, WORKER};

pub fn aws_lc() -> Arc<dyn Backend> {
    crypto::by_name("aws-lc").unwrap()
}

/// An engine of one worker.
pub fn engine(backend: Arc<dyn Backend>) -> CryptoEngine {
    CryptoEngine::start(backend, &[WORKER]).unwrap()
}

pub fn attach<E: Debug>(lane: &mut CryptoLane, session: Result<Arc<Session>, E>) -> SessionId {
    lane.attach(&session.unwrap()).unwrap()
}

/// Without additional data and tag.
pub fn call<'a>(
    session: SessionId,
    operation: Operation,
    source: &'a [Span],
    destination: &'a [Span],
) -> Call<'a> {
    Call {
        session,
        operation,
        source,
        destination,
        iv: [7; 16],
        aad: Span::EMPTY,
        tag: Span::EMPTY,
    }
}

/// Tokens and statuses of all that is in flight.
pub fn finish(lane: &mut CryptoLane) -> Vec<(u64, Status)> {
    let mut seen = Vec::new();
    while lane.in_flight() > 0 {
        lane.wait(lane.in_flight(), LONG).unwrap();
        lane.reap(usize::MAX, |done| seen.push((done.token, done.status)));
    }
    seen
}

pub fn ends(lane: &mut CryptoLane) -> Vec<Status> {
    finish(lane).into_iter().map(|(_, status)| status).collect()
}
