//! Endpoints on loopback, stock ones and ours, and an echo between them.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::failing::Failing;
use lockgate_offload::perf::{self, Identity, Trust, Wanted};
use lockgate_offload::{Counts, Offload, Together};
use quinn::{Connection, Endpoint, EndpointConfig, Runtime, ServerConfig, TransportConfig};

/// How an endpoint protects its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// quinn as it is.
    Stock,
    Ours(&'static str, Together),
    /// All together, sealed and sent by a worker.
    Worker,
    /// All together, by a back-end that fails now and then; also by a worker.
    Failing {
        on_worker: bool,
    },
}

pub const ALL: Kind = Kind::Ours("kernels", Together::ALL);

pub struct Party {
    pub endpoint: Endpoint,
    offload: Offload,
}

impl Party {
    pub fn counts(&self) -> Counts {
        self.offload.counts()
    }

    pub fn address(&self) -> SocketAddr {
        self.endpoint.local_addr().unwrap()
    }
}

pub fn identity() -> &'static Identity {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    IDENTITY.get_or_init(|| Identity::generate(&["localhost"]).unwrap())
}

pub fn offload(kind: Kind) -> Offload {
    match kind {
        Kind::Stock => Offload::stock(rustls::crypto::ring::default_provider()),
        Kind::Ours(backend, together) => Offload::new(&crypto::by_name(backend).unwrap(), together),
        Kind::Worker => Offload::new(&crypto::by_name("kernels").unwrap(), Together::ALL)
            .on_worker(None)
            .unwrap(),
        Kind::Failing { on_worker } => {
            let own = Offload::new(&Failing::kernels(), Together::ALL);
            match on_worker {
                true => own.on_worker(None).unwrap(),
                false => own,
            }
        }
    }
}

pub fn wanted() -> Wanted<'static> {
    Wanted {
        trust: Trust::Only(identity()),
        suite: None,
        resumes: true,
    }
}

pub fn socket() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()
}

/// Inside a runtime.
pub fn party(kind: Kind, change: impl FnOnce(&mut ServerConfig)) -> Party {
    party_on(kind, socket(), EndpointConfig::default, change)
}

pub fn party_on(
    kind: Kind,
    socket: UdpSocket,
    config: impl FnOnce() -> EndpointConfig,
    change: impl FnOnce(&mut ServerConfig),
) -> Party {
    party_under(
        kind,
        quinn::default_runtime().unwrap(),
        socket,
        config,
        change,
    )
}

pub fn party_under(
    kind: Kind,
    runtime: Arc<dyn Runtime>,
    socket: UdpSocket,
    config: impl FnOnce() -> EndpointConfig,
    change: impl FnOnce(&mut ServerConfig),
) -> Party {
    let offload = offload(kind);
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(Duration::from_secs(10).try_into().unwrap()));
    let transport = Arc::new(transport);
    let mut server = perf::server(&offload, identity(), transport.clone()).unwrap();
    change(&mut server);
    let client = perf::client(&offload, &wanted(), transport).unwrap();
    let endpoint = offload.endpoint_on(runtime, config(), Some(server), socket);
    let mut endpoint = endpoint.unwrap();
    endpoint.set_default_client_config(client);
    Party { endpoint, offload }
}

/// On one thread.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    let limited = tokio::time::timeout;
    let limit = Duration::from_secs(if testing::is_thorough() { 900 } else { 60 });
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(async { limited(limit, future).await })
        .expect("it ends in time")
}

/// Echoes every stream of every connection.
pub fn echo(endpoint: &Endpoint) {
    let endpoint = endpoint.clone();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            let Ok(connecting) = incoming.accept() else {
                continue;
            };
            tokio::spawn(async move {
                let connection = match connecting.into_0rtt() {
                    Ok((connection, _)) => connection,
                    Err(connecting) => match connecting.await {
                        Ok(connection) => connection,
                        Err(_) => return,
                    },
                };
                echo_of(connection).await;
            });
        }
    });
}

pub async fn echo_of(connection: Connection) {
    while let Ok((mut send, mut receive)) = connection.accept_bi().await {
        tokio::spawn(async move {
            while let Ok(Some(chunk)) = receive.read_chunk(1 << 16, true).await {
                if send.write_chunk(chunk.bytes).await.is_err() {
                    return;
                }
            }
            let _ = send.finish();
        });
    }
}

/// Sends bytes and gets them back.
pub async fn round_trip(connection: &Connection, bytes: &[u8]) -> Vec<u8> {
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let sent = async {
        send.write_all(bytes).await.unwrap();
        send.finish().unwrap();
    };
    let (back, ()) = both(receive.read_to_end(bytes.len() + 1), sent).await;
    back.unwrap()
}

/// Both, side by side.
pub async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
    let (mut of_a, mut of_b) = (None, None);
    std::future::poll_fn(|context| {
        if of_a.is_none()
            && let std::task::Poll::Ready(value) = a.as_mut().poll(context)
        {
            of_a = Some(value);
        }
        if of_b.is_none()
            && let std::task::Poll::Ready(value) = b.as_mut().poll(context)
        {
            of_b = Some(value);
        }
        match of_a.is_some() && of_b.is_some() {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    (of_a.unwrap(), of_b.unwrap())
}

pub async fn connect(from: &Party, to: SocketAddr) -> Connection {
    from.endpoint
        .connect(to, "localhost")
        .unwrap()
        .await
        .unwrap()
}

/// No byte as its neighbours.
pub fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 7 + at / 251) as u8).collect()
}
