//! A client and a server of TCP, with TLS or without: blocking calls, a thread each.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Instant;

use offload::perf::{self, Identity, Trust, Wanted};
use rustix::net::sockopt;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, Stream};
use sys::clock::thread_cpu;

use super::{
    Answered, Asked, Congestion, Course, End, Ends, LIMIT, LOOK, Stack, Start, Transfer,
    TransfersError, Turns, failed,
};
use crate::subject::Stopped;

/// Written and read by one call.
const CHUNK_BYTES: usize = 1 << 18;

pub(super) fn serve(
    transfer: Transfer,
    own: &End,
    identity: &Identity,
    (address, ended): (&Sender<SocketAddr>, &Receiver<()>),
) -> Result<Answered, TransfersError> {
    let listener = TcpListener::bind(own.address)?;
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
            Err(TransfersError::Io(error)) => match error.kind() {
                // That last call, before the client said that it has ended.
                ErrorKind::UnexpectedEof => break,
                // It wants no more.
                ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {}
                _ => return Err(error.into()),
            },
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
    prepare(&stream, transfer.congestion)?;
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
    ends: &Ends,
    identity: &Identity,
    (server, course): (SocketAddr, Course<'_>),
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
    // Wakes the server, which waits for one more; not over a link that may be full.
    let wake = || TcpStream::connect(server);
    match &ends.server.namespace {
        Some(namespace) => drop(namespace.run(wake)),
        None => drop(wake()),
    }
    ended
}

fn turns(
    transfer: Transfer,
    tls: &Arc<ClientConfig>,
    server: SocketAddr,
    course: Course<'_>,
) -> Result<Asked, Stopped> {
    if transfer.start == Start::ZeroRtt {
        let watch = &|_| ControlFlow::Continue(());
        one(transfer, tls, server, (1, Course { watch, ..course }))?;
    }
    let mut turns = Turns::begin(course);
    while !turns.is_over() {
        let begin = Instant::now();
        let bytes = one(transfer, tls, server, (transfer.bytes, course))?;
        turns.done(begin, bytes)?;
    }
    Ok(turns.asked(None))
}

fn one(
    transfer: Transfer,
    tls: &Arc<ClientConfig>,
    server: SocketAddr,
    (bytes, course): (u64, Course<'_>),
) -> Result<u64, Stopped> {
    let io = |error: std::io::Error| failed(error.into());
    let _ = (course.watch)(0);
    let mut stream = TcpStream::connect(server).map_err(io)?;
    prepare(&stream, transfer.congestion).map_err(failed)?;
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
            stream.sock.set_read_timeout(Some(LOOK)).map_err(io)?;
            drain(&mut stream, bytes, course)
        }
        _ => {
            stream.write_all(&bytes.to_be_bytes()).map_err(io)?;
            stream.set_read_timeout(Some(LOOK)).map_err(io)?;
            drain(&mut stream, bytes, course)
        }
    }
}

fn prepare(stream: &TcpStream, congestion: Congestion) -> Result<(), TransfersError> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    let name = congestion.name();
    match sockopt::set_tcp_congestion(stream, name) {
        // Which ones users may take is the host's decision; its usual one they may.
        Err(rustix::io::Errno::PERM) => Err(TransfersError::Congestion(name)),
        set => Ok(set.map_err(std::io::Error::from)?),
    }
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

/// How many bytes came. Reads give up now and then, to look whether it is still wanted.
fn drain(stream: &mut impl Read, bytes: u64, course: Course<'_>) -> Result<u64, Stopped> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let (mut left, begin) = (bytes, Instant::now());
    while left > 0 {
        match stream.read(&mut chunk) {
            Ok(0) => return Err(failed(TransfersError::Server)),
            Ok(got) => left -= (got as u64).min(left),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut if begin.elapsed() < course.limit => {}
                ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                    return Err(failed(TransfersError::Late(course.limit)));
                }
                _ => return Err(failed(error.into())),
            },
        }
        course.check()?;
        if left < bytes && (course.watch)(bytes - left).is_break() {
            break;
        }
    }
    Ok(bytes - left)
}
