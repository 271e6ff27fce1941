//! CPU time of transfers over loopback, both ends: s2n-quic, stock quinn, and quinn
//! offloaded, interleaved. `quic-peers BYTES PAIRS`.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use kit::load::alone::Slice;
use kit::load::rig::Cores;
use kit::host::Host;
use kit::transfers::{self, Stack, Transfer};
use offload::perf::Identity;
use s2n_quic::client::Connect;
use s2n_quic::provider::io::tokio::Provider as Io;
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls as tls;
use s2n_quic::{Client, Server};
use sys::affinity::pin_to;
use sys::clock::thread_cpu;
use trial::Direction;
use trial::stats::{Arms, compare};

type Failed = Box<dyn Error + Send + Sync>;

/// Payloads of 1452 bytes: s2n-quic counts the headers of IPv4 and UDP, too.
const MTU: u16 = 1452 + 28;
const CHUNK: [u8; 1 << 18] = [0x5a; 1 << 18];
/// As quinn's transfers have it.
const WINDOW_BYTES: u64 = 8 << 20;

fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual: u64| arguments.next().map_or(Ok(usual), |text| text.parse());
    let (bytes, pairs) = (number(1_000_000_000)?, number(15)?);
    let cores = transfers::cores(&Host::of(None));
    let identity = Identity::generate(&["localhost"])?;
    let quinn = |stack| {
        let transfer = Transfer::cold(stack, bytes);
        let done = transfer.run(&identity, cores, Slice::whole(Duration::ZERO));
        let done = done.map_err(|stopped| format!("{stopped:?}"))?;
        let cpu = done.sender + done.receiver;
        Ok::<_, Failed>(cpu.as_secs_f64() * 1e9 / done.bytes as f64)
    };
    let mut all = Vec::new();
    for round in 0..=pairs {
        // Another order each time: whoever is first has another neighbour.
        let mut of = [0.0; 3];
        for turn in 0..3 {
            let arm = (turn + round as usize) % 3;
            of[arm] = match arm {
                0 => s2n(bytes, cores)?,
                1 => quinn(Stack::Stock)?,
                _ => quinn(Stack::Together)?,
            };
        }
        // The first warms up.
        if round > 0 {
            println!(
                "s2n-quic {:.2}, quinn {:.2}, offloaded {:.2} CPU s/GB",
                of[0], of[1], of[2]
            );
            all.push(of);
        }
    }
    let ratio = |arm: usize, reference: usize, words: &str| {
        let pairs = all.iter().map(|of| (1.0 / of[arm], 1.0 / of[reference]));
        let ratio = compare(Arms::default(), Direction::Higher, pairs.collect())?;
        println!(
            "{words}: {:.2} ({:.2}–{:.2})",
            ratio.ratio, ratio.low, ratio.high
        );
        Ok::<_, Failed>(())
    };
    ratio(2, 0, "bytes by CPU second, offloaded over s2n-quic")?;
    ratio(0, 1, "s2n-quic over stock quinn")?;
    ratio(2, 1, "offloaded over stock quinn")
}

fn inside<T>(work: impl Future<Output = T>) -> Result<T, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(work))
}

fn io(port_of: SocketAddr) -> Result<Io, Failed> {
    let io = Io::builder()
        .with_receive_address(port_of)?
        .with_initial_mtu(MTU)?
        .with_max_mtu(MTU)?;
    Ok(io.build()?)
}

fn limits() -> Result<Limits, Failed> {
    let limits = Limits::new()
        .with_data_window(WINDOW_BYTES)?
        .with_bidirectional_local_data_window(WINDOW_BYTES)?
        .with_bidirectional_remote_data_window(WINDOW_BYTES)?;
    Ok(limits)
}

/// CPU s/GB of one transfer by s2n-quic, both ends.
fn s2n(bytes: u64, cores: Cores) -> Result<f64, Failed> {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let (cert, key) = (certified.cert.pem(), certified.signing_key.serialize_pem());
    let (address, at) = mpsc::channel();
    let own_cert = cert.clone();
    let sending = thread::spawn(move || -> Result<Duration, Failed> {
        pin_to(cores.worker)?;
        inside(async {
            let tls = tls::Server::builder()
                .with_certificate(own_cert, key)?
                .build()?;
            let mut server = Server::builder()
                .with_tls(tls)?
                .with_io(io((Ipv4Addr::LOCALHOST, 0).into())?)?
                .with_limits(limits()?)?
                .start()?;
            address.send(server.local_addr()?)?;
            // As quinn's: from when the endpoint is there.
            let before = thread_cpu();
            let mut connection = server.accept().await.ok_or("nobody came")?;
            let stream = connection.accept_bidirectional_stream().await?;
            let mut stream = stream.ok_or("no stream")?;
            while stream.receive().await?.is_some() {}
            let mut left = bytes;
            while left > 0 {
                let now = left.min(CHUNK.len() as u64);
                stream.send(Bytes::from_static(&CHUNK[..now as usize])).await?;
                left -= now;
            }
            stream.finish()?;
            // Until the client has all, and goes.
            let _ = connection.accept_bidirectional_stream().await;
            Ok::<_, Failed>(thread_cpu() - before)
        })?
    });
    let receiving = thread::spawn(move || -> Result<(Duration, u64), Failed> {
        pin_to(cores.client)?;
        let server = at.recv()?;
        inside(async {
            let tls = tls::Client::builder().with_certificate(cert)?.build()?;
            let client = Client::builder()
                .with_tls(tls)?
                .with_io(io((Ipv4Addr::LOCALHOST, 0).into())?)?
                .with_limits(limits()?)?
                .start()?;
            let before = thread_cpu();
            let connect = Connect::new(server).with_server_name("localhost");
            let mut connection = client.connect(connect).await?;
            let mut stream = connection.open_bidirectional_stream().await?;
            stream.send(Bytes::copy_from_slice(&bytes.to_be_bytes())).await?;
            stream.finish()?;
            let mut got = 0;
            while let Some(chunk) = stream.receive().await? {
                got += chunk.len() as u64;
            }
            connection.close(0_u32.into());
            // Until the server knows.
            let mut client = client;
            client.wait_idle().await?;
            Ok::<_, Failed>((thread_cpu() - before, got))
        })?
    });
    let (receiver, got) = receiving.join().map_err(|_| "the client panicked")??;
    let sender = sending.join().map_err(|_| "the server panicked")??;
    if got != bytes {
        return Err(format!("{got} bytes came of {bytes}").into());
    }
    Ok((sender + receiver).as_secs_f64() * 1e9 / bytes as f64)
}
