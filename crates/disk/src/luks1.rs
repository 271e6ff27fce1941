//! LUKS1 headers (LUKS on-disk format 1.2.3).

use std::io;

use crate::hash::Hash;
use crate::image::Image;
use crate::kdf::{Cost, Kdf};
use crate::layout::{DataError, Layout};
use crate::luks::{Digest, Header, Slot, SlotError};
use crate::sectors::SECTOR_BYTES;
use crate::spec::{Spec, SpecError};

const MAGIC: &[u8; 6] = b"LUKS\xba\xbe";
const HEADER_BYTES: usize = 592;
const SLOTS: u32 = 8;
const SLOTS_AT: usize = 208;
const SLOT_BYTES: usize = 48;
const ENABLED: u32 = 0x00ac_71f3;
const DISABLED: u32 = 0x0000_dead;
const DIGEST_BYTES: usize = 20;

#[derive(Debug, thiserror::Error)]
pub enum Luks1Error {
    #[error("cannot read the header")]
    Read(#[from] io::Error),
    #[error("the image ends inside the LUKS1 header")]
    Truncated,
    #[error(
        "key slot {number} is neither enabled nor disabled (0x{state:08x}); the header is damaged"
    )]
    SlotState { number: u32, state: u32 },
}

/// Whether a device begins as a LUKS1 header does.
pub(crate) fn is_luks1(begin: &[u8]) -> bool {
    begin.starts_with(MAGIC) && begin[MAGIC.len()..].starts_with(&1_u16.to_be_bytes())
}

fn word(header: &[u8], at: usize) -> u32 {
    let bytes = header[at..].first_chunk();
    u32::from_be_bytes(*bytes.expect("fields lie inside the header"))
}

fn text(header: &[u8], at: usize, bytes: usize) -> String {
    let text = header[at..at + bytes].split(|byte| *byte == 0).next();
    String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
}

/// # Errors
/// [`Luks1Error`]; of a key slot alone, the header says it with the slot.
pub(crate) fn read(image: &dyn Image) -> Result<Header, Luks1Error> {
    let header = image.part(0, HEADER_BYTES)?;
    if header.len() < HEADER_BYTES {
        return Err(Luks1Error::Truncated);
    }
    let spec = spec(&header);
    let mut slots = Vec::new();
    for number in 0..SLOTS {
        let own = &header[SLOTS_AT + number as usize * SLOT_BYTES..][..SLOT_BYTES];
        match word(own, 0) {
            DISABLED => {}
            ENABLED => {
                let slot = spec.clone().map_err(SlotError::from);
                slots.push((number, slot.and_then(|spec| read_slot(&header, own, spec))));
            }
            state => return Err(Luks1Error::SlotState { number, state }),
        }
    }
    Ok(Header {
        version: 1,
        uuid: text(&header, 168, 40),
        label: String::new(),
        subsystem: String::new(),
        tokens: Vec::new(),
        flags: Vec::new(),
        layout: spec.map_err(DataError::from).map(|spec| Layout {
            spec,
            offset: u64::from(word(&header, 104)) * SECTOR_BYTES as u64,
            bytes: None,
            sector_bytes: SECTOR_BYTES,
            iv_offset: 0,
            iv_large_sectors: false,
        }),
        slots,
        damage: None,
    })
}

/// What data and key slots are encrypted with, if it takes a key of that length.
fn spec(header: &[u8]) -> Result<Spec, SpecError> {
    let spec: Spec = format!("{}-{}", text(header, 8, 32), text(header, 40, 32)).parse()?;
    spec.check_key(word(header, 108) as usize)?;
    Ok(spec)
}

fn read_slot(header: &[u8], own: &[u8], area: Spec) -> Result<Slot, SlotError> {
    let hash: Hash = text(header, 72, 32).parse()?;
    let key_bytes = word(header, 108) as usize;
    let digest = Digest::new(
        hash.name(),
        word(header, 164),
        header[132..164].to_vec(),
        header[112..112 + DIGEST_BYTES].to_vec(),
    )?;
    let cost = Cost::Pbkdf2 {
        hash,
        iterations: word(own, 4),
    };
    let slot = Slot {
        key_bytes,
        kdf: Kdf::new(cost, own[8..40].to_vec())?,
        stripes: word(own, 44) as usize,
        stripes_hash: hash,
        area_offset: u64::from(word(own, 40)) * SECTOR_BYTES as u64,
        area,
        area_key_bytes: key_bytes,
        priority: 1,
        digest,
    };
    // The format names no length of the area: the image's end bounds it.
    slot.check_area(u64::MAX)?;
    Ok(slot)
}
