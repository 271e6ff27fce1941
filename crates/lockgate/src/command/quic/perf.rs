//! `lockgate quic perf`

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use kit::transfers::Stack;
use offload::Offload;
use offload::perf::{self, BUFFER_BYTES, Identity, Served, Trust, Validation, Wanted};
use quinn::{Endpoint, TransportConfig};
use sys::clock::thread_cpu;
use tokio::runtime::{Builder, Runtime};

use crate::cli::{Protection, QuicClientArguments, QuicEndArguments, QuicServerArguments};
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::interrupt;

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// Who does not answer for so long is gone.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two key updates of a client that is to make them.
const STEP: Duration = Duration::from_millis(20);
/// And between two moves.
const STEPS_A_MOVE: u32 = 5;
/// A client waits for an end of its connections no longer.
const CLOSING: Duration = Duration::from_secs(1);

fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .or_failed()
}

fn offload(protection: Protection) -> Result<Offload, Failure> {
    let kernels = crypto::by_name("kernels").or_failed()?;
    let stack = match protection {
        Protection::Stock => Stack::Stock,
        Protection::Coalesced => Stack::Coalesced,
        Protection::Inline => Stack::Inline,
        Protection::Offloaded => Stack::Together,
        Protection::Worker => Stack::Worker,
    };
    stack.offload(&kernels).or_failed()
}

fn transport(offload: &Offload, payload_bytes: Option<u16>) -> Arc<TransportConfig> {
    let mut transport = perf::transport(offload, payload_bytes);
    let patience = PATIENCE.try_into().expect("a few seconds");
    transport.max_idle_timeout(Some(patience));
    Arc::new(transport)
}

/// Inside a runtime.
fn endpoint(
    end: &QuicEndArguments,
    offload: &Offload,
    server: Option<quinn::ServerConfig>,
    address: SocketAddr,
    console: &Console,
) -> Result<Endpoint, Failure> {
    let socket = perf::socket(address, BUFFER_BYTES);
    let (socket, buffers) = socket
        .with_context(|| format!("no socket on {address}"))
        .or_failed()?;
    if buffers.got_bytes < buffers.asked_bytes {
        console.notice(&format!(
            "the socket buffers {} KiB only: bursts may be lost; raise net.core.rmem_max and \
             net.core.wmem_max to {}",
            buffers.got_bytes / 1024,
            buffers.asked_bytes
        ));
    }
    let payload_bytes = end.payload_bytes.unwrap_or(1472);
    perf::endpoint(offload, server, socket, payload_bytes).or_failed()
}

pub(super) fn serve(arguments: &QuicServerArguments, console: &Console) -> Result<Exit, Failure> {
    let identity = match (&arguments.certificate, &arguments.key) {
        (Some(certificate), Some(key)) => Identity::read(certificate, key).or_usage()?,
        _ => Identity::generate(&["localhost"]).or_failed()?,
    };
    let offload = offload(arguments.end.protection)?;
    let stop = interrupt::flag().or_failed()?;
    runtime()?.block_on(async {
        let transport = transport(&offload, arguments.end.payload_bytes);
        let server = perf::server(&offload, &identity, transport).or_failed()?;
        let endpoint = endpoint(
            &arguments.end,
            &offload,
            Some(server),
            arguments.listen,
            console,
        )?;
        let address = endpoint.local_addr().or_failed()?;
        console.print(&format!("listening on {address}\n"))?;
        console.notice("serving; Ctrl-C ends");
        let served = Served::default();
        let validation = match arguments.retry {
            true => Validation::Retry,
            false => Validation::None,
        };
        let before = thread_cpu();
        let serving = tokio::spawn(perf::serve(endpoint.clone(), served.clone(), validation));
        while !stop.load(Ordering::Relaxed) {
            tokio::time::sleep(LOOK).await;
        }
        serving.abort();
        endpoint.close(0_u32.into(), b"the server ends");
        let _ = tokio::time::timeout(CLOSING, endpoint.wait_idle()).await;
        let sent = served.counts();
        let text = format!(
            "{} connections, {} datagrams sent, {} packets lost; {:.2} s of CPU time{}\n",
            sent.connections,
            sent.datagrams,
            sent.lost,
            (thread_cpu() - before).as_secs_f64(),
            protected(&offload)
        );
        console.print(&text)?;
        Ok(Exit::Ok)
    })
}

