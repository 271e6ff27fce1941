//! Sessions: the message by which QEMU hands a guest's key over, and the keys that a
//! device has.
//!
//! The message is a C structure of QEMU's whose layout depends on its version, and is
//! told by its size. Pointers in it are the front-end's and mean nothing here.
//!
//! A session's number means nothing to another device: after a restart, a guest that still
//! names an old one must never get another's key. So numbers begin at random. A front-end
//! that sets sessions up again may ask for their old numbers, so that requests in flight
//! find them: in the message's own field for the number, which QEMU leaves 0.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crypto::{Algorithm, KeyError, KeyMaterial, Operation, RsaBits, RsaScheme};
use engine::{CryptoFunction, Session, SessionError};
use wire::virtio_crypto as virtio;
use wire::virtio_crypto::Opcode;
use zeroize::{Zeroize, Zeroizing};

/// Layouts of `VhostUserCryptoSession`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) bytes: usize,
    session_id: usize,
    info: usize,
    key: usize,
    auth_key: usize,
    has_opcode: bool,
}

/// QEMU up to 7.2.
pub(crate) const LAYOUT_7: Layout = Layout {
    bytes: 632,
    session_id: 0,
    info: 8,
    key: 56,
    auth_key: 120,
    has_opcode: false,
};

/// QEMU from 8.0 on.
pub(crate) const LAYOUT_8: Layout = Layout {
    bytes: 1072,
    session_id: 1064,
    info: 8,
    key: 56,
    auth_key: 120,
    has_opcode: true,
};

const CIPHER_KEY_BYTES_MAX: usize = 64;
const AUTH_KEY_BYTES_MAX: usize = 512;
const ASYM_KEY_BYTES_MAX: usize = 1024;

/// Where an asymmetric key lies, behind its own structure.
const ASYM_KEY: usize = 40;

const DIRECTION_ENCRYPT: u8 = 1;
const DIRECTION_DECRYPT: u8 = 2;

const HASH_MODE_PLAIN: u8 = 1;
const HASH_MODE_AUTH: u8 = 2;

const RSA_PADDING_PKCS1: u32 = 1;
const RSA_HASH_SHA256: u32 = 6;
/// A private key of 2048 bits does not fit into the message.
const KEY_PUBLIC: u32 = 1;

/// Why a guest gets no session. The names of the field's own: no key is among them.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedSession {
    #[error(
        "a session message of {bytes} bytes: QEMU up to 7.2 sends {old}, from 8.0 on {new}",
        old = LAYOUT_7.bytes,
        new = LAYOUT_8.bytes
    )]
    Layout { bytes: usize },
    #[error("operation {0:#x} makes no session that is offered")]
    Opcode(u64),
    #[error("{what} {number} is not offered")]
    Parameter { what: &'static str, number: u32 },
    #[error("a key of {got} bytes: at most {limit}")]
    KeyBytes { got: u32, limit: usize },
    #[error("{0} is not among the algorithms that this device allows")]
    NotAllowed(Algorithm),
    #[error(transparent)]
    Engine(#[from] SessionError),
}

/// What a session message asks for.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Those that the key could be for: of RSA the modulus says which.
    pub(crate) algorithms: Vec<Algorithm>,
    /// `None` of what the request says itself.
    pub(crate) operation: Option<Operation>,
    pub(crate) key: KeyMaterial,
    /// The number that it had with a device that is gone.
    pub(crate) former: Option<u64>,
}

pub(crate) fn layout_of(bytes: usize) -> Option<Layout> {
    [LAYOUT_7, LAYOUT_8]
        .into_iter()
        .find(|one| one.bytes == bytes)
}

/// Reads a message's body; key bytes in it are zeroised.
pub(crate) fn parse(body: &mut [u8]) -> Result<(Layout, Wanted), RefusedSession> {
    let layout = layout_of(body.len());
    let layout = layout.ok_or(RefusedSession::Layout { bytes: body.len() })?;
    let wanted = layout.read(body).map(|wanted| Wanted {
        former: layout.session_of(body).filter(|id| *id > 0),
        ..wanted
    });
    let (from, to) = (layout.key.min(ASYM_KEY), layout.bytes);
    body[from..to].zeroize();
    Ok((layout, wanted?))
}

