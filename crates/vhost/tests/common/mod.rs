//! A device with an engine, and what the front-ends of the tests do with it.

pub mod raw;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crypto::{Algorithm, KeyMaterial, Operation, RsaBits, RsaScheme};
use engine::{CryptoEngine, FunctionConfig, RequestLimit, WorkerConfig};
use lockgate_vhost::front::{Done, Driver, FrontConfig, FrontEnd, Request, SessionSpec};
use lockgate_vhost::{
    Device, DeviceConfig, HostLimits, Limits, Notice, Notices, REQUEST_BYTES_MAX, SocketConfig,
    Supervisor,
};
use policy::Moderation;
use tempfile::TempDir;
use wire::virtio_crypto::{Header, Opcode, Status};

pub use lockgate_vhost::front::{CheckedLoad as Load, expected, pattern};

/// Long enough for any host; a test that needs it fails.
pub const LONG: Duration = Duration::from_secs(20);

pub const SEGMENTS_MAX: usize = 260;

pub struct Rig {
    pub device: Option<Device>,
    pub notices: Arc<Mutex<Vec<String>>>,
    pub engine: Arc<CryptoEngine>,
    pub supervisor: Supervisor,
    /// Whether who is told of the next connection panics.
    pub panics: Arc<AtomicBool>,
    config: DeviceConfig,
    folder: TempDir,
}

pub fn everything() -> Vec<Algorithm> {
    let mut all = vec![
        Algorithm::Aes128Cbc,
        Algorithm::Aes192Cbc,
        Algorithm::Aes256Cbc,
        Algorithm::Sha1,
        Algorithm::Sha256,
        Algorithm::Sha384,
        Algorithm::Sha512,
        Algorithm::HmacSha256,
    ];
    let bits = [RsaBits::B2048, RsaBits::B3072, RsaBits::B4096];
    all.extend(bits.map(|bits| Algorithm::Rsa(bits, RsaScheme::Pkcs1)));
    all
}

pub fn function() -> FunctionConfig {
    FunctionConfig {
        request_max: RequestLimit {
            bytes: REQUEST_BYTES_MAX,
            segments: SEGMENTS_MAX,
        },
        ..FunctionConfig::default()
    }
}

pub fn engine() -> Arc<CryptoEngine> {
    let backend = crypto::by_name("auto").unwrap();
    let worker = WorkerConfig {
        is_core_shared: true,
        stand_ins: 1,
        ..WorkerConfig::default()
    };
    Arc::new(CryptoEngine::start(backend, &[worker]).unwrap())
}

impl Rig {
    pub fn new() -> Self {
        Self::with(engine(), function(), |_| {})
    }

    pub fn with(
        engine: Arc<CryptoEngine>,
        function: FunctionConfig,
        change: impl FnOnce(&mut DeviceConfig),
    ) -> Self {
        let folder = TempDir::new().unwrap();
        let socket = SocketConfig {
            path: folder.path().join("vf.sock"),
            mode: 0o600,
            owner: None,
            group: None,
        };
        let mut config = DeviceConfig {
            socket,
            queues: 2,
            workers: vec![0],
            quarantine: Vec::new(),
            limits: Limits::default(),
            depth: 256,
            segments_max: SEGMENTS_MAX,
            piece_bytes: Some(16 << 10),
            moderation: Moderation::Armed,
            allowed: everything(),
            offers_config: true,
        };
        change(&mut config);
        let notices = Arc::new(Mutex::new(Vec::new()));
        let panics = Arc::new(AtomicBool::new(false));
        let function = engine.function(function).unwrap();
        let supervisor = Supervisor::start(engine.overseer(), HostLimits::default()).unwrap();
        let device = Device::start(
            function,
            config.clone(),
            keep(&notices, &panics),
            &supervisor,
        );
        Self {
            panics,
            supervisor,
            config,
            device: Some(device.unwrap()),
            notices,
            engine,
            folder,
        }
    }

    /// Another device at the same place.
    pub fn restart(&mut self) {
        drop(self.device.take());
        let function = self.engine.function(function()).unwrap();
        let (config, notices) = (self.config.clone(), keep(&self.notices, &self.panics));
        let device = Device::start(function, config, notices, &self.supervisor);
        self.device = Some(device.unwrap());
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("vf.sock")
    }

    pub fn device(&self) -> &Device {
        self.device.as_ref().unwrap()
    }

    pub fn front(&self, config: FrontConfig) -> FrontEnd {
        FrontEnd::connect(&self.socket(), config).unwrap()
    }

    /// What the device told of connections that ended badly, and sessions refused.
    pub fn complaints(&self) -> Vec<String> {
        self.notices.lock().unwrap().clone()
    }

