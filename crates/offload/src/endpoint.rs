//! What an endpoint of quinn is made of.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

use crypto::Backend;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, EndpointConfig, Runtime, ServerConfig};
use rustls::crypto::CryptoProvider;

use crate::counters::{Counters, Counts};
use crate::receive::Receiving;
use crate::runtime::Turns;
use crate::session::{Client, Server};

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
    together: Together,
    receiving: Option<Arc<Receiving>>,
    counters: Arc<Counters>,
    only_loopback: bool,
}

impl Offload {
    /// Packets that `backend` protects.
    pub fn new(backend: &Arc<dyn Backend>, together: Together) -> Self {
        let own = Self::of(crate::provider(backend), together);
        let receiving = || Receiving::new(backend, &own.counters);
        Self {
            receiving: (together != Together::NONE).then(receiving),
            ..own
        }
    }

    fn of(provider: CryptoProvider, together: Together) -> Self {
        Self {
            provider: Arc::new(provider),
            together,
            receiving: None,
            counters: Arc::default(),
            only_loopback: false,
        }
    }

    /// Packets as the provider protects them: only their sending is ours.
    pub fn sending(provider: CryptoProvider) -> Self {
        Self::of(provider, Together::NONE)
    }

    /// **Nothing is protected.** What packet protection costs is measured with this. Both
    /// ends must be of one process, and nothing is sent but to loopback addresses.
    pub fn unprotected() -> Self {
        Self {
            only_loopback: true,
            ..Self::of(crate::suite::unprotected(), Together::NONE)
        }
    }

    pub fn counts(&self) -> Counts {
        self.counters.counts()
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
        let runtime = Turns {
            inner,
            receiving: self.receiving.clone().filter(|_| self.together.open),
            seals: self.together.seal,
            counters: self.counters.clone(),
            only_loopback: self.only_loopback,
        };
        Endpoint::new(config, server, socket, Arc::new(runtime))
    }
}
