//! LUKS2 headers (LUKS2 on-disk format 1.1).

mod binary;
mod metadata;

use std::io;

use crate::image::Image;
use crate::kdf::{Cost, Kdf, Variant};
use crate::layout::{DataError, Layout};
use crate::luks::{Digest, Header, Slot, SlotError};
use crate::sectors::SECTOR_BYTES;
use crate::spec::Spec;

pub use binary::CopyError;
use binary::{BINARY_BYTES, Copy, SIZES_BYTES, read_copy};
use metadata::{Keyslot, Metadata, Number};

/// Of each kind, as the format has it of key slots and tokens. Each slot may take as long
/// as `kdf` allows.
const OBJECTS_MAX: usize = 32;
/// Of all key slots' areas together, as the format has it: 128 MiB.
const KEYSLOTS_BYTES_MAX: u64 = 128 << 20;

#[derive(Debug, thiserror::Error)]
pub enum Luks2Error {
    #[error("cannot read the header")]
    Read(#[from] io::Error),
    #[error("neither copy of the header can be used: the first: {first}; the second: {second}")]
    NeitherCopy { first: CopyError, second: CopyError },
    #[error("the header's JSON cannot be read")]
    Json(#[from] serde_json::Error),
    #[error("the header's JSON area of {json} bytes does not fit its header of {header}")]
    JsonSize { json: u64, header: u64 },
    #[error("the header has {count} {kind}, the maximum is {OBJECTS_MAX}")]
    Objects { kind: &'static str, count: usize },
    #[error("the key slots' area of {0} bytes is larger than {KEYSLOTS_BYTES_MAX}")]
    KeyslotsSize(u64),
}

struct ReadError(Result<io::Error, CopyError>);

impl From<CopyError> for ReadError {
    fn from(error: CopyError) -> Self {
        Self(Err(error))
    }
}

fn copy_at(image: &dyn Image, at: u64) -> Result<Copy, ReadError> {
    let mut read = |at, bytes| image.part(at, bytes).map_err(|error| ReadError(Ok(error)));
    read_copy(at, &mut read)
}

/// The copy that counts: the younger, or the first; and what is wrong with the other.
fn newest(image: &dyn Image) -> Result<(Copy, Option<String>), Luks2Error> {
    let copy = |at| match copy_at(image, at) {
        Ok(copy) => Ok(Ok(copy)),
        Err(ReadError(Err(error))) => Ok(Err(error)),
        Err(ReadError(Ok(error))) => Err(Luks2Error::Read(error)),
    };
    let first = copy(0)?;
    let second = match &first {
        Ok(first) => copy(first.bytes)?,
        // Where the second lies is in the first: without it, at one of few places.
        Err(_) => {
            let mut found = Err(CopyError::Signature);
            for at in SIZES_BYTES {
                let here = copy(at)?;
                if here.is_ok() || found == Err(CopyError::Signature) {
                    found = here;
                }
                if found.is_ok() {
                    break;
                }
            }
            found
        }
    };
    Ok(match (first, second) {
        (Ok(first), Ok(second)) if second.sequence > first.sequence => {
            let age = format!(
                "the first is older ({} < {})",
                first.sequence, second.sequence
            );
            (second, Some(age))
        }
        (Ok(first), Ok(second)) => {
            let age = (second.sequence < first.sequence).then(|| {
                format!(
                    "the second is older ({} < {})",
                    second.sequence, first.sequence
                )
            });
            (first, age)
        }
        (Ok(first), Err(error)) => (first, Some(format!("the second is not usable: {error}"))),
        (Err(error), Ok(second)) => (second, Some(format!("the first is not usable: {error}"))),
        (Err(first), Err(second)) => return Err(Luks2Error::NeitherCopy { first, second }),
    })
}

/// # Errors
/// [`Luks2Error`]; of a key slot alone, the header says it with the slot.
pub(crate) fn read(image: &dyn Image) -> Result<Header, Luks2Error> {
    let (copy, damage) = newest(image)?;
    let metadata: Metadata = serde_json::from_slice(&copy.json)?;
    check(&metadata, &copy)?;
    // Slots are bound to the first segment; of several none is opened.
    let own = metadata.segments.keys().next().copied();
    let areas = 2 * copy.bytes..2 * copy.bytes + metadata.config.keyslots_size.0;
    let slots = metadata.keyslots.iter().map(|(number, keyslot)| {
        let slot = slot(&metadata, (*number, own), keyslot);
        let slot = slot.and_then(|(slot, area_bytes)| {
            let (offset, bytes) = (slot.area_offset, area_bytes);
            let end = offset.checked_add(bytes);
            let is_inside = offset >= areas.start && end.is_some_and(|end| end <= areas.end);
            let outside = SlotError::Area { offset, bytes };
            is_inside.then_some(()).ok_or(outside)?;
            slot.check_area(bytes)?;
            Ok(slot)
        });
        (number.0, slot)
    });
    let tokens = metadata.tokens.iter();
    let tokens = tokens.map(|(number, token)| (number.0, token.r#type.clone()));
    Ok(Header {
        version: 2,
        slots: slots.collect(),
        uuid: copy.uuid,
        label: copy.label,
        subsystem: copy.subsystem,
        tokens: tokens.collect(),
        flags: metadata.config.flags.clone(),
        layout: layout(&metadata),
        damage,
    })
}

/// What concerns the header as a whole.
fn check(metadata: &Metadata, copy: &Copy) -> Result<(), Luks2Error> {
    let Metadata {
        keyslots,
        tokens,
        segments,
        digests,
        config,
    } = metadata;
    for (kind, count) in [
        ("key slots", keyslots.len()),
        ("tokens", tokens.len()),
        ("segments", segments.len()),
        ("digests", digests.len()),
    ] {
        if count > OBJECTS_MAX {
            return Err(Luks2Error::Objects { kind, count });
        }
    }
    let (json, header) = (config.json_size.0, copy.bytes);
    if json != header - BINARY_BYTES as u64 {
        return Err(Luks2Error::JsonSize { json, header });
    }
    if config.keyslots_size.0 > KEYSLOTS_BYTES_MAX {
        return Err(Luks2Error::KeyslotsSize(config.keyslots_size.0));
    }
    Ok(())
}

fn layout(metadata: &Metadata) -> Result<Layout, DataError> {
    if let Some(name) = metadata.config.requirements.mandatory.first() {
        return Err(DataError::Requirement(name.clone()));
    }
    let mut keyslots = metadata.keyslots.iter();
    let reencrypting = keyslots.find(|(_, keyslot)| matches!(keyslot, Keyslot::Reencrypt {}));
    if let Some((number, _)) = reencrypting {
        return Err(DataError::Reencryption(number.0));
    }
    let mut segments = metadata.segments.values();
    let (Some(segment), None) = (segments.next(), segments.next()) else {
        return Err(DataError::Segments(metadata.segments.len()));
    };
    if segment.r#type != "crypt" {
        return Err(DataError::SegmentType(segment.r#type.clone()));
    }
    if let Some(integrity) = &segment.integrity {
        let kind = integrity.get("type").and_then(|kind| kind.as_str());
        return Err(DataError::Integrity(kind.unwrap_or("unnamed").to_owned()));
    }
    let encryption = segment.encryption.as_ref().ok_or(DataError::NoEncryption)?;
    let bytes = match segment.size.as_str() {
        "dynamic" => None,
        size => Some(
            size.parse()
                .map_err(|_| DataError::SegmentSize(size.to_owned()))?,
        ),
    };
    Ok(Layout {
        spec: encryption.parse::<Spec>()?,
        offset: segment.offset.0,
        bytes,
        sector_bytes: segment.sector_size.unwrap_or(SECTOR_BYTES),
        iv_offset: segment.iv_tweak.map_or(0, |tweak| tweak.0),
        iv_large_sectors: false,
    })
}

/// A key slot, and how long its area is.
fn slot(
    metadata: &Metadata,
    (number, segment): (Number, Option<Number>),
    keyslot: &Keyslot,
) -> Result<(Slot, u64), SlotError> {
    let Keyslot::Luks2 {
        key_size,
        area,
        kdf,
        af,
        priority,
    } = keyslot
    else {
        return Err(SlotError::Kind("of an unknown type".to_owned()));
    };
    for (what, kind, known) in [
        ("area", &area.r#type, "raw"),
        ("stripes", &af.r#type, "luks1"),
    ] {
        if kind != known {
            return Err(SlotError::Kind(format!("{what} {kind}")));
        }
    }
    let of_data = |digest: &&metadata::Digest| {
        let is_segments = segment.is_some_and(|segment| digest.segments.contains(&segment));
        is_segments && digest.keyslots.contains(&number)
    };
    let bound = metadata.digests.values().find(of_data);
    let digest = bound.ok_or(SlotError::Unbound)?;
    if digest.r#type != "pbkdf2" {
        return Err(SlotError::Kind(format!("digest {}", digest.r#type)));
    }
    let slot = Slot {
        key_bytes: *key_size,
        kdf: slot_kdf(kdf)?,
        stripes: af.stripes,
        stripes_hash: af.hash.parse()?,
        area_offset: area.offset.0,
        area: area.encryption.parse()?,
        area_key_bytes: area.key_size,
        priority: *priority,
        digest: Digest::new(
            &digest.hash,
            digest.iterations,
            digest.salt.0.clone(),
            digest.digest.0.clone(),
        )?,
    };
    slot.area.check_key(slot.area_key_bytes)?;
    Ok((slot, area.size.0))
}

fn slot_kdf(kdf: &metadata::Kdf) -> Result<Kdf, SlotError> {
    let argon2 = |variant, own: &metadata::Argon2| {
        let cost = Cost::Argon2 {
            variant,
            passes: own.time,
            memory_kib: own.memory,
            lanes: own.cpus,
        };
        Ok(Kdf::new(cost, own.salt.0.clone())?)
    };
    match kdf {
        metadata::Kdf::Pbkdf2 {
            hash,
            iterations,
            salt,
        } => {
            let cost = Cost::Pbkdf2 {
                hash: hash.parse()?,
                iterations: *iterations,
            };
            Ok(Kdf::new(cost, salt.0.clone())?)
        }
        metadata::Kdf::Argon2i(own) => argon2(Variant::Argon2i, own),
        metadata::Kdf::Argon2id(own) => argon2(Variant::Argon2id, own),
        metadata::Kdf::Unknown => Err(SlotError::Kind(
            "key derivation of an unknown type".to_owned(),
        )),
    }
}
