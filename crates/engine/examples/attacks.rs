//! What an honest tenant gets of a worker beside a hostile one of the same weight: its
//! requests a second over half of those that it gets alone, interleaved; and how long a
//! small request of a third tenant takes meanwhile. The worker has a CPU, and all clients
//! share one: what a hostile client does there takes of the honest one's time, too, so it
//! makes keys and lanes now and then only.
//!
//! `cargo run --release -p lockgate-engine --example attacks [PAIRS] [ATTACK]`

mod common;

use std::error::Error;
use std::time::{Duration, Instant};

use common::{CLIENT_CPU, WORKER_CPU, argument, pinned};
use crypto::{Algorithm, generate_key};
use lockgate_engine::{
    Call, CallError, CryptoEngine, CryptoFunction, CryptoLane, FunctionConfig, LaneConfig,
    SessionId, Span, WorkerConfig,
};
use policy::{Moderation, Quota};
use trial::stats::median_interval;

type Outcome<T> = Result<T, Box<dyn Error>>;

const ROUND: Duration = Duration::from_millis(60);
const SLAB: usize = 1 << 20;
const LONG: Duration = Duration::from_secs(10);

/// The spans of a request; source, destination, additional data, tag.
type Shape = (Vec<Span>, Vec<Span>, Span, Span);

struct Tenant {
    function: CryptoFunction,
    lane: CryptoLane,
    algorithm: Algorithm,
    sessions: Vec<SessionId>,
    shapes: Vec<Shape>,
    turn: usize,
    turns: usize,
    late: usize,
    fills: usize,
    done: u64,
}

impl Tenant {
    fn new(
        engine: &CryptoEngine,
        algorithm: Algorithm,
        shapes: &[Shape],
        lane: LaneConfig,
        quota: Quota,
    ) -> Outcome<Self> {
        let function = engine.function(FunctionConfig {
            quota,
            ..FunctionConfig::default()
        })?;
        let mut own = Self {
            lane: function.lane(0, lane, SLAB, 64)?,
            function,
            algorithm,
            sessions: Vec::new(),
            shapes: shapes.to_vec(),
            turn: 0,
            turns: 0,
            late: 0,
            fills: 0,
            done: 0,
        };
        own.attach()?;
        Ok(own)
    }

    fn attach(&mut self) -> Outcome<()> {
        let key = generate_key(self.algorithm);
        let session = self.function.session(self.algorithm, &key)?;
        self.sessions.push(self.lane.attach(&session)?);
        Ok(())
    }

    fn enqueue(&mut self) -> Result<(), CallError> {
        let (source, destination, aad, tag) = &self.shapes[self.turn % self.shapes.len()];
        let call = Call {
            session: self.sessions[self.turn % self.sessions.len()],
            operation: self.algorithm.operations()[self.turn % self.algorithm.operations().len()],
            source,
            destination,
            iv: [1; 16],
            aad: *aad,
            tag: *tag,
        };
        self.turn += 1;
        self.lane.enqueue(&call, 0)
    }

    fn fill(&mut self) -> Outcome<()> {
        self.done += self.lane.reap(usize::MAX, |_| ()) as u64;
        self.late += usize::from(self.lane.in_flight() == 0);
        self.fills += 1;
        // Not this many that the honest client, on the same CPU, is kept.
        for _ in 0..self.lane.room().min(32) {
            self.enqueue()?;
        }
        self.lane.kick();
        Ok(())
    }

