//! Transfers of a size that the client asks for: draft-banks-quic-performance, as quinn's,
//! msquic's and s2n-quic's own programs speak it.
//!
//! The first eight bytes of a client's stream say how many bytes the server sends back;
//! what follows them is read and dropped.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use quic::Suite;
use quinn::congestion::CubicConfig;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connection, Endpoint, EndpointConfig, MtuDiscoveryConfig, RecvStream, SendStream,
    ServerConfig, TransportConfig,
};
use rustix::net::sockopt;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{CipherSuite, DigitallySignedStruct, SignatureScheme, SupportedCipherSuite};

use crate::Offload;
use crate::outbox::MESSAGE_BYTES_MAX;

/// As the draft names it.
const PROTOCOL: &[u8] = b"perf";
/// Written and read by one call.
const CHUNK_BYTES: usize = 1 << 20;
/// What a connection may have under way: 8 MB are 1 Gbit/s over 64 ms.
const WINDOW_BYTES: u32 = 8 << 20;
/// What sockets should buffer: several messages, so that a thread that sleeps loses none.
pub const BUFFER_BYTES: usize = 4 << 20;
/// Datagrams that a connection begins with, at most: quinn writes lengths of 14 bits into
/// packets of the handshake, and panics where one has more. Larger ones are probed.
pub const FIRST_BYTES_MAX: u16 = 16_000;
/// Datagrams of stock quinn that it sends many of by one call, at most: it hands over ten
/// (`MAX_TRANSMIT_SEGMENTS`), and a message of UDP has no room for more bytes.
pub const STOCK_TOGETHER_MAX: usize = MESSAGE_BYTES_MAX / STOCK_SEGMENTS;
const STOCK_SEGMENTS: usize = 10;
/// Of a request: how many bytes to send back.
const REQUEST_BYTES: usize = 8;

