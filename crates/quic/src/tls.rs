//! As much of TLS's handshake as says which secrets and which cipher packets have
//! (RFC 8446 §4).

/// Largest handshake message that is looked into.
pub(crate) const MESSAGE_BYTES_MAX: usize = 1 << 17;

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const ENCRYPTED_EXTENSIONS: u8 = 8;
const HEAD_BYTES: usize = 4;
pub(crate) const RANDOM_BYTES: usize = 32;

/// RFC 9001 §8.2.
const TRANSPORT_PARAMETERS: u16 = 0x39;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    ClientRandom([u8; RANDOM_BYTES]),
    /// The number of a cipher suite.
    Suite(u16),
    ServerParameters(&'a [u8]),
}

/// Takes the first message of a stream of them: how many bytes it has, and what it says.
/// `None` until all of it is there, or where it is too long.
pub(crate) fn message(stream: &[u8]) -> Option<(usize, Option<Said<'_>>)> {
    let [kind, high, middle, low] = *stream.first_chunk::<HEAD_BYTES>()?;
    let bytes = u32::from_be_bytes([0, high, middle, low]) as usize;
    let body = stream.get(HEAD_BYTES..HEAD_BYTES + bytes)?;
    let said = match kind {
        CLIENT_HELLO => random(body).map(Said::ClientRandom),
        SERVER_HELLO => suite(body).map(Said::Suite),
        ENCRYPTED_EXTENSIONS => parameters(body).map(Said::ServerParameters),
        _ => None,
    };
    Some((HEAD_BYTES + bytes, said))
}

fn random(hello: &[u8]) -> Option<[u8; RANDOM_BYTES]> {
    hello.get(2..)?.first_chunk().copied()
}

/// Behind version, random and session id (§4.1.3).
fn suite(hello: &[u8]) -> Option<u16> {
    let rest = hello.get(2 + RANDOM_BYTES..)?;
    let (session_bytes, rest) = rest.split_first()?;
    let suite = rest.get(usize::from(*session_bytes)..)?.first_chunk()?;
    Some(u16::from_be_bytes(*suite))
}

fn parameters(extensions: &[u8]) -> Option<&[u8]> {
    let mut rest = extensions.get(2..)?;
    while let Some((head, more)) = rest.split_first_chunk::<4>() {
        let [kind, bytes] = [[head[0], head[1]], [head[2], head[3]]].map(u16::from_be_bytes);
        let (body, more) = more.split_at_checked(bytes.into())?;
        if kind == TRANSPORT_PARAMETERS {
            return Some(body);
        }
        rest = more;
    }
    None
}
