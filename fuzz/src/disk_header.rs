//! The header of an encrypted disk, and its key slots where a passphrase costs little.

use disk::{Cost, Image, Slot, UnlockError, header};
use sha2::{Digest, Sha256};

/// Of the smallest header.
const COPY_BYTES: usize = 16 << 10;
const BINARY_BYTES: usize = 4096;
/// What an input may cost, in hashes and in bytes that are hashed: nothing new happens in
/// more of them.
const HASHES_MAX: u32 = 64;
const STRIPES_BYTES_MAX: usize = 4096;

/// Reads the bytes as an image, and as the JSON of a LUKS2 header whose checksums are
/// right. What is read is within its bounds, and a passphrase at random opens nothing.
pub fn disk_header(data: &[u8]) {
    check(&data.to_vec());
    check(&luks2(data));
}

fn check(image: &Vec<u8>) {
    let Ok(header) = header(image) else { return };
    if let Ok(layout) = &header.layout
        && let Ok(bytes) = layout.data_bytes(image)
    {
        assert!(layout.offset + bytes <= image.bytes());
    }
    for (number, slot) in &header.slots {
        let Ok(slot) = slot else { continue };
        assert!(slot.stripes * slot.key_bytes <= 16 << 20);
        if is_cheap(slot) {
            let opened = header.unlock(image, b"at random", Some(*number));
            assert!(!matches!(opened, Ok(_) | Err(UnlockError::NoSlot(_))));
        }
    }
}

fn is_cheap(slot: &Slot) -> bool {
    let kdfs = [&slot.kdf, &slot.digest.kdf];
    let is_short = slot.stripes * slot.key_bytes <= STRIPES_BYTES_MAX;
    is_short
        && kdfs.into_iter().all(|kdf| match kdf.cost {
            Cost::Pbkdf2 { iterations, .. } => iterations <= HASHES_MAX,
            Cost::Argon2 {
                passes, memory_kib, ..
            } => passes.saturating_mul(memory_kib) <= HASHES_MAX,
        })
}

/// A header of one copy with that JSON, and some of what stands behind it.
fn luks2(json: &[u8]) -> Vec<u8> {
    let mut image = vec![0; COPY_BYTES + (256 << 10)];
    image[..6].copy_from_slice(b"LUKS\xba\xbe");
    image[6..8].copy_from_slice(&2_u16.to_be_bytes());
    image[8..16].copy_from_slice(&(COPY_BYTES as u64).to_be_bytes());
    image[72..78].copy_from_slice(b"sha256");
    let json = &json[..json.len().min(COPY_BYTES - BINARY_BYTES)];
    image[BINARY_BYTES..][..json.len()].copy_from_slice(json);
    let checksum = Sha256::digest(&image[..COPY_BYTES]);
    image[448..480].copy_from_slice(&checksum);
    image
}
