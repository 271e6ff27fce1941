//! What carries a transfer, and how it begins.

use std::sync::Arc;

use crypto::Backend;
use engine::StartError;
use offload::{Offload, Together};
use rustls::crypto::CryptoProvider;

/// The protocol, and who protects it how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    Tcp,
    /// TLS 1.3 by rustls and ring.
    TcpTls,
    /// quinn as it is, with ring.
    Stock,
    /// The same behind a socket that sends more datagrams by one call.
    Coalesced,
    /// That socket, and packets that our kernels protect one by one.
    Inline,
    /// Packets sealed as they are sent and opened as they arrive, many by one call.
    Together,
    /// The same, but a thread of its own seals and sends.
    Worker,
    /// That socket, and no protection: what all of it costs.
    Ceiling,
}

impl Stack {
    pub const ALL: [Self; 8] = [
        Self::Tcp,
        Self::TcpTls,
        Self::Stock,
        Self::Coalesced,
        Self::Inline,
        Self::Together,
        Self::Worker,
        Self::Ceiling,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::TcpTls => "tcp-tls",
            Self::Stock => "quic-stock",
            Self::Coalesced => "quic-coalesced",
            Self::Inline => "quic-inline",
            Self::Together => "quic-offloaded",
            Self::Worker => "quic-worker",
            Self::Ceiling => "quic-ceiling",
        }
    }

    pub const fn words(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::TcpTls => "TCP with TLS 1.3",
            Self::Stock => "QUIC, stock quinn",
            Self::Coalesced => "QUIC, stock crypto, sends coalesced",
            Self::Inline => "QUIC, our crypto inline",
            Self::Together => "QUIC, offloaded",
            Self::Worker => "QUIC, offloaded to a worker",
            Self::Ceiling => "QUIC without crypto (ceiling)",
        }
    }

    pub const fn is_tcp(self) -> bool {
        matches!(self, Self::Tcp | Self::TcpTls)
    }

    /// What an endpoint of quinn is made with; of TCP, what TLS is. Each end has its own:
    /// in two processes they would share nothing.
    ///
    /// # Errors
    /// Where a worker cannot be started.
    pub fn offload(self, backend: &Arc<dyn Backend>) -> Result<Offload, StartError> {
        Ok(match self {
            Self::Tcp | Self::TcpTls | Self::Stock => Offload::stock(ring()),
            Self::Coalesced => Offload::sending(ring()),
            Self::Inline => Offload::new(backend, Together::NONE),
            Self::Together => Offload::new(backend, Together::ALL),
            Self::Worker => Offload::new(backend, Together::ALL).on_worker(None)?,
            Self::Ceiling => Offload::unprotected(),
        })
    }
}

fn ring() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}

crate::named!(Stack, "protocol");

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With a peer that it has not met.
    Cold,
    /// The request goes out with the first packet.
    ZeroRtt,
}

impl Start {
    pub const ALL: [Self; 2] = [Self::Cold, Self::ZeroRtt];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::ZeroRtt => "0-rtt",
        }
    }
}

crate::named!(Start, "start");

/// How a sender finds its rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// RFC 9438.
    #[default]
    Cubic,
    /// draft-cardwell-iccrg-bbr-congestion-control-00.
    Bbr,
}

impl Congestion {
    pub const ALL: [Self; 2] = [Self::Cubic, Self::Bbr];

    /// As the kernel calls it, too.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
        }
    }
}

crate::named!(Congestion, "congestion control");
