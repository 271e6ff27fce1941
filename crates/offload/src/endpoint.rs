//! What an endpoint of quinn is made of.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use crypto::Backend;
use engine::StartError;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, EndpointConfig, Runtime, ServerConfig};
use rustls::crypto::CryptoProvider;

use crate::counters::Counts;
use crate::receive::Receiving;
use crate::runtime::{Sockets, Turns};
use crate::session::{Client, Server};
use crate::worker::Worker;

/// Which packets of 1-RTT are not protected one by one, as quinn does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Together {
    /// Packets are sealed as they are sent, those of a turn by one call.
    pub seal: bool,
    /// Packets are opened as they arrive, those that arrive together by one call.
    pub open: bool,
}

impl Together {
    pub const ALL: Self = Self {
        seal: true,
        open: true,
    };
    pub const NONE: Self = Self {
        seal: false,
        open: false,
    };
}

/// Makes endpoints of quinn whose packets are protected as it says.
pub struct Offload {
    provider: Arc<CryptoProvider>,
    /// Whether sockets are quinn's own.
    pub(crate) is_stock: bool,
    receiving: Option<Arc<Receiving>>,
    sockets: Sockets,
}

impl Offload {
    /// Packets that `backend` protects.
    pub fn new(backend: &Arc<dyn Backend>, together: Together) -> Self {
        let mut own = Self::sending(crate::provider(backend));
        if together != Together::NONE {
            let receiving = Receiving::new(backend, &own.sockets.counters);
            own.sockets.receiving = together.open.then(|| receiving.clone());
            own.sockets.seals = together.seal;
            own.receiving = Some(receiving);
        }
        own
    }

    /// quinn as it is, with that provider: what ours is measured beside.
    pub fn stock(provider: CryptoProvider) -> Self {
        Self {
            is_stock: true,
            ..Self::sending(provider)
        }
    }

    /// Packets as the provider protects them: only their sending is ours.
    pub fn sending(provider: CryptoProvider) -> Self {
        Self {
            provider: Arc::new(provider),
            is_stock: false,
            receiving: None,
            sockets: Sockets {
                receiving: None,
                seals: false,
                worker: None,
                counters: Arc::default(),
                only_loopback: false,
            },
        }
    }

    /// **Nothing is protected.** What packet protection costs is measured with this. Both
    /// ends must be of one process, and nothing is sent but to loopback addresses.
    pub fn unprotected() -> Self {
        let mut own = Self::sending(crate::suite::unprotected());
        own.sockets.only_loopback = true;
        own
    }

    /// The same, but a thread of its own seals and sends what is long enough to be worth a
    /// crossing; pinned to `cpu`, or where the scheduler likes.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn on_worker(mut self, cpu: Option<usize>) -> Result<Self, StartError> {
        self.sockets.worker = Some(Worker::start(cpu)?);
        Ok(self)
    }

    /// CPU time of that thread; `None` where there is none.
    pub fn worker_time(&self) -> Option<Duration> {
        self.sockets.worker.as_ref()?.cpu_time()
    }

    pub fn counts(&self) -> Counts {
        self.sockets.counters.counts()
    }

    /// For the TLS configurations of clients and servers.
    pub fn provider(&self) -> Arc<CryptoProvider> {
        self.provider.clone()
    }

    pub fn server(&self, tls: QuicServerConfig) -> ServerConfig {
        let tls = Arc::new(tls);
        let receiving = self.receiving.clone();
        ServerConfig::with_crypto(match receiving {
            None => tls,
            Some(receiving) => Arc::new(Server { tls, receiving }),
        })
    }

    pub fn client(&self, tls: QuicClientConfig) -> ClientConfig {
        let tls = Arc::new(tls);
        let receiving = self.receiving.clone();
        ClientConfig::new(match receiving {
            None => tls,
            Some(receiving) => Arc::new(Client { tls, receiving }),
        })
    }

    /// # Errors
    /// As [`Endpoint::new`], and where no runtime of quinn's is running.
    pub fn endpoint(
        &self,
        config: EndpointConfig,
        server: Option<ServerConfig>,
        socket: UdpSocket,
    ) -> io::Result<Endpoint> {
        let runtime = quinn::default_runtime()
            .ok_or_else(|| io::Error::other("no runtime: call this inside tokio"))?;
        self.endpoint_on(runtime, config, server, socket)
    }

    /// As [`Self::endpoint`], on a runtime of the caller's.
    ///
    /// # Errors
    /// As [`Endpoint::new`].
    pub fn endpoint_on(
        &self,
        inner: Arc<dyn Runtime>,
        config: EndpointConfig,
        server: Option<ServerConfig>,
        socket: UdpSocket,
    ) -> io::Result<Endpoint> {
        let sockets = self.sockets.clone();
        let runtime: Arc<dyn Runtime> = match self.is_stock {
            true => inner,
            false => Arc::new(Turns { inner, sockets }),
        };
        Endpoint::new(config, server, socket, runtime)
    }
}
