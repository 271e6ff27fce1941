//! A crypto device for a guest or a front-end, as sections set it up.

use std::path::PathBuf;
use std::sync::Arc;

use crypto::Algorithm;
use engine::{CryptoEngine, FunctionConfig, Governed, Governor, RequestLimit};
use policy::Moderation;
use policy::controllers::{Parameters, by_name};
use vhost::{
    Device, DeviceConfig, HostLimits, Limits, REQUEST_BYTES_MAX, SocketConfig, Supervisor,
};

use crate::subject::Stopped;

/// A page each, wherever a request begins in the first.
const SEGMENTS_MAX: usize = REQUEST_BYTES_MAX / 4096 + 2;

/// Of a piece, where none is measured: what [`best`](super::piece::best) finds on hosts
/// with wide AES.
pub const PIECE_BYTES: usize = 4 << 10;

/// A device that listens, with what governs it.
pub struct Served {
    pub device: Device,
    _supervisor: Supervisor,
    _governor: Option<Governor>,
}

/// Serves at that path, on the engine's first worker. With a controller it moderates;
/// controllers whose sources look once a second look every `interval_ns`.
///
/// # Errors
/// [`Stopped::Failed`].
pub fn serve(
    engine: &CryptoEngine,
    path: PathBuf,
    allowed: &[Algorithm],
    controller: Option<(&str, u64)>,
) -> Result<Served, Stopped> {
    let request_max = RequestLimit {
        bytes: REQUEST_BYTES_MAX,
        segments: SEGMENTS_MAX,
    };
    let function = engine.function(FunctionConfig {
        request_max,
        ..FunctionConfig::default()
    });
    let function = function.map_err(Stopped::failed)?;
    let (mut moderation, mut governor) = (Moderation::Each, None);
    if let Some((name, interval_ns)) = controller {
        let parameters = Parameters::default().with_interval_ns(interval_ns);
        let controller = by_name(name, &parameters.map_err(Stopped::failed)?);
        let controller = controller.map_err(Stopped::failed)?;
        moderation = vhost::moderation(controller.moderation());
        let watch = function.watch();
        let governed = vec![Governed { controller, watch }];
        governor = Some(Governor::start(governed, None).map_err(Stopped::failed)?);
    }
    let config = DeviceConfig {
        socket: SocketConfig {
            path,
            mode: 0o600,
            owner: None,
            group: None,
        },
        queues: 1,
        workers: vec![0],
        quarantine: Vec::new(),
        limits: Limits::default(),
        depth: 256,
        segments_max: SEGMENTS_MAX,
        piece_bytes: Some(PIECE_BYTES),
        moderation,
        allowed: allowed.to_vec(),
        offers_config: false,
    };
    let supervisor = Supervisor::start(engine.overseer(), HostLimits::default());
    let supervisor = supervisor.map_err(Stopped::failed)?;
    let device = Device::start(function, config, Arc::new(|_| {}), &supervisor);
    Ok(Served {
        device: device.map_err(Stopped::failed)?,
        _supervisor: supervisor,
        _governor: governor,
    })
}