/// A certificate and its key.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// Why there is no endpoint.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    #[error("no certificate could be made")]
    Certificate(#[source] rcgen::Error),
    #[error("TLS does not take the certificate or the provider")]
    Tls(#[from] rustls::Error),
    #[error("the provider has no AES-128-GCM, which QUIC begins with")]
    NoInitialSuite(#[from] quinn::crypto::rustls::NoInitialCipherSuite),
    #[error("{} has no certificate or key in PEM", .path.display())]
    Pem {
        path: PathBuf,
        #[source]
        cause: pem::Error,
    },
    #[error("no socket")]
    Socket(#[from] io::Error),
    #[error("no endpoint on {address}")]
    Endpoint {
        address: String,
        #[source]
        cause: io::Error,
    },
}

/// Why a transfer ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error("the connection was lost")]
    Connection(#[from] quinn::ConnectionError),
    #[error("the peer reads no more")]
    Write(#[from] quinn::WriteError),
    #[error("the peer sends no more")]
    Read(#[from] quinn::ReadError),
    #[error("the request has {got} bytes, eight say how many to send")]
    Request { got: usize },
    #[error("{got} bytes came, {asked} were asked for")]
    Length { asked: u64, got: u64 },
}

impl Identity {
    /// Signed by itself, for names or addresses.
    ///
    /// # Errors
    /// [`SetUpError::Certificate`].
    pub fn generate(names: &[&str]) -> Result<Self, SetUpError> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(names).map_err(SetUpError::Certificate)?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        Ok(Self {
            chain: vec![made.cert.der().clone()],
            key: key.into(),
        })
    }

    /// From PEM files: a chain, the server's own first, and its key.
    ///
    /// # Errors
    /// [`SetUpError::Pem`].
    pub fn read(chain: &Path, key: &Path) -> Result<Self, SetUpError> {
        let failed = |cause| pem_failed(key, cause);
        Ok(Self {
            chain: Self::certificates(chain)?,
            key: PrivateKeyDer::from_pem_file(key).map_err(failed)?,
        })
    }

    /// The certificates of a PEM file, one at least.
    ///
    /// # Errors
    /// [`SetUpError::Pem`].
    pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, SetUpError> {
        let failed = |cause| pem_failed(path, cause);
        let all = CertificateDer::pem_file_iter(path).map_err(failed)?;
        let all: Vec<_> = all.collect::<Result<_, _>>().map_err(failed)?;
        match all.is_empty() {
            true => Err(failed(pem::Error::NoItemsFound)),
            false => Ok(all),
        }
    }
}

fn pem_failed(path: &Path, cause: pem::Error) -> SetUpError {
    SetUpError::Pem {
        path: path.to_owned(),
        cause,
    }
}

/// Which servers a client talks to.
pub enum Trust<'i> {
    Only(&'i Identity),
    Certificates(Vec<CertificateDer<'static>>),
    /// Whoever answers: to measure, never to send what matters.
    Anyone,
}

/// A server's configuration; it takes 0-RTT.
///
/// # Errors
/// [`SetUpError`].
pub fn server(
    offload: &Offload,
    identity: &Identity,
    transport: Arc<TransportConfig>,
) -> Result<ServerConfig, SetUpError> {
    let tls = server_tls(&offload.provider(), identity)?;
    let mut server = offload.server(QuicServerConfig::try_from(tls)?);
    server.transport_config(transport);
    Ok(server)
}

/// TLS alone, as a server of TCP has it, too.
///
/// # Errors
/// [`SetUpError`].
pub fn server_tls(
    provider: &Arc<CryptoProvider>,
    identity: &Identity,
) -> Result<rustls::ServerConfig, SetUpError> {
    let mut tls = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(identity.chain.clone(), identity.key.clone_key())?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    // All or nothing, says RFC 9001 §4.6.1.
    tls.max_early_data_size = u32::MAX;
    Ok(tls)
}

/// Whether a socket may buffer as much as was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    pub asked_bytes: usize,
    /// The smaller of the two directions.
    pub got_bytes: usize,
}

/// A socket that buffers so many bytes in each direction, or as many as the host lets it.
///
/// # Errors
/// The system's.
pub fn socket(address: SocketAddr, buffer_bytes: usize) -> io::Result<(UdpSocket, Buffers)> {
    let socket = UdpSocket::bind(address)?;
    // Root may have more than `net.core.rmem_max`.
    if sockopt::set_socket_recv_buffer_size_force(&socket, buffer_bytes).is_err() {
        sockopt::set_socket_recv_buffer_size(&socket, buffer_bytes)?;
    }
    sockopt::set_socket_send_buffer_size(&socket, buffer_bytes)?;
    // The kernel says twice what it was asked for.
    let received = sockopt::socket_recv_buffer_size(&socket)? / 2;
    let sent = sockopt::socket_send_buffer_size(&socket)? / 2;
    let buffers = Buffers {
        asked_bytes: buffer_bytes,
        got_bytes: received.min(sent),
    };
    Ok((socket, buffers))
}

/// What a client wants.
pub struct Wanted<'i> {
    pub trust: Trust<'i>,
    /// `None`: what server and provider like best.
    pub suite: Option<Suite>,
    /// Whether it sends in 0-RTT where it has been before.
    pub resumes: bool,
}

/// A client's configuration.
///
/// # Errors
/// [`SetUpError`].
pub fn client(
    offload: &Offload,
    wanted: &Wanted<'_>,
    transport: Arc<TransportConfig>,
) -> Result<ClientConfig, SetUpError> {
    let provider = offload.provider();
    let initial = initial_suite(&provider);
    let tls = client_tls(&provider, wanted)?;
    let tls = match initial {
        Some(initial) => QuicClientConfig::with_initial(Arc::new(tls), initial)?,
        None => QuicClientConfig::try_from(tls)?,
    };
    let mut client = offload.client(tls);
    client.transport_config(transport);
    Ok(client)
}

fn initial_suite(provider: &CryptoProvider) -> Option<rustls::quic::Suite> {
    let first = CipherSuite::TLS13_AES_128_GCM_SHA256;
    let mut suites = provider.cipher_suites.iter();
    suites
        .find(|one| one.suite() == first)?
        .tls13()?
        .quic_suite()
}

/// TLS alone, as a client of TCP has it, too.
///
/// # Errors
/// [`SetUpError`].
pub fn client_tls(
    provider: &CryptoProvider,
    wanted: &Wanted<'_>,
) -> Result<rustls::ClientConfig, SetUpError> {
    let number = |suite: &SupportedCipherSuite| Suite::from_number(suite.suite().into());
    let is_wanted =
        |suite: &SupportedCipherSuite| wanted.suite.is_none() || number(suite) == wanted.suite;
    let mut provider = provider.clone();
    provider.cipher_suites.retain(is_wanted);
    let provider = Arc::new(provider);
    let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&TLS13])?;
    let mut tls = match &wanted.trust {
        Trust::Only(Identity { chain, .. }) | Trust::Certificates(chain) => {
            let mut roots = rustls::RootCertStore::empty();
            for certificate in chain {
                roots.add(certificate.clone())?;
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        Trust::Anyone => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
            .with_no_client_auth(),
    };
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    tls.enable_early_data = wanted.resumes;
    if !wanted.resumes {
        tls.resumption = Resumption::disabled();
    }
    Ok(tls)
}

/// An endpoint on a socket, for datagrams of up to `payload_bytes`.
///
/// # Errors
/// [`SetUpError::Endpoint`].
pub fn endpoint(
    offload: &Offload,
    server: Option<ServerConfig>,
    socket: UdpSocket,
    payload_bytes: u16,
) -> Result<Endpoint, SetUpError> {
    let address = socket.local_addr();
    let failed = |cause| SetUpError::Endpoint {
        address: address.map_or_else(|_| "a socket".into(), |address| address.to_string()),
        cause,
    };
    let mut config = EndpointConfig::default();
    // More than 65,527 there is not; less than 1200 QUIC does not know.
    let payload_bytes = payload_bytes.clamp(1200, 65_527);
    let is_set = config.max_udp_payload_size(payload_bytes).is_ok();
    debug_assert!(is_set, "within the limits");
    offload.endpoint(config, server, socket).map_err(failed)
}

/// How connections transfer: windows for more than is under way on most paths. With
/// `payload_bytes` the path is known to carry such datagrams; else it is probed.
pub fn transport(offload: &Offload, payload_bytes: Option<u16>) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(WINDOW_BYTES.into())
        .send_window(u64::from(WINDOW_BYTES));
    if let Some(bytes) = payload_bytes {
        let first = bytes.min(FIRST_BYTES_MAX);
        transport.initial_mtu(first).min_mtu(first);
        let mut probing = MtuDiscoveryConfig::default();
        probing.upper_bound(bytes);
        transport.mtu_discovery_config((first < bytes).then_some(probing));
        // Where they do not fit, the kernel refuses them, and quinn-udp says nothing of it.
        let fits = usize::from(bytes) <= STOCK_TOGETHER_MAX;
        transport.enable_segmentation_offload(fits || !offload.is_stock);
        let mut cubic = CubicConfig::default();
        cubic.initial_window(initial_window(bytes));
        transport.congestion_controller_factory(Arc::new(cubic));
    }
    transport
}

/// Bytes that a connection may send before it knows its path (RFC 9002 §7.2), for
/// datagrams of that size: quinn's own is what 1472 bytes have.
pub fn initial_window(payload_bytes: u16) -> u64 {
    let bytes = u64::from(payload_bytes.min(FIRST_BYTES_MAX));
    (10 * bytes).min((2 * bytes).max(14_720))
}

/// What a server's connections sent until they ended.
#[derive(Clone, Default)]
pub struct Served(Arc<Mutex<Sent>>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    pub connections: u64,
    pub datagrams: u64,
    /// Packets that were held to be lost.
    pub lost: u64,
}

impl Served {
    pub fn counts(&self) -> Sent {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self, connection: &Connection) {
        let stats = connection.stats();
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sent.connections += 1;
        sent.datagrams += stats.udp_tx.datagrams;
        sent.lost += stats.path.lost_packets;
    }
}

/// Whether a server makes sure that clients are where they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    None,
    /// By a Retry packet (RFC 9000 §8.1.2).
    Retry,
}

/// Answers until the endpoint is closed. Connections that fail are the clients' to report.
pub async fn serve(endpoint: Endpoint, served: Served, validation: Validation) {
    while let Some(incoming) = endpoint.accept().await {
        if validation == Validation::Retry && !incoming.remote_address_validated() {
            // It fails of a client that was validated, which this one is not.
            let _ = incoming.retry();
            continue;
        }
        let served = served.clone();
        tokio::spawn(async move {
            let Ok(connecting) = incoming.accept() else {
                return;
            };
            // Streams of 0-RTT come before the handshake is complete.
            let connection = match connecting.into_0rtt() {
                Ok((connection, _)) => connection,
                Err(connecting) => match connecting.await {
                    Ok(connection) => connection,
                    Err(_) => return,
                },
            };
            while let Ok((send, receive)) = connection.accept_bi().await {
                tokio::spawn(answer(send, receive));
            }
            served.ended(&connection);
        });
    }
}

async fn answer(mut send: SendStream, mut receive: RecvStream) -> Result<(), TransferError> {
    let mut request = [0; REQUEST_BYTES];
    let mut got = 0;
    while got < REQUEST_BYTES {
        match receive.read(&mut request[got..]).await? {
            Some(bytes) => got += bytes,
            None => return Err(TransferError::Request { got }),
        }
    }
    let _ = drain(&mut receive, &mut |_| ControlFlow::Continue(())).await?;
    fill(&mut send, u64::from_be_bytes(request)).await
}

/// Reads a stream to its end, or until `watch`, which is told how much has come, wants no
/// more; how many bytes it had.
async fn drain(
    receive: &mut RecvStream,
    watch: &mut impl FnMut(u64) -> ControlFlow<()>,
) -> Result<ControlFlow<u64, u64>, TransferError> {
    let mut bytes = 0;
    while let Some(chunk) = receive.read_chunk(CHUNK_BYTES, true).await? {
        bytes += chunk.bytes.len() as u64;
        if watch(bytes).is_break() {
            return Ok(ControlFlow::Break(bytes));
        }
    }
    Ok(ControlFlow::Continue(bytes))
}

/// Writes so many bytes, and the stream's end.
async fn fill(send: &mut SendStream, bytes: u64) -> Result<(), TransferError> {
    let chunk = Bytes::from_static(&[0x5a; CHUNK_BYTES]);
    let mut left = bytes;
    while left > 0 {
        let now = left.min(CHUNK_BYTES as u64);
        send.write_chunk(chunk.slice(..now as usize)).await?;
        left -= now;
    }
    // An error says that it was ended before.
    let _ = send.finish();
    Ok(())
}

/// Sends and then receives so many bytes on a stream of its own.
///
/// # Errors
/// [`TransferError`].
pub async fn transfer(
    connection: &Connection,
    upload: u64,
    download: u64,
) -> Result<(), TransferError> {
    let (mut send, receive) = request(connection, download).await?;
    fill(&mut send, upload).await?;
    let all = receive_all(receive, download, |_| ControlFlow::Continue(()));
    all.await.map(drop)
}

/// Receives so many bytes on a stream of its own, or fewer: `watch` is told how many have
/// come, and says when it wants no more. How many came.
///
/// # Errors
/// [`TransferError`].
pub async fn download(
    connection: &Connection,
    bytes: u64,
    watch: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<u64, TransferError> {
    let (mut send, receive) = request(connection, bytes).await?;
    fill(&mut send, 0).await?;
    receive_all(receive, bytes, watch).await
}

async fn request(
    connection: &Connection,
    download: u64,
) -> Result<(SendStream, RecvStream), TransferError> {
    let (mut send, receive) = connection.open_bi().await?;
    send.write_all(&download.to_be_bytes()).await?;
    Ok((send, receive))
}

async fn receive_all(
    mut receive: RecvStream,
    asked: u64,
    mut watch: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<u64, TransferError> {
    match drain(&mut receive, &mut watch).await? {
        ControlFlow::Break(got) => Ok(got),
        ControlFlow::Continue(got) if got == asked => Ok(got),
        ControlFlow::Continue(got) => Err(TransferError::Length { asked, got }),
    }
}

/// Takes any certificate whose key signed the handshake.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _others: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC has TLS 1.3".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
