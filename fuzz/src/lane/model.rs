//! What must be true of an engine and its lanes after each step.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crypto::{Algorithm, Operation, Status};
use engine::{
    Call, CallError, Closed, Completion, CryptoEngine, CryptoLane, Hint, LaneConfig, Order,
    RegionId, Session, SessionId, Span, SubmitError, WaitError, WorkerConfig,
};
use policy::{Moderation, Settings};
use sys::memory::{Mapping, sealed};

use super::super::bytes::Bytes;
use super::super::crypto_job::material;

/// Nothing an input asks for takes that long: reaching it is a lost wake-up.
const LONG: Duration = Duration::from_secs(8);

const SLAB_BYTES: usize = 2048;
const REGION_BYTES: usize = 300;
const SEGMENTS: usize = 3;
const LANES_MAX: usize = 3;

/// Of which an engine has one session each.
const ALGORITHMS: [Algorithm; 4] = [
    Algorithm::Aes128Cbc,
    Algorithm::Aes128Gcm,
    Algorithm::Aes256Xts,
    Algorithm::Sha256,
];

/// An engine, its lanes, and what is known to be in flight on each.
pub(super) struct Model {
    engine: Option<CryptoEngine>,
    sessions: Vec<Arc<Session>>,
    lanes: Vec<Client>,
    tokens: u64,
}

/// A lane and the tokens in flight on it, oldest first.
struct Client {
    lane: CryptoLane,
    sessions: Vec<SessionId>,
    regions: Vec<RegionId>,
    in_flight: VecDeque<u64>,
}

impl Model {
    pub(super) fn start(input: &mut Bytes<'_>) -> Self {
        let config = WorkerConfig {
            idle_spin: Some(Duration::from_micros(input.below(2) as u64 * 20)),
            is_core_shared: true,
            ..WorkerConfig::default()
        };
        let workers = vec![config; 1 + input.below(2)];
        let backend = crypto::by_name("aws-lc").expect("it is linked in");
        let engine = CryptoEngine::start(backend, &workers).expect("threads can be had");
        let sessions = ALGORITHMS.map(|algorithm| {
            let made = engine.session(algorithm, &material(algorithm));
            made.expect("a good key")
        });
        let mut model = Self {
            engine: Some(engine),
            sessions: sessions.into(),
            lanes: Vec::new(),
            tokens: 0,
        };
        model.open(input);
        model
    }

    /// Does one thing, and looks whether all still is as it must be.
    pub(super) fn step(&mut self, input: &mut Bytes<'_>) {
        let action = input.below(18);
        match action {
            0 => return self.open(input),
            1 => return self.shut_down(input),
            _ => {}
        }
        if self.lanes.is_empty() {
            return;
        }
        let which = input.below(self.lanes.len());
        let client = &mut self.lanes[which];
        match action {
            2 => client.session_comes_or_goes(&self.sessions, input),
            3 => client.region_comes_or_goes(input),
            4 if input.below(4) == 0 => drop(self.lanes.swap_remove(which)),
            4 | 5 => client.lane.kick(),
            6 | 7 => client.reap(input.below(8)),
            8 => client.wait(input.below(80), pause(input)),
            9 => client.wait_to_refill(pause(input)),
            10 => client.poll(),
            16 | 17 => client.lane.watch().set(settings(input)),
            _ => client.call(&mut self.tokens, action < 14, input),
        }
        self.check();
    }

    fn open(&mut self, input: &mut Bytes<'_>) {
        let Some(engine) = self
            .engine
            .as_ref()
            .filter(|_| self.lanes.len() < LANES_MAX)
        else {
            return;
        };
        let (depth, moderation) = (1 + input.below(70), input.pick(&Moderation::ALL));
        let config = LaneConfig {
            depth,
            moderation,
            settings: settings(input),
            piece_bytes: [None, Some(512)][input.below(2)],
            order: input.pick(&[Order::Any, Order::Fifo]),
            is_core_shared: moderation != Moderation::Hybrid,
            ..LaneConfig::default()
        };
        let worker = input.below(engine.workers());
        let mut lane = engine
            .lane(worker, config, SLAB_BYTES, SEGMENTS)
            .expect("the engine runs and the depth is in range");
        let attached = self.sessions.iter().map(|session| lane.attach(session));
        let sessions = attached.map(|id| id.expect("of this engine")).collect();
        self.lanes.push(Client {
            lane,
            sessions,
            regions: vec![RegionId::SLAB],
            in_flight: VecDeque::new(),
        });
    }