impl Layout {
    fn read(&self, body: &mut [u8]) -> Result<Wanted, RefusedSession> {
        if !self.has_opcode {
            return self.cipher(body);
        }
        let (low, high) = (u32_at(body, 0), u32_at(body, 4));
        let number = u64::from(high) << 32 | u64::from(low);
        match Opcode::from_number(low).filter(|_| high == 0) {
            Some(Opcode::CreateCipher) => self.cipher(body),
            Some(Opcode::CreateHash) => self.hash(body),
            Some(Opcode::CreateMac) => self.mac(body),
            Some(Opcode::CreateAkcipher) => self.akcipher(body),
            _ => Err(RefusedSession::Opcode(number)),
        }
    }

    fn cipher(&self, body: &mut [u8]) -> Result<Wanted, RefusedSession> {
        let at = |field: usize| u32_at(body, self.info + field * 4);
        let (cipher, key_bytes) = (at(0), at(1));
        let [op_type, direction, ..] = body[self.info + 24..self.info + 28] else {
            unreachable!("four bytes")
        };
        refuse_unless("a chained operation", op_type.into(), virtio::SYM_CIPHER)?;
        refuse_unless("cipher", cipher, virtio::CIPHER_AES_CBC)?;
        let operation = match direction {
            DIRECTION_ENCRYPT => Operation::Encrypt,
            DIRECTION_DECRYPT => Operation::Decrypt,
            other => return Err(parameter("direction", other.into())),
        };
        let key = take_key(body, self.key, key_bytes, CIPHER_KEY_BYTES_MAX)?;
        let algorithm = match key_bytes {
            16 => Algorithm::Aes128Cbc,
            24 => Algorithm::Aes192Cbc,
            32 => Algorithm::Aes256Cbc,
            other => return Err(parameter("an AES key of bytes:", other)),
        };
        Ok(Wanted {
            algorithms: vec![algorithm],
            operation: Some(operation),
            key,
            former: None,
        })
    }

    fn hash(&self, body: &mut [u8]) -> Result<Wanted, RefusedSession> {
        let hash = u32_at(body, self.info + 8);
        let mode = body[self.info + 26];
        refuse_unless("hash mode", mode.into(), HASH_MODE_PLAIN.into())?;
        let algorithm = match hash {
            virtio::HASH_SHA1 => Algorithm::Sha1,
            virtio::HASH_SHA256 => Algorithm::Sha256,
            virtio::HASH_SHA384 => Algorithm::Sha384,
            virtio::HASH_SHA512 => Algorithm::Sha512,
            other => return Err(parameter("hash", other)),
        };
        Ok(Wanted {
            algorithms: vec![algorithm],
            operation: Some(Operation::Hash),
            key: KeyMaterial::take(&mut []),
            former: None,
        })
    }

    fn mac(&self, body: &mut [u8]) -> Result<Wanted, RefusedSession> {
        let (mac, key_bytes) = (u32_at(body, self.info + 8), u32_at(body, self.info + 16));
        let mode = body[self.info + 26];
        refuse_unless("hash mode", mode.into(), HASH_MODE_AUTH.into())?;
        refuse_unless("MAC", mac, virtio::MAC_HMAC_SHA256)?;
        Ok(Wanted {
            algorithms: vec![Algorithm::HmacSha256],
            operation: Some(Operation::Hash),
            key: take_key(body, self.auth_key, key_bytes, AUTH_KEY_BYTES_MAX)?,
            former: None,
        })
    }

