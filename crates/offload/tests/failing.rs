//! A back-end that fails: nothing of what it did not seal leaves, and what was sent arrives
//! all the same, sent again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crypto::{Algorithm, Backend, Job, Key, KeyError, KeyMaterial, Kind, Operation, Status};

use crate::common::{self, connect, echo, party, round_trip, run};
use crate::faults::{Relay, WORD};

/// Of calls that seal packets, one fails.
const ONE_IN: u64 = 8;

/// The kernels, of whose calls some end at once and leave what is there.
pub struct Failing {
    inner: Arc<dyn Backend>,
    calls: AtomicU64,
}

impl Failing {
    pub fn kernels() -> Arc<dyn Backend> {
        Arc::new(Self {
            inner: crypto::by_name("kernels").unwrap(),
            calls: AtomicU64::new(0),
        })
    }
}

impl Backend for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn version(&self) -> String {
        self.inner.version()
    }

    fn instructions(&self) -> String {
        self.inner.instructions()
    }

    fn supports(&self, kind: Kind) -> bool {
        self.inner.supports(kind)
    }

    fn width(&self, kind: Kind) -> usize {
        self.inner.width(kind)
    }

    fn key(&self, algorithm: Algorithm, material: &KeyMaterial) -> Result<Box<dyn Key>, KeyError> {
        self.inner.key(algorithm, material)
    }

    unsafe fn process(&self, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
        let seals =
            matches!(kind.algorithm, Algorithm::Packets(_)) && kind.operation == Operation::Encrypt;
        if seals && self.calls.fetch_add(1, Ordering::Relaxed) % ONE_IN == ONE_IN - 1 {
            statuses.fill(Status::BackendFailed);
            return;
        }
        // SAFETY: forwarded from the caller.
        unsafe { self.inner.process(kind, jobs, statuses) }
    }
}

#[test]
fn what_fails_to_be_sealed_never_leaves_and_what_was_sent_arrives() {
    let text: Vec<u8> = WORD.iter().copied().cycle().take(400_000).collect();
    for on_worker in [false, true] {
        run(async {
            let kind = common::Kind::Failing { on_worker };
            let (server, client) = (party(kind, |_| {}), party(kind, |_| {}));
            echo(&server.endpoint);
            let relay = Relay::start(server.address(), 1);
            let connection = connect(&client, relay.address).await;
            for _ in 0..3 {
                assert!(round_trip(&connection, &text).await == text);
            }
            assert_eq!(relay.leaked(), 0, "texts that left unsealed");
            for counts in [server.counts(), client.counts()] {
                assert!(counts.not_sealed > 0, "{counts:?}");
                assert!(counts.sealed_together > 0, "{counts:?}");
            }
        });
    }
}