    fn shut_down(&mut self, input: &mut Bytes<'_>) {
        if input.below(4) == 0 {
            self.engine = None;
            self.check();
        }
    }

    fn check(&self) {
        for client in &self.lanes {
            assert_eq!(client.lane.in_flight(), client.in_flight.len());
            assert_eq!(
                client.lane.room(),
                client.lane.config().depth - client.in_flight.len()
            );
            let expected = self.engine.is_none().then_some(Closed::Shutdown);
            assert_eq!(client.lane.closed(), expected);
        }
    }

    /// Everything in flight comes back.
    pub(super) fn finish(mut self) {
        for client in &mut self.lanes {
            while !client.in_flight.is_empty() {
                let began = Instant::now();
                client.wait(usize::MAX, LONG);
                assert!(
                    began.elapsed() < LONG,
                    "stranded: {:?}",
                    client.lane.counters()
                );
                client.reap(usize::MAX);
            }
            let counters = client.lane.counters();
            assert_eq!(counters.submitted, counters.reaped);
        }
        self.check();
    }
}

impl Client {
    fn session_comes_or_goes(&mut self, sessions: &[Arc<Session>], input: &mut Bytes<'_>) {
        let id = input.pick(&self.sessions);
        match self.lane.detach(id) {
            Ok(()) => {
                let again = self.lane.attach(&sessions[input.below(sessions.len())]);
                self.sessions.push(again.expect("of this engine"));
            }
            // It stays among those that are picked from.
            Err(error) => assert_eq!(error, CallError::UnknownSession(id)),
        }
    }

    /// Regions that are gone stay among those that are picked from.
    fn region_comes_or_goes(&mut self, input: &mut Bytes<'_>) {
        if self.regions.len() == 12 {
            return;
        }
        let memory = match input.below(3) {
            0 => Mapping::new(REGION_BYTES),
            1 => {
                let memory = sealed(REGION_BYTES).expect("a page of memory");
                Ok(Mapping::shared(memory.as_fd(), REGION_BYTES).expect("it is sealed"))
            }
            _ => {
                let id = input.pick(&self.regions);
                return match self.lane.unregister(id) {
                    Ok(()) => assert_ne!(id, RegionId::SLAB),
                    Err(CallError::Slab) => assert_eq!(id, RegionId::SLAB),
                    Err(error) => assert_eq!(error, CallError::UnknownRegion(id)),
                };
            }
        };
        let memory = Arc::new(memory.expect("a page of memory"));
        let made = self.lane.register(memory).expect("few regions");
        assert!(!self.regions.contains(&made));
        self.regions.push(made);
    }

    fn reap(&mut self, max: usize) {
        let is_fifo = self.lane.config().order == Order::Fifo;
        let is_open = self.lane.closed().is_none();
        let in_flight = &mut self.in_flight;
        let count = self.lane.reap(max, |Completion { token, status }| {
            let place = in_flight.iter().position(|&other| other == token);
            let place = place.unwrap_or_else(|| panic!("{token} is not in flight"));
            assert!(place == 0 || !is_fifo, "{token} overtook another");
            in_flight.remove(place);
            assert_ne!(status, Status::WorkerFailed);
            assert_ne!(status, Status::BackendFailed);
            assert!(status != Status::Cancelled || !is_open, "{token}");
        });
        assert!(count <= max);
    }

    fn wait(&mut self, at_least: usize, limit: Duration) {
        let result = self.lane.wait(at_least, limit);
        self.has_waited(result, limit);
    }

    fn wait_to_refill(&mut self, limit: Duration) {
        let result = self.lane.wait_to_refill(limit);
        self.has_waited(result, limit);
    }