    /// Waits until the device complains of this.
    pub fn complains(&self, of: &str) {
        testing::until(
            || self.complaints(),
            |all| all.iter().any(|one| one.contains(of)),
        );
    }

    pub fn refused(&self, why: lockgate_vhost::Refusal) -> u64 {
        let counters = self.device().counters();
        let found = counters.refused.iter().find(|one| one.0 == why);
        found.map_or(0, |one| one.1)
    }
}

fn keep(notices: &Arc<Mutex<Vec<String>>>, panics: &Arc<AtomicBool>) -> Notices {
    let (notices, panics) = (Arc::clone(notices), Arc::clone(panics));
    Arc::new(move |notice| {
        let panics = matches!(notice, Notice::Connected) && panics.swap(false, Ordering::Relaxed);
        assert!(!panics, "planted");
        let text = match notice {
            Notice::Connected | Notice::Disconnected(None) => return,
            Notice::Disconnected(Some(error)) => chain(error),
            Notice::SessionRefused(error) => chain(error),
            Notice::QueueBroken { queue, broken } => format!("queue {queue} broke: {broken}"),
            Notice::Quarantined { worker } => format!("moved to worker {worker}"),
            Notice::Returned => "moved back".to_owned(),
            Notice::Panicked => "panicked".to_owned(),
        };
        notices.lock().unwrap().push(text);
    })
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

pub fn cipher(session: u64, encrypts: bool, len: usize) -> Header {
    Header {
        opcode: if encrypts {
            Opcode::CipherEncrypt
        } else {
            Opcode::CipherDecrypt
        },
        session,
        iv_bytes: 16,
        source_bytes: len as u32,
        destination_bytes: len as u32,
    }
}

pub fn hash(opcode: Opcode, session: u64, len: usize, digest: usize) -> Header {
    Header {
        opcode,
        session,
        iv_bytes: 0,
        source_bytes: len as u32,
        destination_bytes: digest as u32,
    }
}

/// Submits one request and waits for its end.
pub fn one(driver: &mut Driver, request: &Request<'_>) -> Done {
    driver.submit(request, 7).unwrap();
    finish(driver).pop().unwrap()
}

/// Waits for all that is in flight.
pub fn finish(driver: &mut Driver) -> Vec<Done> {
    let mut all = Vec::new();
    while driver.in_flight() > 0 {
        assert!(driver.wait(LONG), "{} are in flight", driver.in_flight());
        driver.reap(|done| all.push(done));
    }
    all
}

pub fn is_ok(done: &Done) -> bool {
    done.status == Some(Status::Ok)
}

pub fn open_aes(front: &mut FrontEnd, encrypts: bool) -> u64 {
    let key = &pattern(16, 1);
    let session = front.open_session(&SessionSpec::Cipher { encrypts, key });
    session.unwrap()
}

/// One good request on this queue, which comes out right.
pub fn encrypts(front: &mut FrontEnd, driver: &mut Driver) {
    const LEN: usize = 256;
    let session = open_aes(front, true);
    let (from, to) = (front.data_at(), front.data_at() + LEN);
    let text = pattern(LEN, 3);
    front.memory().write(from, &text);
    let done = one(
        driver,
        &Request {
            header: cipher(session, true, LEN),
            iv: [4; 16],
            source: &[(from, LEN)],
            destination: &[(to, LEN)],
        },
    );
    assert!(is_ok(&done), "{done:?}");
    let mut got = vec![0; LEN];
    front.memory().read(to, &mut got);
    let key = pattern(16, 1);
    let (algorithm, operation) = (Algorithm::Aes128Cbc, Operation::Encrypt);
    assert!(got == expected(algorithm, operation, &key, [4; 16], &text));
    front.close_session(session).unwrap();
}

/// The device serves another front-end, with nothing left of the one before.
pub fn serves(rig: &Rig) {
    let mut front = rig.front(FrontConfig {
        queue_size: 16,
        ..FrontConfig::default()
    });
    let mut driver = front.start(0).unwrap();
    encrypts(&mut front, &mut driver);
    assert_eq!(rig.engine.counters(0).panics, 0);
}

/// Of RSA with 2048 bits. PKCS#8 has the modulus and the exponent there, 261 and 5 bytes:
/// PKCS#1's public half.
pub fn public_key() -> Vec<u8> {
    public_half(&crypto::generate_key(Algorithm::Rsa(
        RsaBits::B2048,
        RsaScheme::Pkcs1,
    )))
}

pub fn public_half(material: &KeyMaterial) -> Vec<u8> {
    [&[0x30, 0x82, 0x01, 0x0a], &material.expose()[33..33 + 266]].concat()
}
