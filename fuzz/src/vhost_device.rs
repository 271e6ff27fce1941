//! A device on an engine of its own, for inputs that play its front-end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crypto::Algorithm;
use engine::{CryptoEngine, FunctionConfig, KeyLimit, RequestLimit, WorkerConfig};
use policy::Moderation;
use vhost::front::{Driver, FrontConfig, FrontEnd, Interrupts, Request, SessionSpec};
use vhost::{Device, DeviceConfig, SocketConfig};
use wire::virtio_crypto::{Header, Opcode, Status};

/// Nothing takes that long: reaching it is a hang.
pub(crate) const LONG: Duration = Duration::from_secs(15);

/// Lanes that a virtual function may make in one burst are few more.
const STARTS_MAX: u32 = 200;

/// Queues that an input may start, the good one of its end among them.
const STARTS_AN_INPUT: u32 = 2 * RESTARTS_MAX + 3;

/// Inputs of which one is followed by a good front-end: what a device cannot do after one
/// of them, it cannot do after those that follow.
const INPUTS_A_CHECK: u32 = 4;

pub(crate) const RESTARTS_MAX: u32 = 4;

pub(crate) struct Bench {
    engine: Arc<CryptoEngine>,
    device: Option<Device>,
    folder: PathBuf,
    starts: u32,
    inputs: u32,
}

thread_local! {
    static BENCH: std::cell::RefCell<Option<Bench>> = const { std::cell::RefCell::new(None) };
}

/// One bench a thread: an input of a few messages is no reason for another engine.
pub(crate) fn with_device(body: impl FnOnce(&mut Bench)) {
    BENCH.with_borrow_mut(|bench| body(bench.get_or_insert_with(Bench::start)));
}

impl Bench {
    fn start() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let backend = crypto::by_name("aws-lc").expect("it is built in");
        let worker = WorkerConfig {
            is_core_shared: true,
            ..WorkerConfig::default()
        };
        let name = format!(
            "lockgate-fuzz-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        Self {
            engine: Arc::new(CryptoEngine::start(backend, &[worker]).expect("a thread can be had")),
            device: None,
            folder,
            starts: 0,
            inputs: 0,
        }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join("vf.sock")
    }

    /// A device that may start queues.
    pub(crate) fn device(&mut self) -> &Device {
        self.starts += STARTS_AN_INPUT;
        if self.device.is_none() || self.starts > STARTS_MAX {
            self.starts = STARTS_AN_INPUT;
            drop(self.device.take());
            self.device = Some(self.another());
        }
        self.device.as_ref().expect("it was made")
    }

    fn another(&self) -> Device {
        let function = FunctionConfig {
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
        let config = DeviceConfig {
            socket: SocketConfig {
                path: self.socket(),
                mode: 0o600,
                owner: None,
                group: None,
            },
            queues: 2,
            workers: vec![0],
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
        };
        let function = self.engine.function(function).expect("few are there");
        Device::start(function, config, Arc::new(|_| {})).expect("the folder is ours")
    }

    /// Whatever came before, the next front-end is served, and nothing is left.
    pub(crate) fn serves(&mut self) {
        let device = self.device.as_ref().expect("it was made");
        let begin = Instant::now();
        loop {
            let counters = device.counters();
            if !counters.is_connected && counters.sessions == 0 {
                break;
            }
            assert!(begin.elapsed() < LONG, "{counters:?}");
            std::thread::yield_now();
        }
        self.inputs += 1;
        if self.inputs % INPUTS_A_CHECK != 1 {
            return;
        }
        let mut front = FrontEnd::connect(&self.socket(), config(8)).expect("it serves");
        let mut driver = front.start(1).expect("it serves");
        encrypts(&mut front, &mut driver);
        assert_eq!(self.engine.counters(0).panics, 0);
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        drop(self.device.take());
        // What cannot be removed is not worth a panic.
        let _ = std::fs::remove_dir_all(&self.folder);
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
}