    fn finish(&mut self) -> Outcome<()> {
        while self.lane.in_flight() > 0 {
            self.lane.wait(1, LONG)?;
            self.lane.reap(usize::MAX, |_| ());
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Also {
    Nothing,
    Hoards,
    Resets,
    Keys,
    Lanes,
}

struct Attack {
    name: &'static str,
    algorithm: Algorithm,
    shapes: Vec<Shape>,
    lane: LaneConfig,
    quota: Quota,
    also: Also,
}

fn span(offset: usize, len: usize) -> Span {
    Span::slab(offset, len)
}

fn hashes(source: Vec<Span>) -> Shape {
    (source, vec![span(SLAB - 64, 32)], Span::EMPTY, Span::EMPTY)
}

fn apart(source: Vec<Span>, destination: Vec<Span>) -> Shape {
    (source, destination, Span::EMPTY, Span::EMPTY)
}

fn plain(bytes: usize) -> Shape {
    apart(vec![span(0, bytes)], vec![span(0, bytes)])
}

/// Lists of 64 segments, those of the source between those of the destination.
fn woven(bytes: usize, shift: usize) -> Shape {
    let list = |from| {
        (0..64)
            .map(|at| span(from + at * 2 * bytes, bytes))
            .collect()
    };
    apart(list(0), list(shift))
}

fn lane(depth: usize, moderation: Moderation, piece_bytes: Option<usize>) -> LaneConfig {
    LaneConfig {
        depth,
        moderation,
        piece_bytes,
        ..LaneConfig::default()
    }
}

impl Attack {
    /// Through a polled lane, without a quota.
    fn new(name: &'static str, algorithm: Algorithm, shapes: Vec<Shape>) -> Self {
        Self {
            name,
            algorithm,
            shapes,
            lane: lane(64, Moderation::Polled, None),
            quota: Quota::UNLIMITED,
            also: Also::Nothing,
        }
    }

    fn through(self, lane: LaneConfig) -> Self {
        Self { lane, ..self }
    }

    fn also(self, also: Also) -> Self {
        Self { also, ..self }
    }
}

fn attacks() -> Outcome<Vec<Attack>> {
    use Algorithm::{Aes128Cbc, Aes128Ctr, Aes128Gcm, Aes256Gcm, Sha256, Sha512, X25519};
    use Moderation::{Each, Polled};
    let tag = span(SLAB - 128, 16);
    let aad = vec![(vec![], vec![], span(0, 65_536), tag)];
    let sealed = vec![(vec![span(0, 64)], vec![span(0, 64)], Span::EMPTY, tag)];
    let (short, odd) = (plain(16), plain(17));
    let mixed = vec![
        plain(16),
        woven(1, 1),
        plain(65_536),
        plain(17),
        woven(16, 3),
    ];
    let one = |bytes| vec![hashes(vec![span(0, bytes)])];
    let repeats = |bytes, count| vec![hashes(vec![span(0, bytes); count])];
    let point = vec![apart(vec![span(0, 32)], vec![span(32, 32)])];
    let limited = Attack {
        quota: Quota::UNLIMITED.and_bytes(50_000_000)?,
        ..Attack::new("quota, additional data", Aes128Gcm, aad.clone())
    };
    let deep = lane(4096, Polled, None);
    Ok(vec![
        Attack::new("an equal", Sha256, one(4096)),
        Attack::new("largest requests", Sha256, one(65_536)),
        Attack::new("the same memory 64 times", Sha256, repeats(1024, 64)),
        Attack::new("largest, in pieces", Sha512, one(65_536)).through(lane(
            64,
            Polled,
            Some(4096),
        )),
        Attack::new("additional data", Aes128Gcm, aad),
        limited,
        Attack::new("woven lists", Aes128Ctr, vec![woven(1, 1)]),
        Attack::new("lists that are refused", Aes128Ctr, vec![woven(16, 3)]),
        Attack::new("lengths that are refused", Aes128Cbc, vec![odd]),
        Attack::new("a little of all", Aes128Ctr, mixed),
        Attack::new("public keys", X25519, point),
        Attack::new("a lane of 4096", Aes128Ctr, vec![short.clone()]).through(deep),
        Attack::new("notify me of each", Aes128Ctr, vec![short.clone()])
            .through(lane(64, Each, None)),
        Attack::new("never reaps", Sha256, repeats(64, 16))
            .through(deep)
            .also(Also::Hoards),
        Attack::new("resets", Sha256, repeats(64, 64)).also(Also::Resets),
        Attack::new("keys that come and go", Aes256Gcm, sealed).also(Also::Keys),
        Attack::new("lanes that come and go", Aes128Ctr, vec![short]).also(Also::Lanes),
    ])
}

fn attack(tenant: &mut Tenant, kind: &Attack) -> Outcome<()> {
    tenant.turns += 1;
    match kind.also {
        Also::Hoards => {
            if tenant.lane.room() > 0 {
                tenant.fill()?;
            }
            return Ok(());
        }
        Also::Resets if tenant.turn.is_multiple_of(64) => {
            tenant.function.reset(LONG)?;
            tenant.sessions.clear();
            tenant.attach()?;
        }
        // Refused where it has as many as it may have.
        Also::Keys if tenant.turns.is_multiple_of(8) && tenant.attach().is_ok() => {
            let old = tenant.sessions.remove(0);
            tenant.lane.detach(old)?;
        }
        Also::Lanes => {
            // As many as it may have, until the worker has let go of one.
            if tenant.turns.is_multiple_of(32)
                && let Ok(new) = tenant.function.lane(0, kind.lane, 4096, 64)
            {
                tenant.lane = new;
                tenant.sessions.clear();
                tenant.attach()?;
            }
        }
        _ => {}
    }
    tenant.fill()
}

/// Honest requests/s, and the latencies of the small ones, µs.
fn round(
    honest: &mut Tenant,
    small: &mut Tenant,
    mut hostile: Option<(&mut Tenant, &Attack)>,
    latencies: &mut Vec<f64>,
) -> Outcome<f64> {
    let (begin, before) = (Instant::now(), honest.done);
    let mut submitted = Instant::now();
    while begin.elapsed() < ROUND {
        if let Some((tenant, kind)) = &mut hostile {
            attack(tenant, kind)?;
        }
        honest.fill()?;
        if small.lane.in_flight() == 0 {
            submitted = Instant::now();
            small.enqueue()?;
            small.lane.kick();
        } else if small.lane.reap(1, |_| ()) > 0 {
            latencies.push(submitted.elapsed().as_secs_f64() * 1e6);
        }
    }
    let per_s = (honest.done - before) as f64 / begin.elapsed().as_secs_f64();
    honest.finish()?;
    small.finish()?;
    if let Some((tenant, _)) = hostile {
        tenant.finish()?;
    }
    Ok(per_s)
}

fn measure(kind: &Attack, pairs: usize) -> Outcome<()> {
    let worker = WorkerConfig {
        cpu: Some(WORKER_CPU),
        ..WorkerConfig::default()
    };
    let engine = CryptoEngine::start(crypto::by_name("aws-lc")?, &[worker])?;
    let polled = lane(32, Moderation::Polled, None);
    let of =
        |algorithm, shape, lane| Tenant::new(&engine, algorithm, &[shape], lane, Quota::UNLIMITED);
    let mut honest = of(Algorithm::Sha256, hashes(vec![span(0, 4096)]), polled)?;
    let mut small = of(
        Algorithm::Aes128Ctr,
        plain(64),
        lane(1, Moderation::Polled, None),
    )?;
    let (mut ratios, mut quiet, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    let mut late = 0.0;
    for _ in 0..pairs {
        let alone = round(&mut honest, &mut small, None, &mut quiet)?;
        let (algorithm, shapes) = (kind.algorithm, &kind.shapes);
        let mut tenant = Tenant::new(&engine, algorithm, shapes, kind.lane, kind.quota)?;
        let hostile = Some((&mut tenant, kind));
        let before = (honest.late, honest.fills);
        let own = round(&mut honest, &mut small, hostile, &mut beside)?;
        ratios.push(own / (alone / 2.0));
        late += (honest.late - before.0) as f64 / (honest.fills - before.1).max(1) as f64;
    }
    let interval = median_interval(&ratios)?;
    let tail = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        format!("{:.0}/{:.0}", at(0.5), at(0.99))
    };
    println!(
        "{:26} {:.3} [{:.3}, {:.3}]   its client late {:3.0}%   small request p50/p99 µs: alone {}, beside {}",
        kind.name,
        interval.estimate,
        interval.low,
        interval.high,
        late / pairs as f64 * 100.0,
        tail(&mut quiet),
        tail(&mut beside)
    );
    Ok(())
}

fn main() -> Outcome<()> {
    let (pairs, only): (usize, String) = (argument(1, "9"), argument(2, ""));
    for kind in attacks()?.iter().filter(|kind| kind.name.contains(&only)) {
        pinned(CLIENT_CPU, || {
            measure(kind, pairs).map_err(|error| error.to_string())
        })?;
    }
    Ok(())
}
