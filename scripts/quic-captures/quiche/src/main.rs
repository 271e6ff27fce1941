//! Runs a quiche client and server over loopback and writes what each stream had, as
//! aioquic_capture.py does.
//!
//!     quiche-capture CASE PORT KEYLOG TRUTH
//!
//! cert.pem and key.pem are in the folder CERTIFICATES. The case chacha20 wants
//! OPENSSL_ia32cap=~0x200000200000000: BoringSSL prefers AES where the CPU has it.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use quiche::{Config, Connection, ConnectionId, Header, Type};
use sha2::{Digest, Sha256};

type Error = Box<dyn std::error::Error>;

/// Connection, stream and sender; what came, and whether that is all.
type Truth = BTreeMap<(String, u64, &'static str), (Vec<u8>, bool)>;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) % bound
    }

    fn bytes(&mut self, count: u64) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }

    fn some(&mut self) -> Vec<u8> {
        let count = 1 + self.below(2_000);
        self.bytes(count)
    }
}

/// One end of a connection: it reads what comes and sends what waits.
struct End {
    connection: Connection,
    sockets: Vec<UdpSocket>,
    from: &'static str,
    unsent: HashMap<u64, Vec<u8>>,
}

impl End {
    fn send_on(&mut self, stream: u64, data: Vec<u8>) {
        self.unsent.insert(stream, data);
    }

    fn push(&mut self) -> Result<(), Error> {
        let mut room = [0; 1350];
        for (stream, data) in &mut self.unsent {
            match self.connection.stream_send(*stream, data, true) {
                Ok(bytes) => drop(data.drain(..bytes)),
                Err(quiche::Error::Done) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.unsent.retain(|_, data| !data.is_empty());
        loop {
            let (bytes, info) = match self.connection.send(&mut room) {
                Err(quiche::Error::Done) => return Ok(()),
                sent => sent?,
            };
            let is_own = |one: &&UdpSocket| one.local_addr().is_ok_and(|own| own == info.from);
            let socket = self.sockets.iter().find(is_own).ok_or("no such path")?;
            socket.send_to(&room[..bytes], info.to)?;
        }
    }

    /// Streams that are whole now.
    fn read(&mut self, id: &str, truth: &mut Truth) -> Result<Vec<u64>, Error> {
        let mut whole = Vec::new();
        let mut room = [0; 4096];
        for stream in self.connection.readable() {
            let own = truth.entry((id.to_owned(), stream, self.from)).or_default();
            loop {
                let (bytes, is_last) = match self.connection.stream_recv(stream, &mut room) {
                    Err(quiche::Error::Done) => break,
                    read => read?,
                };
                own.0.extend(&room[..bytes]);
                own.1 |= is_last;
                if is_last {
                    whole.push(stream);
                    break;
                }
            }
        }
        Ok(whole)
    }

    fn receive(&mut self) -> Result<(), Error> {
        for socket in &self.sockets {
            let to = socket.local_addr()?;
            while let Some((mut packet, from)) = receive(socket) {
                let info = quiche::RecvInfo { from, to };
                let _ = self.connection.recv(&mut packet, info);
            }
        }
        Ok(())
    }

    /// As many ids to spare as the other side takes.
    fn give_ids(&mut self, random: &mut Random) -> Result<(), Error> {
        while self.connection.is_established() && self.connection.scids_left() > 0 {
            let spare = ConnectionId::from_vec(random.bytes(16));
            let token = u128::from(random.below(1 << 40));
            self.connection.new_scid(&spare, token, false)?;
        }
        Ok(())
    }

    fn tick(&mut self) {
        if self.connection.timeout() == Some(Duration::ZERO) {
            self.connection.on_timeout();
        }
    }
}

fn socket(port: u16) -> Result<UdpSocket, Error> {
    let socket = UdpSocket::bind(("127.0.0.1", port))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn receive(socket: &UdpSocket) -> Option<(Vec<u8>, SocketAddr)> {
    let mut room = vec![0; 65_535];
    let (bytes, from) = socket.recv_from(&mut room).ok()?;
    room.truncate(bytes);
    Some((room, from))
}

fn config() -> Result<Config, Error> {
    let mut config = Config::new(quiche::PROTOCOL_VERSION)?;
    config.set_application_protos(&[b"hq-interop"])?;
    config.verify_peer(false);
    config.set_max_idle_timeout(10_000);
    config.set_initial_max_data(1 << 20);
    config.set_initial_max_stream_data_bidi_local(1 << 16);
    config.set_initial_max_stream_data_bidi_remote(1 << 16);
    config.set_initial_max_stream_data_uni(1 << 16);
    config.set_initial_max_streams_bidi(20);
    config.set_initial_max_streams_uni(20);
    config.set_active_connection_id_limit(4);
    config.set_max_send_udp_payload_size(1350);
    config.enable_early_data();
    config.log_keys();
    Ok(config)
}

struct Pair<'r> {
    name: &'r str,
    server: Config,
    listener: UdpSocket,
    random: Random,
    truth: Truth,
}

impl Pair<'_> {
    fn id(&mut self) -> ConnectionId<'static> {
        ConnectionId::from_vec(self.random.bytes(16))
    }