    fn akcipher(&self, body: &mut [u8]) -> Result<Wanted, RefusedSession> {
        let at = |offset: usize| u32_at(body, self.info + offset);
        let (algorithm, kind, key_bytes) = (at(0), at(4), at(8));
        refuse_unless("public-key algorithm", algorithm, virtio::AKCIPHER_RSA)?;
        refuse_unless("RSA padding", at(24), RSA_PADDING_PKCS1)?;
        refuse_unless("RSA hash", at(28), RSA_HASH_SHA256)?;
        refuse_unless("kind of key", kind, KEY_PUBLIC)?;
        let key = take_key(body, ASYM_KEY, key_bytes, ASYM_KEY_BYTES_MAX)?;
        let mut wrapped = wrap_rsa(key.expose());
        let sizes = [RsaBits::B2048, RsaBits::B3072, RsaBits::B4096];
        Ok(Wanted {
            algorithms: sizes
                .map(|bits| Algorithm::Rsa(bits, RsaScheme::Pkcs1))
                .to_vec(),
            operation: None,
            key: KeyMaterial::take(&mut wrapped),
            former: None,
        })
    }

    /// The reply: the same size, with nothing but the session in it.
    pub(crate) fn reply(&self, session: Option<u64>) -> Vec<u8> {
        let mut body = vec![0; self.bytes];
        let id = session.map_or(-1, |id| id.cast_signed());
        body[self.session_id..self.session_id + 8].copy_from_slice(&id.to_le_bytes());
        body
    }

    /// What a front-end reads of it.
    pub(crate) fn session_of(&self, body: &[u8]) -> Option<u64> {
        let id = body.get(self.session_id..)?.first_chunk()?;
        u64::try_from(i64::from_le_bytes(*id)).ok()
    }
}

/// A public key as a guest's driver has it, PKCS#1 (RFC 8017 appendix A.1.1), as the
/// engine takes it: SubjectPublicKeyInfo (RFC 5280 §4.1).
fn wrap_rsa(pkcs1: &[u8]) -> Vec<u8> {
    const RSA: [u8; 15] = [
        0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
    ];
    let key = der(0x03, &[&[0x00], pkcs1].concat());
    der(0x30, &[&RSA[..], &key].concat())
}

fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = u16::try_from(content.len()).expect("at most a kilobyte and a few");
    let [high, low] = len.to_be_bytes();
    [&[tag, 0x82, high, low], content].concat()
}

fn take_key(
    body: &mut [u8],
    at: usize,
    bytes: u32,
    limit: usize,
) -> Result<KeyMaterial, RefusedSession> {
    let len = usize::try_from(bytes).unwrap_or(usize::MAX);
    if len > limit {
        return Err(RefusedSession::KeyBytes { got: bytes, limit });
    }
    Ok(KeyMaterial::take(&mut body[at..at + len]))
}

fn refuse_unless(what: &'static str, number: u32, known: u32) -> Result<(), RefusedSession> {
    if number == known {
        Ok(())
    } else {
        Err(parameter(what, number))
    }
}

fn parameter(what: &'static str, number: u32) -> RefusedSession {
    RefusedSession::Parameter { what, number }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes[at..].first_chunk().expect("within the layout");
    u32::from_le_bytes(*field)
}

/// A session as requests name it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) session: Arc<Session>,
    pub(crate) operation: Option<Operation>,
}

/// The sessions of one device. Its queues' workers look one up when they first see it.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<Table>);

#[derive(Debug)]
struct Table {
    slots: Vec<Option<(u64, Known)>>,
    /// Of the first number, and how many there were.
    begin: u32,
    made: u32,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            begin: RandomState::new().build_hasher().finish() as u32,
            made: 0,
        }
    }
}

/// Former numbers are of a slot below.
const FORMER_SLOTS: usize = 4096;

/// A session's number says its slot, so that a queue finds it without a search.
pub(crate) fn slot_of(id: u64) -> usize {
    (id as u32) as usize
}

