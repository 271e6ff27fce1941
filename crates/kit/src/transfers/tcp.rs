//! A client and a server of TCP, with TLS or without: blocking calls, a thread each.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Instant;

use offload::perf::{self, Identity, Trust, Wanted};
use rustix::net::sockopt;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, Stream};
use sys::clock::thread_cpu;

use super::{
    Answered, Asked, Course, LIMIT, Stack, Start, Transfer, TransfersError, Turns, failed,
};
use crate::subject::Stopped;

/// Written and read by one call.
const CHUNK_BYTES: usize = 1 << 18;
/// What QUIC's stacks use, too.
const CONGESTION: &str = "cubic";

pub(super) fn serve(
    transfer: Transfer,
    identity: &Identity,
    address: &Sender<SocketAddr>,
    ended: &Receiver<()>,
) -> Result<Answered, TransfersError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = Arc::new(perf::server_tls(&provider, identity)?);
    let _ = address.send(listener.local_addr()?);
    let before = thread_cpu();
    loop {
        let (stream, _) = listener.accept()?;
        // The client's last call, with nothing to ask, is to wake this thread.
        if matches!(ended.try_recv(), Err(TryRecvError::Disconnected)) {
            break;
        }
        match answer(transfer, &tls, stream) {
            // That last call, before the client said that it has ended.
            Err(TransfersError::Io(error)) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                break;
            }
            other => other?,
        }
    }
    Ok(Answered {
        cpu: thread_cpu() - before,
        ..Answered::default()
    })
}

fn answer(
    transfer: Transfer,
    tls: &Arc<ServerConfig>,
    mut stream: TcpStream,
) -> Result<(), TransfersError> {
    prepare(&stream)?;
    match transfer.stack {
        Stack::TcpTls => {
            let mut connection = ServerConnection::new(tls.clone())?;
            let mut request = [0; 8];
            let early = early_request(&mut connection, &mut stream, &mut request)?;
            let mut stream = Stream::new(&mut connection, &mut stream);
            if !early {
                stream.read_exact(&mut request)?;
            }
            fill(&mut stream, u64::from_be_bytes(request))?;
        }
        _ => {
            let mut request = [0; 8];
            stream.read_exact(&mut request)?;
            fill(&mut stream, u64::from_be_bytes(request))?;
        }
    }
    Ok(())
}

/// The request, where it came with the handshake.
fn early_request(
    connection: &mut ServerConnection,
    stream: &mut TcpStream,
    request: &mut [u8; 8],
) -> Result<bool, TransfersError> {
    let mut got = 0;
    while connection.is_handshaking() {
        connection.complete_io(stream)?;
        if let Some(mut early) = connection.early_data() {
            while got < request.len() {
                match early.read(&mut request[got..]) {
                    Ok(0) | Err(_) => break,
                    Ok(bytes) => got += bytes,
                }
            }
        }
    }
    Ok(got == request.len())
}

pub(super) fn ask(
    transfer: Transfer,
    identity: &Identity,
    server: SocketAddr,
    course: Course<'_>,
) -> Result<Asked, Stopped> {
    let wanted = Wanted {
        trust: Trust::Only(identity),
        suite: Some(transfer.suite),
        resumes: transfer.start == Start::ZeroRtt,
    };
    let provider = rustls::crypto::ring::default_provider();
    let tls = perf::client_tls(&provider, &wanted).map_err(|error| failed(error.into()))?;
    let tls = Arc::new(tls);
    let ended = turns(transfer, &tls, server, course);
    // Wakes the server, which waits for one more.
    let _ = TcpStream::connect(server);
    ended
}

fn turns(
    transfer: Transfer,
    tls: &Arc<ClientConfig>,
    server: SocketAddr,
    course: Course<'_>,
) -> Result<Asked, Stopped> {
    if transfer.start == Start::ZeroRtt {
        one(transfer, tls, server, 1, course)?;
    }
    let mut turns = Turns::begin(course);
    while !turns.is_over() {
        let begin = Instant::now();
        one(transfer, tls, server, transfer.bytes, course)?;
        turns.done(begin)?;
    }
    Ok(turns.asked(None))
}

fn one(
    transfer: Transfer,
    tls: &Arc<ClientConfig>,
    server: SocketAddr,
    bytes: u64,
    course: Course<'_>,
) -> Result<(), Stopped> {
    let io = |error: std::io::Error| failed(error.into());
    let mut stream = TcpStream::connect(server).map_err(io)?;
    prepare(&stream).map_err(failed)?;
    match transfer.stack {
        Stack::TcpTls => {
            let name = ServerName::try_from("localhost").expect("a name");
            let connection = ClientConnection::new(tls.clone(), name);
            let mut connection = connection.map_err(|error| failed(error.into()))?;
            let is_early = match connection.early_data() {
                Some(mut early) => early.write_all(&bytes.to_be_bytes()).is_ok(),
                None => false,
            };
            if transfer.start == Start::ZeroRtt && !is_early && bytes > 1 {
                return Err(failed(TransfersError::NotResumed));
            }
            let mut stream = Stream::new(&mut connection, &mut stream);
            if !is_early {
                stream.write_all(&bytes.to_be_bytes()).map_err(io)?;
            }
            drain(&mut stream, bytes, course)
        }
        _ => {
            stream.write_all(&bytes.to_be_bytes()).map_err(io)?;
            drain(&mut stream, bytes, course)
        }
    }
}

fn prepare(stream: &TcpStream) -> Result<(), TransfersError> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    sockopt::set_tcp_congestion(stream, CONGESTION).map_err(std::io::Error::from)?;
    Ok(())
}

fn fill(stream: &mut impl Write, bytes: u64) -> Result<(), TransfersError> {
    static CHUNK: [u8; CHUNK_BYTES] = [0x5a; CHUNK_BYTES];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(CHUNK_BYTES as u64) as usize;
        stream.write_all(&CHUNK[..now])?;
        left -= now as u64;
    }
    stream.flush()?;
    Ok(())
}

fn drain(stream: &mut impl Read, bytes: u64, course: Course<'_>) -> Result<(), Stopped> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let (mut left, mut reads) = (bytes, 0_u32);
    while left > 0 {
        match stream
            .read(&mut chunk)
            .map_err(|error| failed(error.into()))?
        {
            0 => return Err(failed(TransfersError::Server)),
            got => left -= (got as u64).min(left),
        }
        reads = reads.wrapping_add(1);
        if reads % 1024 == 0 {
            course.check()?;
        }
    }
    Ok(())
}
