//! A message that asks for a session, as QEMU lays it out.

use crypto::{Algorithm, Operation};
use vhost::RefusedSession;
use vhost::inside::session;

use super::super::bytes::Bytes;

/// Of QEMU up to 7.2, and from 8.0 on.
const OLD_BYTES: usize = 632;
const NEW_BYTES: usize = 1072;

const OPCODES: [u32; 6] = [0x002, 0x102, 0x202, 0x404, 0x003, 0x302];

/// Fields that are right mostly: of cipher, direction, modes, lengths of keys.
const FIELDS: [usize; 10] = [0, 8, 12, 16, 24, 28, 32, 33, 34, 36];

/// What is read of a message is what it says, and no key stays in it.
pub(super) fn read(input: &mut Bytes<'_>) {
    let mut body = message(input);
    let before = body.clone();
    let answer = (input.below(4) > 0).then(|| u64::from(input.word()) << 32 | 1);
    let got = session(&mut body, answer);
    let is_known = [OLD_BYTES, NEW_BYTES].contains(&body.len());
    assert_eq!(!is_known, matches!(got, Err(RefusedSession::Layout { .. })));
    if !is_known {
        return;
    }
    assert!(body[40..].iter().all(|byte| *byte == 0), "a key stays");
    let right = plain(&before);
    assert_eq!(got.is_ok(), right.is_some(), "{got:?}");
    let (Ok(got), Some(right)) = (got, right) else {
        return;
    };
    assert_eq!(got.algorithms, right.algorithms);
    assert_eq!(got.operation, right.operation);
    // A public key is wrapped.
    assert!(got.key.ends_with(right.key));
    assert_eq!(got.key.len() == right.key.len(), right.operation.is_some());
    let number_at = if body.len() == OLD_BYTES { 0 } else { 1064 };
    let number =
        |body: &[u8]| i64::from_le_bytes(body[number_at..][..8].try_into().expect("eight"));
    let former = number(&before);
    assert_eq!(got.former, u64::try_from(former).ok().filter(|id| *id > 0));
    assert_eq!(got.reply.len(), before.len());
    assert_eq!(number(&got.reply), answer.map_or(-1, |id| id as i64));
}

fn message(input: &mut Bytes<'_>) -> Vec<u8> {
    let bytes = match input.below(16) {
        0 => input.below(4097),
        1..5 => OLD_BYTES,
        _ => NEW_BYTES,
    };
    let mut body = vec![0; bytes];
    let mut put = |at: usize, field: &[u8]| {
        if let Some(place) = body.get_mut(at..at + field.len()) {
            place.copy_from_slice(field);
        }
    };
    let opcode = input.pick(&OPCODES);
    put(0, &opcode.to_le_bytes());
    let fields: &[(usize, u8)] = match opcode {
        0x102 => &[(34, 1), (16, input.byte() % 8)],
        0x202 => &[(34, 2), (16, 4), (24, 32)],
        0x404 => &[(8, 1), (12, 1), (16, input.byte()), (32, 1), (36, 6)],
        _ => &[
            (8, 3),
            (12, 8 * (input.byte() % 6)),
            (32, 1),
            (33, input.byte() & 3),
        ],
    };
    for (at, field) in fields {
        put(*at, &[*field]);
    }
    for _ in 0..input.below(4) {
        let at = input.pick(&FIELDS) + input.below(4);
        put(at, &[input.byte()]);
    }
    for _ in 0..input.below(8) {
        let at = input.below(NEW_BYTES);
        put(at, &input.word().to_le_bytes());
    }
    body
}

struct Right<'b> {
    algorithms: Vec<Algorithm>,
    operation: Option<Operation>,
    key: &'b [u8],
}

/// `VhostUserCryptoSession` of QEMU's `hw/virtio/vhost-user.c`, field by field.
fn plain(body: &[u8]) -> Option<Right<'_>> {
    let word = |at: usize| u32::from_le_bytes(body[at..at + 4].try_into().expect("four"));
    let opcode = match body.len() {
        OLD_BYTES => 0x002,
        _ if word(4) == 0 => word(0),
        _ => return None,
    };
    let key =
        |at: usize, bytes: u32, most: u32| (bytes <= most).then(|| &body[at..at + bytes as usize]);
    let one = |algorithm, operation, key| Right {
        algorithms: vec![algorithm],
        operation: Some(operation),
        key,
    };
    match opcode {
        0x002 if word(8) == 3 && body[32] == 1 => {
            let operation = match body[33] {
                1 => Operation::Encrypt,
                2 => Operation::Decrypt,
                _ => return None,
            };
            let algorithm = match word(12) {
                16 => Algorithm::Aes128Cbc,
                24 => Algorithm::Aes192Cbc,
                32 => Algorithm::Aes256Cbc,
                _ => return None,
            };
            Some(one(algorithm, operation, key(56, word(12), 64)?))
        }
        0x102 if body[34] == 1 => {
            let algorithm = match word(16) {
                2 => Algorithm::Sha1,
                4 => Algorithm::Sha256,
                5 => Algorithm::Sha384,
                6 => Algorithm::Sha512,
                _ => return None,
            };
            Some(one(algorithm, Operation::Hash, &[]))
        }
        0x202 if body[34] == 2 && word(16) == 4 => {
            let key = key(120, word(24), 512)?;
            Some(one(Algorithm::HmacSha256, Operation::Hash, key))
        }
        0x404 if [word(8), word(12), word(32), word(36)] == [1, 1, 1, 6] => {
            use crypto::{RsaBits, RsaScheme::Pkcs1};
            let sizes = [RsaBits::B2048, RsaBits::B3072, RsaBits::B4096];
            Some(Right {
                algorithms: sizes.map(|bits| Algorithm::Rsa(bits, Pkcs1)).to_vec(),
                operation: None,
                key: key(40, word(16), 1024)?,
            })
        }
        _ => None,
    }
}
