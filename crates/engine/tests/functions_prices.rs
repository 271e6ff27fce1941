//! What a tenant is charged follows what its requests take, whatever it mixes
//! in between.

use std::sync::Arc;
use std::time::Duration;

use crate::common::crypto_lane::{attach, aws_lc, call, ends, engine};
use crate::common::instead::Instead;
use crypto::{Algorithm, Backend, FfdhGroup, Operation, RsaBits, RsaScheme, Status, generate_key};
use lockgate_engine::{
    CryptoEngine, CryptoFunction, CryptoLane, FunctionConfig, LaneConfig, RequestLimit, SessionId,
    Span,
};

const SLAB_BYTES: usize = 1 << 20;

const TAKES: Duration = Duration::from_micros(200);

fn slow() -> Arc<dyn Backend> {
    Instead::of_aws_lc(|_, _, jobs, statuses| {
        for (job, status) in jobs.iter().zip(statuses) {
            *status = if job.source.first.len.is_multiple_of(16) {
                std::thread::sleep(TAKES);
                Status::Ok
            } else {
                Status::BadLength
            };
        }
    })
}

fn rig(
    backend: Arc<dyn Backend>,
    algorithm: Algorithm,
) -> (CryptoEngine, CryptoFunction, CryptoLane, SessionId) {
    let engine = engine(backend);
    let config = FunctionConfig {
        request_max: RequestLimit::NONE,
        ..FunctionConfig::default()
    };
    let function = engine.function(config).unwrap();
    let lane = function.lane(0, LaneConfig::default(), SLAB_BYTES, 1024);
    let mut lane = lane.unwrap();
    let session = function.session(algorithm, &generate_key(algorithm));
    let session = attach(&mut lane, session);
    (engine, function, lane, session)
}

fn encrypt(lane: &mut CryptoLane, session: SessionId, spans: &[Span]) {
    let call = call(session, Operation::Encrypt, spans, spans);
    lane.enqueue(&call, 0).unwrap();
}

/// How many were refused.
fn drain(lane: &mut CryptoLane) -> usize {
    let ends = ends(lane).into_iter();
    ends.filter(|&end| end != Status::Ok).count()
}

#[test]
fn refused_requests_do_not_hide_what_others_take() {
    let (_engine, function, mut lane, session) = rig(slow(), Algorithm::Aes128Cbc);
    let mut refused = 0;
    for _ in 0..10 {
        for index in 0..64 {
            // Nine of ten work, and no batch is without one that does not.
            let bytes = if index % 8 == 0 { 15 } else { 16 };
            encrypt(&mut lane, session, &[Span::slab(index * 64, bytes)]);
        }
        refused += drain(&mut lane);
    }
    assert_eq!(refused, 80);
    let before = function.counters().work_ns;
    encrypt(&mut lane, session, &[Span::slab(0, 16)]);
    drain(&mut lane);
    let charged_ns = function.counters().work_ns - before;
    assert!(charged_ns > TAKES.as_nanos() as u64 / 2, "{charged_ns} ns");
}

/// Numbers that are refused at a look do not make cheap what takes milliseconds.
#[test]
fn numbers_that_are_refused_do_not_lower_the_price() {
    for algorithm in [
        Algorithm::Rsa(RsaBits::B2048, RsaScheme::Pkcs1),
        Algorithm::Ffdh(FfdhGroup::Ffdhe2048),
    ] {
        let (_engine, function, mut lane, session) = rig(aws_lc(), algorithm);
        let is_rsa = matches!(algorithm, Algorithm::Rsa(..));
        let submit = |lane: &mut CryptoLane| {
            let operation = [Operation::Derive, Operation::Decrypt][usize::from(is_rsa)];
            let destination = [Span::slab(256, if is_rsa { 32 } else { 256 })];
            let source = [Span::slab(0, 256)];
            let call = call(session, operation, &source, &destination);
            lane.enqueue(&call, 0).unwrap();
        };
        // Zero.
        for _ in 0..20 {
            (0..64).for_each(|_| submit(&mut lane));
            assert_eq!(drain(&mut lane), 64);
        }
        let before = function.counters().work_ns;
        submit(&mut lane);
        drain(&mut lane);
        let charged_ns = function.counters().work_ns - before;
        // As before anything was known.
        assert!(charged_ns >= 50_000, "{algorithm}: {charged_ns} ns");
    }
}

/// A list of a thousand segments costs more than its few bytes: measured, on
/// AES-128-CBC and CTR, 10 to 18 ns a segment of both sides.
#[test]
fn segments_are_charged() {
    let (_engine, function, mut lane, session) = rig(aws_lc(), Algorithm::Aes128Cbc);
    let many: Vec<Span> = (0..1024).map(|index| Span::slab(index * 2, 1)).collect();
    for round in 0..20 {
        let before = function.counters().work_ns;
        encrypt(&mut lane, session, &many);
        assert_eq!(drain(&mut lane), 0, "1024 bytes are whole blocks");
        let charged_ns = function.counters().work_ns - before;
        assert!(charged_ns > 8_000, "{charged_ns} ns, round {round}");
    }
}
