//! Every byte of headers and key slots is changed in turn: what opens then opens rightly.
//! The slots are cheap ones: two stripes, and one hash for each that is asked for.

use crate::images::{FIRST, LUKS1, LUKS2, rewrite};
use base64::prelude::{BASE64_STANDARD, Engine};
use lockgate_disk::{Cost, Header, SectorCipher, Slot, header};
use sha2::{Digest, Sha256};

const KEY: [u8; 32] = *b"the key that cheap slots hold...";
const SALT: [u8; 32] = [9; 32];
/// Where LUKS1 and LUKS2 images have their cheap slot: one sector.
const AREAS: [usize; 2] = [4096, 32768];
const COPY_BYTES: usize = 16384;
/// Of LUKS2, whose checksums are SHA-256: half of the field.
const UNUSED: std::ops::Range<usize> = 480..512;
/// Hashes; a changed count may be billions.
const COSTLY: u32 = 10_000;

fn hashed<const BYTES: usize>(password: &[u8]) -> [u8; BYTES] {
    let mut key = [0; BYTES];
    pbkdf2::pbkdf2_hmac::<Sha256>(password, &SALT, 1, &mut key);
    key
}

/// The key in two stripes, encrypted for the passphrase.
fn area() -> [u8; 512] {
    let first = Sha256::digest(b"random");
    let diffused = Sha256::new().chain_update([0; 4]).chain_update(first);
    let mut area = [0; 512];
    area[..32].copy_from_slice(&first);
    let second = diffused.finalize().into_iter().zip(KEY).map(|(a, b)| a ^ b);
    area[32..64]
        .iter_mut()
        .zip(second)
        .for_each(|(to, byte)| *to = byte);
    let spec = "aes-cbc-essiv:sha256".parse().unwrap();
    let cipher = SectorCipher::new(spec, &hashed::<32>(FIRST), 512).unwrap();
    cipher.encrypt(0, &mut area);
    area
}

fn luks1() -> Vec<u8> {
    let mut image = LUKS1.clone();
    let mut set = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    set(108, &32_u32.to_be_bytes());
    set(112, &hashed::<20>(&KEY));
    set(132, &SALT);
    set(164, &1_u32.to_be_bytes());
    set(212, &1_u32.to_be_bytes());
    set(216, &SALT);
    set(252, &2_u32.to_be_bytes());
    set(AREAS[0], &area());
    image
}

fn luks2() -> Vec<u8> {
    let mut image = LUKS2.clone();
    let salt = BASE64_STANDARD.encode(SALT);
    let kdf =
        serde_json::json!({ "type": "pbkdf2", "hash": "sha256", "iterations": 1, "salt": salt });
    for copy in image[..2 * COPY_BYTES].chunks_mut(COPY_BYTES) {
        rewrite(copy, &|json| {
            let slots = json["keyslots"].as_object_mut().unwrap();
            slots.retain(|number, _| number == "0");
            let slot = &mut slots["0"];
            slot["kdf"] = kdf.clone();
            slot["af"]["stripes"] = 2.into();
            slot["af"]["hash"] = "sha256".into();
            slot["key_size"] = 32.into();
            slot["area"]["key_size"] = 32.into();
            slot["area"]["encryption"] = "aes-cbc-essiv:sha256".into();
            json["tokens"] = serde_json::json!({});
            let digest = &mut json["digests"]["0"];
            digest["keyslots"] = serde_json::json!(["0"]);
            digest["iterations"] = 1.into();
            digest["salt"] = salt.clone().into();
            digest["digest"] = BASE64_STANDARD.encode(hashed::<32>(&KEY)).into();
        });
    }
    image[AREAS[1]..][..512].copy_from_slice(&area());
    image
}

fn is_costly(header: &Header) -> bool {
    let is_costly = |slot: &Slot| {
        let kdfs = [&slot.kdf, &slot.digest.kdf];
        let is_costly =
            |cost| matches!(cost, Cost::Pbkdf2 { iterations, .. } if iterations > COSTLY);
        kdfs.into_iter().any(|kdf| is_costly(kdf.cost))
    };
    header
        .slots
        .iter()
        .flat_map(|(_, slot)| slot)
        .any(is_costly)
}

/// The header, if it opens; then with the right key.
fn opened(image: &Vec<u8>, what: &str) -> Option<Header> {
    let header = header(image).ok()?;
    if is_costly(&header) {
        return None;
    }
    let key = header.unlock(image, FIRST, None).ok()?;
    assert_eq!(*key, KEY, "{what}");
    Some(header)
}

/// How many of `bytes`, each changed by `mask`, open as before.
fn still_open(
    image: &mut Vec<u8>,
    mask: u8,
    bytes: impl Iterator<Item = usize>,
    check: impl Fn(usize, &Header),
) -> usize {
    assert!(opened(image, "as it is").is_some());
    let opens = |at: &usize| {
        image[*at] ^= mask;
        let found = opened(image, &format!("byte {at} ^ {mask}"));
        image[*at] ^= mask;
        found.inspect(|header| check(*at, header)).is_some()
    };
    bytes.filter(opens).count()
}

/// No checksum: those of names, of the UUID, of the data's place and of empty slots do no
/// harm to the key.
#[test]
fn a_changed_byte_of_a_luks1_header_opens_nothing_wrongly() {
    let mut image = luks1();
    for mask in [0x01, 0x41, 0x80, 0xff] {
        let opened = still_open(&mut image, mask, 0..592, |_, _| ());
        assert!((200..450).contains(&opened), "{opened}");
    }
}

/// Either copy does, and the state of the other is said.
#[test]
fn a_changed_byte_of_either_copy_of_a_luks2_header_does_no_harm() {
    let mut image = luks2();
    let whole = header(&image).unwrap();
    let both = 0..2 * COPY_BYTES;
    let opened = still_open(&mut image, 0x41, both.clone(), |at, header| {
        assert_eq!((&header.uuid, &header.layout), (&whole.uuid, &whole.layout));
        let is_used = !UNUSED.contains(&(at % COPY_BYTES));
        assert_eq!(header.damage.is_some(), is_used, "byte {at}");
    });
    assert_eq!(opened, both.len());
}

#[test]
fn the_same_byte_of_both_copies_of_a_luks2_header_opens_nothing() {
    let mut image = luks2();
    for at in (0..COPY_BYTES).filter(|at| !UNUSED.contains(at)) {
        for copy in [at, at + COPY_BYTES] {
            image[copy] ^= 0x80;
        }
        assert!(header(&image).is_err(), "byte {at}");
        for copy in [at, at + COPY_BYTES] {
            image[copy] ^= 0x80;
        }
    }
    assert!(opened(&image, "as it was").is_some());
}

/// What stands behind the stripes in their sector is of no use.
#[test]
fn a_changed_byte_of_the_stripes_opens_nothing() {
    for (mut image, begin) in [luks1(), luks2()].into_iter().zip(AREAS) {
        for mask in [0x01, 0x80] {
            let [stripes, rest] = [begin..begin + 64, begin + 64..begin + 512];
            assert_eq!(still_open(&mut image, mask, stripes, |_, _| ()), 0);
            assert_eq!(still_open(&mut image, mask, rest, |_, _| ()), 448);
        }
    }
}