    fn has_waited(&self, result: Result<usize, WaitError>, limit: Duration) {
        match result {
            Ok(there) => assert!((1..=self.in_flight.len()).contains(&there), "{there}"),
            Err(WaitError::Idle) => assert!(self.in_flight.is_empty()),
            Err(WaitError::TimedOut) => {
                assert!(!self.in_flight.is_empty() && limit < LONG, "stranded");
            }
        }
    }

    fn poll(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(there) = self.lane.poll_ready(&mut context) {
            assert!(there <= self.in_flight.len());
        }
    }

    fn call(&mut self, tokens: &mut u64, is_submitted: bool, input: &mut Bytes<'_>) {
        let source = self.spans(input);
        let destination = match input.below(3) {
            0 => self.spans(input),
            _ => source.clone(),
        };
        let call = Call {
            session: input.pick(&self.sessions),
            operation: input.pick(&Operation::ALL),
            source: &source,
            destination: &destination,
            iv: [input.byte(); 16],
            aad: self.extra(input),
            tag: self.extra(input),
        };
        *tokens += 1;
        let result = if is_submitted {
            self.lane.submit(&call, *tokens)
        } else {
            let hints = [Hint::None, Hint::Urgent, Hint::Barrier];
            self.lane.enqueue_with(&call, *tokens, input.pick(&hints))
        };
        let depth = self.lane.config().depth;
        match result {
            Ok(()) => self.in_flight.push_back(*tokens),
            Err(CallError::Submit(SubmitError::Full)) => assert_eq!(self.in_flight.len(), depth),
            Err(CallError::Submit(SubmitError::Closed(closed))) => {
                assert_eq!(self.lane.closed(), Some(closed));
            }
            Err(CallError::Segments { count, .. }) => assert!(count > SEGMENTS),
            Err(
                CallError::Submit(SubmitError::Draining)
                | CallError::TooLong { .. }
                | CallError::ForeignSession
                | CallError::SessionEnded
                | CallError::Regions
                | CallError::Sessions
                | CallError::Slab
                | CallError::PublicKey { .. },
            ) => panic!("{result:?}"),
            Err(
                CallError::Bounds(_) | CallError::UnknownRegion(_) | CallError::UnknownSession(_),
            ) => {}
        }
    }

    fn spans(&self, input: &mut Bytes<'_>) -> Vec<Span> {
        let count = match input.below(8) {
            few @ 0..4 => few,
            4 => SEGMENTS + 1,
            _ => 1,
        };
        (0..count).map(|_| self.span(input)).collect()
    }

    fn span(&self, input: &mut Bytes<'_>) -> Span {
        let shape = input.below(16);
        Span {
            region: input.pick(&self.regions),
            offset: match shape {
                0 => usize::MAX - input.below(32),
                1 => input.below(2 * SLAB_BYTES),
                _ => input.below(256),
            },
            len: match shape {
                2 => usize::MAX - input.below(32),
                3 => input.below(2 * SLAB_BYTES),
                4 => input.below(40),
                _ => input.below(16) * 16,
            },
        }
    }

    fn extra(&self, input: &mut Bytes<'_>) -> Span {
        match input.below(4) {
            0 => self.span(input),
            1 => Span::slab(SLAB_BYTES - 16, 16),
            _ => Span::EMPTY,
        }
    }
}

fn pause(input: &mut Bytes<'_>) -> Duration {
    Duration::from_micros(input.below(64) as u64 * 8)
}

/// Any, with times far shorter than `LONG`.
fn settings(input: &mut Bytes<'_>) -> Settings {
    let (count, timeout_us) = (1 + input.below(80), 1 + input.below(256) * 4);
    let gathered = Settings::coalesce(count as u32, timeout_us as u32).expect("in range");
    match input.below(4) {
        0 => Settings::UNLIMITED,
        1 => gathered,
        2 => gathered.and_cap(1000).expect("a cap"),
        _ => Settings::cap(1000 << input.below(10)).expect("a cap"),
    }
}
