//! A client and a server of quinn.

use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

use futures_util::future::try_join_all;
use offload::Offload;
use offload::perf::{self, BUFFER_BYTES, Identity, Trust, Validation, Wanted};
use quinn::{Connection, Endpoint, TransportConfig, congestion};
use sys::clock::thread_cpu;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::{
    Answered, Asked, Congestion, Course, End, LOOK, Start, Transfer, TransfersError, Turns, failed,
};
use crate::subject::Stopped;

fn runtime() -> Result<Runtime, TransfersError> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// The path is known; all stacks have the same.
fn transport(transfer: Transfer, offload: &Offload) -> TransportConfig {
    let mut transport = perf::transport(offload, Some(transfer.payload_bytes));
    match transfer.congestion {
        Congestion::Cubic => {}
        Congestion::Bbr => {
            let mut bbr = congestion::BbrConfig::default();
            bbr.initial_window(perf::initial_window(transfer.payload_bytes));
            transport.congestion_controller_factory(Arc::new(bbr));
        }
    }
    if let Some(bytes) = transfer.window_bytes {
        let windows = transport.send_window(bytes.into());
        windows
            .stream_receive_window(bytes.into())
            .receive_window(bytes.into());
    }
    transport
}

/// An endpoint of the transfer's stack, and what its socket buffers if that is too little.
fn endpoint(
    transfer: Transfer,
    own: &End,
    (identity, offload): (&Identity, &Offload),
    is_server: bool,
) -> Result<(Endpoint, Option<usize>), TransfersError> {
    let (socket, buffers) = perf::socket(own.address.into(), BUFFER_BYTES)?;
    let short = (buffers.got_bytes < buffers.asked_bytes).then_some(buffers.got_bytes);
    let transport = Arc::new(transport(transfer, offload));
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
    own: &End,
    (identity, offload): (&Identity, &Offload),
    (address, ended): (&Sender<SocketAddr>, Receiver<()>),
) -> Result<Answered, TransfersError> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let (endpoint, _) = endpoint(transfer, own, (identity, offload), true)?;
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
    own: &End,
    (identity, offload): (&Identity, &Offload),
    (server, course): (SocketAddr, Course<'_>),
) -> Result<Asked, Stopped> {
    let runtime = runtime().map_err(failed)?;
    runtime.block_on(async {
        let made = endpoint(transfer, own, (identity, offload), false);
        let (endpoint, short) = made.map_err(failed)?;
        if transfer.start == Start::ZeroRtt {
            // Its ticket lets the first that counts resume.
            let met = meet(&endpoint, server).await.map_err(failed)?;
            met.close(0_u32.into(), b"");
        }
        let mut turns = Turns::begin(course);
        while !turns.is_over() {
            let begin = Instant::now();
            let mut running = std::pin::pin!(one(transfer, &endpoint, server, course));
            let (connection, bytes) = loop {
                match timeout(LOOK, &mut running).await {
                    Ok(done) => break done.map_err(failed)?,
                    Err(_) if begin.elapsed() > course.limit => {
                        return Err(failed(TransfersError::Late(course.limit)));
                    }
                    Err(_) => course.check()?,
                }
            };
            turns.done(begin, bytes)?;
            connection.close(0_u32.into(), b"");
        }
        let asked = turns.asked(short);
        endpoint.close(0_u32.into(), b"");
        let _ = timeout(LOOK, endpoint.wait_idle()).await;
        Ok(asked)
    })
}

/// A server that is met for the first time.
async fn meet(endpoint: &Endpoint, server: SocketAddr) -> Result<Connection, TransfersError> {
    let connection = endpoint.connect(server, "localhost")?.await?;
    perf::transfer(&connection, 0, 1).await?;
    Ok(connection)
}

/// One transfer by a connection of its own; how many bytes came.
async fn one(
    transfer: Transfer,
    endpoint: &Endpoint,
    server: SocketAddr,
    course: Course<'_>,
) -> Result<(Connection, u64), TransfersError> {
    let _ = (course.watch)(0);
    let connecting = endpoint.connect(server, "localhost")?;
    let connection = match transfer.start {
        Start::ZeroRtt => match connecting.into_0rtt() {
            Ok((connection, _)) => connection,
            Err(_) => return Err(TransfersError::NotResumed),
        },
        Start::Cold => connecting.await?,
    };
    let came = Cell::new(0_u64);
    let (streams, all) = (u64::from(transfer.streams.max(1)), transfer.bytes);
    let downloads = (0..streams).map(|stream| {
        let part = all / streams + u64::from(stream < all % streams);
        let mut before = 0;
        // What is watched is all of them.
        let watch = {
            let came = &came;
            move |bytes| {
                came.set(came.get() + bytes - before);
                before = bytes;
                (course.watch)(came.get())
            }
        };
        perf::download(&connection, part, watch)
    });
    try_join_all(downloads).await?;
    Ok((connection, came.get()))
}