impl Sessions {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Errors
    /// [`RefusedSession`].
    pub(crate) fn open(
        &self,
        function: &CryptoFunction,
        allowed: &[Algorithm],
        wanted: &Wanted,
    ) -> Result<u64, RefusedSession> {
        let mut refused = RefusedSession::NotAllowed(wanted.algorithms[0]);
        for algorithm in &wanted.algorithms {
            if !allowed.contains(algorithm) {
                continue;
            }
            match function.session(*algorithm, &wanted.key) {
                Ok(session) => {
                    let operation = wanted.operation;
                    let known = Known { session, operation };
                    return Ok(self.table().insert(known, wanted.former));
                }
                // Of RSA: another size.
                Err(SessionError::Key(error @ KeyError::Malformed { .. })) => {
                    refused = SessionError::Key(error).into();
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(refused)
    }

    /// Its key is zeroised as soon as the workers get to it. One that is not there is
    /// closed.
    pub(crate) fn close(&self, function: &CryptoFunction, id: u64) -> bool {
        let known = self.table().remove(id);
        known.is_some_and(|known| {
            function.end_session(&known.session);
            true
        })
    }

    pub(crate) fn find(&self, id: u64) -> Option<Known> {
        let table = self.table();
        let slot = table.slots.get(slot_of(id))?.as_ref();
        slot.filter(|(own, _)| *own == id)
            .map(|(_, known)| known.clone())
    }

    /// Closes all.
    pub(crate) fn clear(&self, function: &CryptoFunction) {
        let mut table = self.table();
        let slots = std::mem::take(&mut table.slots);
        // The next front-end may be the same again.
        table.begin = table.begin.wrapping_add(std::mem::take(&mut table.made));
        drop(table);
        for (_, known) in slots.into_iter().flatten() {
            function.end_session(&known.session);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.table().slots.iter().flatten().count()
    }
}

impl Table {
    fn insert(&mut self, known: Known, former: Option<u64>) -> u64 {
        let id = former.filter(|id| self.is_free(*id));
        let id = id.unwrap_or_else(|| self.next());
        let slot = slot_of(id);
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, None);
        }
        self.slots[slot] = Some((id, known));
        id
    }

    fn next(&mut self) -> u64 {
        let free = self.slots.iter().position(Option::is_none);
        let slot = free.unwrap_or(self.slots.len());
        let number = self.begin.wrapping_add(self.made) & (u32::MAX >> 1);
        self.made = self.made.wrapping_add(1);
        u64::from(number) << 32 | slot as u64
    }

    /// Whether nobody has that number, nor had it from here.
    fn is_free(&self, id: u64) -> bool {
        let slot = slot_of(id);
        let number = ((id >> 32) as u32).wrapping_sub(self.begin) & (u32::MAX >> 1);
        let is_taken = matches!(self.slots.get(slot), Some(Some(_)));
        slot < FORMER_SLOTS && !is_taken && number >= self.made
    }

    fn remove(&mut self, id: u64) -> Option<Known> {
        let slot = self.slots.get_mut(slot_of(id))?;
        let is_it = slot.as_ref().is_some_and(|(own, _)| *own == id);
        is_it.then(|| slot.take())?.map(|(_, known)| known)
    }
}

impl Layout {
    /// Fills a message, for a front-end.
    pub(crate) fn fill(
        &self,
        opcode: u64,
        fields: &[u32],
        flags: [u8; 4],
        (is_asymmetric, key, auth_key): (bool, &[u8], &[u8]),
        former: u64,
    ) -> Zeroizing<Vec<u8>> {
        let mut body = Zeroizing::new(vec![0; self.bytes]);
        let mut put = |at: usize, bytes: &[u8]| {
            body[at..at + bytes.len()].copy_from_slice(bytes);
        };
        put(self.session_id, &former.to_le_bytes());
        if self.has_opcode {
            put(0, &opcode.to_le_bytes());
        }
        for (index, field) in fields.iter().enumerate() {
            put(self.info + index * 4, &field.to_le_bytes());
        }
        if !is_asymmetric {
            put(self.info + 24, &flags);
        }
        put(if is_asymmetric { ASYM_KEY } else { self.key }, key);
        put(self.auth_key, auth_key);
        body
    }
}
