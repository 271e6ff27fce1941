//! An engine and a device on it, for inputs that play its front-end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crypto::Algorithm;
use engine::{CryptoEngine, CryptoFunction, FunctionConfig, KeyLimit, RequestLimit, WorkerConfig};
use policy::Moderation;
use vhost::front::{Driver, FrontConfig, FrontEnd, Interrupts, Request, SessionSpec};
use vhost::{DeviceConfig, HostLimits, Limits, SocketConfig, Supervisor};
use wire::virtio_crypto::{Header, Opcode, Status};

/// Nothing takes that long: reaching it is a hang.
pub(crate) const LONG: Duration = Duration::from_secs(15);

/// Lanes that a virtual function may make in one burst are few more.
const STARTS_MAX: u32 = 200;

/// A device on an engine of its own. It is kept from input to input.
pub(crate) struct Bench<D> {
    pub(crate) engine: Arc<CryptoEngine>,
    device: Option<D>,
    starts: u32,
    pub(crate) inputs: u32,
}

pub(crate) fn start_engine() -> Arc<CryptoEngine> {
    let backend = crypto::by_name("aws-lc").expect("it is built in");
    let worker = WorkerConfig {
        is_core_shared: true,
        ..WorkerConfig::default()
    };
    Arc::new(CryptoEngine::start(backend, &[worker]).expect("a thread can be had"))
}

impl<D> Bench<D> {
    pub(crate) fn new(engine: Arc<CryptoEngine>) -> Self {
        Self {
            engine,
            device: None,
            starts: 0,
            inputs: 0,
        }
    }

    /// A device that may start so many queues: another one when this one might not.
    pub(crate) fn take(&mut self, starts: u32, another: impl FnOnce(&Self) -> D) -> &mut D {
        self.starts += starts;
        if self.device.is_none() || self.starts > STARTS_MAX {
            // Its first one, too.
            self.starts = starts + 1;
            self.end();
            self.device = Some(another(self));
        }
        self.device.as_mut().expect("it was made")
    }

    /// Has the device start one more queue.
    pub(crate) fn renew(&mut self, with: impl FnOnce(D) -> D) {
        self.starts += 1;
        self.device = self.device.take().map(with);
    }

    /// Whatever comes next has another device.
    pub(crate) fn end(&mut self) {
        drop(self.device.take());
    }

    pub(crate) fn function(&self) -> CryptoFunction {
        let config = FunctionConfig {
            request_max: RequestLimit {
                bytes: 1 << 16,
                segments: 20,
            },
            keys_max: KeyLimit {
                sessions: 8,
                bytes: 1 << 14,
            },
            ..FunctionConfig::default()
        };
        self.engine.function(config).expect("few are there")
    }

    pub(crate) fn supervisor(&self) -> Supervisor {
        let supervisor = Supervisor::start(self.engine.overseer(), HostLimits::default());
        supervisor.expect("a thread more")
    }
}

pub(crate) fn device(path: PathBuf) -> DeviceConfig {
    DeviceConfig {
        socket: SocketConfig {
            path,
            mode: 0o600,
            owner: None,
            group: None,
        },
        queues: 2,
        workers: vec![0],
        quarantine: Vec::new(),
        // Inputs come as fast as they can.
        limits: Limits {
            messages_per_s: 1_000_000_000,
            connections_per_s: 1_000_000_000,
            ..Limits::default()
        },
        depth: 8,
        segments_max: 20,
        piece_bytes: Some(engine::PIECE_BYTES_MIN),
        moderation: Moderation::Armed,
        allowed: vec![
            Algorithm::Aes128Cbc,
            Algorithm::Sha256,
            Algorithm::HmacSha256,
        ],
        offers_config: true,
    }
}

pub(crate) fn config(queue_size: u16) -> FrontConfig {
    FrontConfig {
        queues: 2,
        queue_size,
        data_bytes: 1 << 16,
        regions: 2,
        interrupts: Interrupts::EventIndex,
        ..FrontConfig::default()
    }
}

/// Waits for all that is in flight; the driver panics over what was not.
pub(crate) fn finish(driver: &mut Driver) -> Vec<Option<Status>> {
    let mut ends = Vec::new();
    while driver.in_flight() > 0 {
        assert!(driver.wait(LONG), "{} hang", driver.in_flight());
        driver.reap(|done| ends.push(done.status));
    }
    ends
}

pub(crate) fn encrypts(front: &mut FrontEnd, driver: &mut Driver) {
    let spec = SessionSpec::Cipher {
        encrypts: true,
        key: &[7; 16],
    };
    let session = front.open_session(&spec).expect("there is room for one");
    let at = front.data_at();
    let header = Header {
        opcode: Opcode::CipherEncrypt,
        session,
        iv_bytes: 16,
        source_bytes: 16,
        destination_bytes: 16,
    };
    let request = Request {
        header,
        iv: [0; 16],
        source: &[(at, 16)],
        destination: &[(at, 16)],
    };
    driver.submit(&request, 0).expect("the queue is empty");
    assert_eq!(finish(driver), [Some(Status::Ok)]);
    front.close_session(session).expect("it serves");
}