    /// The server's answer to the first packet of a client: its end, or a Retry packet.
    fn accept(&mut self, packet: &mut [u8], from: SocketAddr) -> Result<Option<End>, Error> {
        let header = Header::from_slice(packet, quiche::MAX_CONN_ID_LEN)?;
        if header.ty != Type::Initial {
            return Ok(None);
        }
        let token = header.token.as_deref().unwrap_or_default();
        let mut own = self.id();
        let mut first = None;
        if self.name == "retry" {
            if token.is_empty() {
                // As a token the id alone does: nobody forges anything here.
                let (to, old) = (&header.scid, &header.dcid);
                let mut room = [0; 1350];
                let bytes = quiche::retry(to, old, &own, old, header.version, &mut room)?;
                self.listener.send_to(&room[..bytes], from)?;
                return Ok(None);
            }
            own = header.dcid.into_owned();
            first = Some(ConnectionId::from_ref(token));
        }
        let here = self.listener.local_addr()?;
        Ok(Some(End {
            connection: quiche::accept(&own, first.as_ref(), here, from, &mut self.server)?,
            sockets: vec![self.listener.try_clone()?],
            from: "client",
            unsent: HashMap::new(),
        }))
    }

    /// A connection of that many rounds; gives its session, to begin the next with.
    fn connect(
        &mut self,
        keylog: std::fs::File,
        session: Option<Vec<u8>>,
        rounds: u64,
    ) -> Result<Vec<u8>, Error> {
        let to = self.listener.local_addr()?;
        let own = self.id();
        let first = socket(0)?;
        let here = first.local_addr()?;
        let connection = quiche::connect(Some("localhost"), &own, here, to, &mut config()?)?;
        let id = connection.destination_id();
        let id = id.iter().fold(String::new(), |mut id, byte| {
            let _ = write!(id, "{byte:02x}");
            id
        });
        let mut client = End {
            connection,
            sockets: vec![first],
            from: "server",
            unsent: HashMap::new(),
        };
        client.connection.set_keylog(Box::new(keylog));
        if let Some(session) = &session {
            client.connection.set_session(session)?;
        }
        // The client knows only then whether it may send early data.
        client.push()?;
        let (mut server, mut asked, mut left) = (None, 0, 0);
        let end = Instant::now() + Duration::from_secs(20);
        while !client.connection.is_closed() {
            if Instant::now() > end {
                return Err("it takes too long".into());
            }
            if left == 0 {
                left = self.go_on(&mut client, &mut asked, rounds)?;
            }
            client.push()?;
            self.serve(&mut server, &id)?;
            client.receive()?;
            left -= client.read(&id, &mut self.truth)?.len();
            client.tick();
            client.give_ids(&mut self.random)?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(client.connection.session().unwrap_or_default().to_vec())
    }

    /// Moves, closes or asks on new streams; gives how many are to be answered.
    fn go_on(&mut self, client: &mut End, asked: &mut u64, rounds: u64) -> Result<usize, Error> {
        let connection = &mut client.connection;
        if self.name == "migration" && *asked == 1 && client.sockets.len() == 1 {
            // Spare ids come with the server's first packets behind the handshake.
            if connection.available_dcids() > 0 {
                client.sockets.push(socket(0)?);
                connection.migrate_source(client.sockets[1].local_addr()?)?;
            }
        } else if *asked == rounds {
            if client.unsent.is_empty() {
                let _ = connection.close(true, 0, b"");
            }
        } else if connection.is_established() || connection.is_in_early_data() {
            for stream in 0..3 {
                client.send_on(4 * (3 * *asked + stream), self.random.some());
            }
            client.send_on(2 + 4 * *asked, self.random.some());
            *asked += 1;
            return Ok(3);
        }
        Ok(0)
    }

    /// What the server does with what has come.
    fn serve(&mut self, server: &mut Option<End>, id: &str) -> Result<(), Error> {
        if server.is_none() {
            let Some((mut packet, from)) = receive(&self.listener) else {
                return Ok(());
            };
            *server = self.accept(&mut packet, from)?;
            if let Some(server) = server {
                let to = self.listener.local_addr()?;
                let info = quiche::RecvInfo { from, to };
                server.connection.recv(&mut packet, info)?;
            }
        }
        let Some(server) = server else { return Ok(()) };
        server.receive()?;
        for stream in server.read(id, &mut self.truth)? {
            if stream % 4 == 0 {
                server.send_on(stream, self.random.some());
            }
        }
        server.give_ids(&mut self.random)?;
        server.push()?;
        server.tick();
        Ok(())
    }

    fn json(&self) -> String {
        let row = |(own, (data, is_whole)): (&(String, u64, &str), &(Vec<u8>, bool))| {
            let (connection, id, from) = own;
            let (bytes, sha256) = (data.len(), format!("{:x}", Sha256::digest(data)));
            format!(
                " {{\n  \"connection\": \"{connection}\",\n  \"id\": {id},\n  \"from\": \"{from}\",\
                 \n  \"bytes\": {bytes},\n  \"sha256\": \"{sha256}\",\n  \"is_whole\": {is_whole}\n }}"
            )
        };
        let rows: Vec<_> = self.truth.iter().map(row).collect();
        format!("[\n{}\n]", rows.join(",\n"))
    }
}

fn main() -> Result<(), Error> {
    let all: Vec<_> = std::env::args().skip(1).collect();
    let [name, port, keylog, truth] = &all[..] else {
        return Err("usage: quiche-capture CASE PORT KEYLOG TRUTH".into());
    };
    let rounds = match name.as_str() {
        "plain" | "chacha20" | "retry" => 1,
        "migration" | "zero-rtt" => 2,
        _ => return Err("cases: plain, chacha20, retry, migration, zero-rtt".into()),
    };
    let folder = std::env::var("CERTIFICATES")?;
    let mut server = config()?;
    server.load_cert_chain_from_pem_file(&format!("{folder}/cert.pem"))?;
    server.load_priv_key_from_pem_file(&format!("{folder}/key.pem"))?;
    let mut pair = Pair {
        name,
        server,
        listener: socket(port.parse()?)?,
        random: Random(0x9e37_79b9_7f4a_7c15 ^ name.len() as u64),
        truth: Truth::new(),
    };
    let log = std::fs::File::create(keylog)?;
    if name == "zero-rtt" {
        let session = pair.connect(log.try_clone()?, None, 1)?;
        pair.connect(log, Some(session), 1)?;
    } else {
        pair.connect(log, None, rounds)?;
    }
    std::fs::write(truth, pair.json())?;
    Ok(())
}