pub(super) fn ask(arguments: &QuicClientArguments, console: &Console) -> Result<Exit, Failure> {
    let trusted = match &arguments.trust {
        Some(path) => Some(Identity::certificates(path).or_usage()?),
        None if arguments.insecure => None,
        None => {
            return Err(Failure::new(
                Exit::Usage,
                "whom to trust? --trust FILE names certificates, --insecure trusts whoever answers",
            ));
        }
    };
    let offload = offload(arguments.end.protection)?;
    let trust = trusted.map_or(Trust::Anyone, Trust::Certificates);
    runtime()?.block_on(async {
        let own: SocketAddr = match arguments.server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let mut endpoint = endpoint(&arguments.end, &offload, None, own, console)?;
        let wanted = Wanted {
            trust,
            suite: None,
            resumes: true,
        };
        let transport = transport(&offload, arguments.end.payload_bytes);
        endpoint.set_default_client_config(perf::client(&offload, &wanted, transport).or_failed()?);
        let stop = interrupt::flag().or_failed()?;
        for number in 1..=arguments.transfers {
            let mut running = std::pin::pin!(one(arguments, &endpoint, number));
            let line = loop {
                match tokio::time::timeout(LOOK, &mut running).await {
                    Ok(line) => break line.or_failed()?,
                    Err(_) if stop.load(Ordering::Relaxed) => return Ok(Exit::Interrupted),
                    Err(_) => {}
                }
            };
            console.print(&line)?;
        }
        endpoint.close(0_u32.into(), b"done");
        let _ = tokio::time::timeout(CLOSING, endpoint.wait_idle()).await;
        let counts = protected(&offload);
        if !counts.is_empty() {
            console.notice(counts.trim_start_matches("; "));
        }
        Ok(Exit::Ok)
    })
}

/// One transfer, by a connection of its own; what to say of it.
async fn one(
    arguments: &QuicClientArguments,
    endpoint: &Endpoint,
    number: u32,
) -> anyhow::Result<String> {
    let (begin, cpu) = (Instant::now(), thread_cpu());
    let to = arguments.server;
    let connecting = endpoint
        .connect(to, &arguments.name)
        .with_context(|| format!("no connection to {to}"))?;
    let (connection, how) = match connecting.into_0rtt() {
        Ok((connection, _)) => (connection, "0-RTT"),
        Err(connecting) => {
            let connection = connecting.await;
            let connection = connection.map_err(|error| {
                anyhow!(error).context(format!(
                    "no connection to {to}; is the server there, and is its certificate for \
                     '{}'?",
                    arguments.name
                ))
            });
            (connection?, "cold")
        }
    };
    let handshake = begin.elapsed();
    let transfer = perf::transfer(&connection, arguments.upload, arguments.download);
    let mut transfer = std::pin::pin!(transfer);
    let mut step = 0_u32;
    while tokio::time::timeout(STEP, &mut transfer)
        .await
        .map_or(Ok(true), |done| done.map(|()| false))?
    {
        step += 1;
        if arguments.update_keys {
            connection.force_key_update();
        }
        if arguments.moves && step.is_multiple_of(STEPS_A_MOVE) {
            let own = SocketAddr::new(endpoint.local_addr()?.ip(), 0);
            endpoint.rebind(perf::socket(own, BUFFER_BYTES)?.0)?;
        }
    }
    let (elapsed, cpu) = (begin.elapsed(), thread_cpu() - cpu);
    let stats = connection.stats();
    connection.close(0_u32.into(), b"done");
    let bytes = (arguments.upload + arguments.download) as f64;
    let mut line = format!(
        "transfer {number}, {how}: {:.3} GB in {:.4} s, {:.2} Gbit/s",
        bytes / 1e9,
        elapsed.as_secs_f64(),
        8.0 * bytes / 1e9 / elapsed.as_secs_f64()
    );
    let _ = writeln!(
        line,
        "; {:.3} CPU s/GB here; handshake {:.2} ms; datagrams of up to {} B, {} packets lost",
        cpu.as_secs_f64() / (bytes / 1e9),
        handshake.as_secs_f64() * 1e3,
        stats.path.current_mtu,
        stats.path.lost_packets
    );
    Ok(line)
}

/// How 1-RTT packets were protected; empty where that was not ours to do.
fn protected(offload: &Offload) -> String {
    let counts = offload.counts();
    let together = counts.sealed_together + counts.opened_together;
    let alone = counts.sealed_alone + counts.opened_alone;
    match together + alone {
        0 => String::new(),
        _ => format!("; {together} packets sealed or opened with others, {alone} alone"),
    }
}
