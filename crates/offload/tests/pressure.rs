//! A kernel that takes no datagram when it does not like to, and sockets that are not
//! ours: nothing is lost, nothing leaves unsealed.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Instant;

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncTimer, AsyncUdpSocket, EndpointConfig, Runtime, UdpPoller};

use crate::common::{ALL, Kind, connect, echo, party, party_under, round_trip, run, socket};
use crate::faults::{Random, WORD};

#[derive(Debug, Default)]
struct Seen {
    sent: AtomicU64,
    refused: AtomicU64,
    leaked: AtomicU64,
}

/// tokio's, with sockets that refuse, and look at what they are given.
#[derive(Debug)]
struct Moody {
    inner: Arc<dyn Runtime>,
    /// Of a hundred.
    refuses: u64,
    seen: Arc<Seen>,
}

impl Runtime for Moody {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        self.inner.new_timer(at)
    }

    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.inner.spawn(task);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        Ok(Arc::new(MoodySocket {
            inner: self.inner.wrap_udp_socket(socket)?,
            refuses: self.refuses,
            random: Mutex::new(Random(5)),
            seen: self.seen.clone(),
        }))
    }
}

struct MoodySocket {
    inner: Arc<dyn AsyncUdpSocket>,
    refuses: u64,
    random: Mutex<Random>,
    seen: Arc<Seen>,
}

impl std::fmt::Debug for MoodySocket {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(text)
    }
}

#[derive(Debug)]
struct Patience {
    inner: Pin<Box<dyn UdpPoller>>,
    is_asked: bool,
}

impl UdpPoller for Patience {
    fn poll_writable(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.is_asked = !self.is_asked;
        if self.is_asked {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.inner.as_mut().poll_writable(context)
    }
}

impl AsyncUdpSocket for MoodySocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Patience {
            inner: self.inner.clone().create_io_poller(),
            is_asked: false,
        })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let segment_bytes = transmit.segment_size.unwrap_or(transmit.contents.len());
        for datagram in transmit.contents.chunks(segment_bytes) {
            let leaks = datagram.windows(WORD.len()).any(|window| window == WORD);
            self.seen.leaked.fetch_add(leaks.into(), Ordering::Relaxed);
        }
        if self.random.lock().unwrap().below(100) < self.refuses {
            self.seen.refused.fetch_add(1, Ordering::Relaxed);
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let datagrams = transmit.contents.len().div_ceil(segment_bytes);
        let sent = self.inner.try_send(transmit);
        if sent.is_ok() {
            self.seen
                .sent
                .fetch_add(datagrams as u64, Ordering::Relaxed);
        }
        sent
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.inner.poll_recv(context, buffers, metas)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

/// Datagrams that were looked at, of both ends.
fn under_pressure(server: Kind, client: Kind, refuses: u64, moves: bool) -> u64 {
    let rounds = if testing::is_thorough() { 400 } else { 4 };
    let text: Vec<u8> = WORD.iter().copied().cycle().take(1_000_000).collect();
    let seen = Arc::new(Seen::default());
    run(async {
        let moody = || {
            Arc::new(Moody {
                inner: quinn::default_runtime().unwrap(),
                refuses,
                seen: seen.clone(),
            })
        };
        let [server, client] = [server, client]
            .map(|kind| party_under(kind, moody(), socket(), EndpointConfig::default, |_| {}));
        echo(&server.endpoint);
        let connection = connect(&client, server.address()).await;
        for _ in 0..rounds {
            let back = if moves {
                // Sockets that are not ours, in the middle of all.
                let moving = async {
                    for _ in 0..6 {
                        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
                        let foreign = moody().wrap_udp_socket(socket()).unwrap();
                        client.endpoint.rebind_abstract(foreign).unwrap();
                        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
                        client.endpoint.rebind(socket()).unwrap();
                    }
                };
                crate::common::both(round_trip(&connection, &text), moving)
                    .await
                    .0
            } else {
                round_trip(&connection, &text).await
            };
            assert!(back == text);
        }
        for counts in [server.counts(), client.counts()] {
            assert_eq!((counts.unmatched, counts.spoilt), (0, 0), "{counts:?}");
        }
        if !moves {
            let counts = server.counts();
            assert!(counts.sealed_together > 500, "{counts:?}");
        }
    });
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    assert_eq!(of(&seen.leaked), 0, "texts that left unsealed");
    assert!(refuses == 0 || of(&seen.refused) > 10);
    of(&seen.sent)
}

#[test]
fn a_kernel_that_refuses_loses_nothing() {
    let mut seen = 0;
    for kind in [ALL, Kind::Worker] {
        for refuses in [0, 30, 80] {
            seen += under_pressure(kind, kind, refuses, false);
        }
    }
    println!("{seen} datagrams");
}

#[test]
fn sockets_that_are_not_ours_get_sealed_packets() {
    for kind in [ALL, Kind::Worker] {
        println!("{} datagrams", under_pressure(kind, kind, 30, true));
    }
}

/// What the moody socket looks for is there, where nothing protects.
#[test]
fn a_word_that_is_not_protected_is_found() {
    run(async {
        let seen = Arc::new(Seen::default());
        let moody = Moody {
            inner: quinn::default_runtime().unwrap(),
            refuses: 0,
            seen: seen.clone(),
        };
        let socket = moody.wrap_udp_socket(socket()).unwrap();
        let peer = party(Kind::Stock, |_| {});
        let contents = [&[0x40; 30][..], WORD].concat();
        let transmit = Transmit {
            destination: peer.address(),
            ecn: None,
            contents: &contents,
            segment_size: None,
            src_ip: None,
        };
        while socket.try_send(&transmit).is_err() {
            tokio::task::yield_now().await;
        }
        assert!(seen.leaked.load(Ordering::Relaxed) > 0);
    });
}
