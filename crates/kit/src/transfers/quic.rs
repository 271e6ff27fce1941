//! A client and a server of quinn.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

use offload::Offload;
use offload::perf::{self, BUFFER_BYTES, Identity, Trust, Validation, Wanted};
use quinn::{Connection, Endpoint};
use sys::clock::thread_cpu;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::{Answered, Asked, Course, LIMIT, LOOK, Start, Transfer, TransfersError, Turns, failed};
use crate::subject::Stopped;

fn runtime() -> Result<Runtime, TransfersError> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// An endpoint of the transfer's stack, and what its socket buffers if that is too little.
fn endpoint(
    transfer: Transfer,
    identity: &Identity,
    offload: &Offload,
    is_server: bool,
) -> Result<(Endpoint, Option<usize>), TransfersError> {
    let (socket, buffers) = perf::socket((Ipv4Addr::LOCALHOST, 0).into(), BUFFER_BYTES)?;
    let short = (buffers.got_bytes < buffers.asked_bytes).then_some(buffers.got_bytes);
    // The path is known; all stacks have the same.
    let transport = Arc::new(perf::transport(Some(transfer.payload_bytes)));
    let server = match is_server {
        true => Some(perf::server(offload, identity, transport.clone())?),
        false => None,
    };
    let mut endpoint = perf::endpoint(offload, server, socket, transfer.payload_bytes)?;
    let wanted = Wanted {
        trust: Trust::Only(identity),
        suite: Some(transfer.suite),
        resumes: transfer.start == Start::ZeroRtt,
    };
    endpoint.set_default_client_config(perf::client(offload, &wanted, transport)?);
    Ok((endpoint, short))
}

pub(super) fn serve(
    transfer: Transfer,
    identity: &Identity,
    offload: &Offload,
    (address, ended): (&Sender<SocketAddr>, Receiver<()>),
) -> Result<Answered, TransfersError> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let (endpoint, _) = endpoint(transfer, identity, offload, true)?;
        // Whoever asked is gone if nobody takes it.
        let _ = address.send(endpoint.local_addr()?);
        let served = perf::Served::default();
        let (before, worker_before) = (thread_cpu(), offload.worker_time());
        let serving = tokio::spawn(perf::serve(
            endpoint.clone(),
            served.clone(),
            Validation::None,
        ));
        // The channel is closed when the client is done.
        let ended = tokio::task::spawn_blocking(move || ended.recv().is_err());
        let _ = ended.await;
        let cpu = thread_cpu() - before;
        serving.abort();
        endpoint.close(0_u32.into(), b"");
        let worker = offload.worker_time().zip(worker_before);
        let counts = offload.counts();
        let served = served.counts();
        Ok(Answered {
            cpu,
            datagrams: served.datagrams,
            worker: worker.map(|(after, before)| after.saturating_sub(before)),
            messages: counts.messages,
            lost: served.lost,
        })
    })
}

pub(super) fn ask(
    transfer: Transfer,
    identity: &Identity,
    offload: &Offload,
    (server, course): (SocketAddr, Course<'_>),
) -> Result<Asked, Stopped> {
    let runtime = runtime().map_err(failed)?;
    runtime.block_on(async {
        let (endpoint, short) = endpoint(transfer, identity, offload, false).map_err(failed)?;
        if transfer.start == Start::ZeroRtt {
            // Its ticket lets the first that counts resume.
            let met = one(transfer, &endpoint, server, true)
                .await
                .map_err(failed)?;
            met.close(0_u32.into(), b"");
        }
        let mut turns = Turns::begin(course);
        while !turns.is_over() {
            let begin = Instant::now();
            let mut running = std::pin::pin!(one(transfer, &endpoint, server, false));
            let connection = loop {
                match timeout(LOOK, &mut running).await {
                    Ok(done) => break done.map_err(failed)?,
                    Err(_) if begin.elapsed() > LIMIT => return Err(failed(TransfersError::Late)),
                    Err(_) => course.check()?,
                }
            };
            turns.done(begin)?;
            connection.close(0_u32.into(), b"");
        }
        let asked = turns.asked(short);
        endpoint.close(0_u32.into(), b"");
        let _ = timeout(LOOK, endpoint.wait_idle()).await;
        Ok(asked)
    })
}

/// One transfer by a connection of its own.
async fn one(
    transfer: Transfer,
    endpoint: &Endpoint,
    server: SocketAddr,
    is_first: bool,
) -> Result<Connection, TransfersError> {
    let connecting = endpoint.connect(server, "localhost")?;
    let connection = match transfer.start {
        Start::ZeroRtt if !is_first => match connecting.into_0rtt() {
            Ok((connection, _)) => connection,
            Err(_) => return Err(TransfersError::NotResumed),
        },
        _ => connecting.await?,
    };
    let bytes = if is_first { 1 } else { transfer.bytes };
    perf::transfer(&connection, 0, bytes).await?;
    Ok(connection)
}
