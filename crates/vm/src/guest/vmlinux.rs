//! The kernel as QEMU gets it: unpacked by us, where we can.
//!
//! A `bzImage` unpacks itself in the guest, which under emulation takes more
//! than half of the whole boot. The ELF file within starts through its PVH
//! entry (Xen's "x86/HVM direct boot ABI"), which all of Debian's kernels
//! have; QEMU looks for it. The same code runs; only its place in memory is
//! not random then.
//!
//! Source for the format: Linux, Documentation/arch/x86/boot.rst.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use lzma_rust2::XzReader;
use object::Endianness;
use object::elf::NoteType;
use object::read::elf::{ElfFile64, ProgramHeader};
use ruzstd::decoding::StreamingDecoder;

use super::launch::nameless;

/// Debian's have 70 MB.
const UNPACKED_BYTES_MAX: u64 = 256 << 20;

/// Memory that unpacking may take, KiB; Debian's kernels ask for 32 or 128 MiB.
const XZ_KIB_MAX: u32 = 256 << 10;

/// A file and when it was changed: another kernel may come in its place.
type Key = (PathBuf, SystemTime);

/// Unpacked kernels, without names, for the life of this process.
static UNPACKED: Mutex<Option<HashMap<Key, OwnedFd>>> = Mutex::new(None);

/// The kernel at `path` as it is.
pub(super) fn open_packed(path: &Path) -> io::Result<OwnedFd> {
    Ok(File::open(path)?.into())
}

/// The kernel at `path`: unpacked, or as it is if it cannot be.
pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    let key = (path.to_owned(), fs::metadata(path)?.modified()?);
    let mut slot = UNPACKED.lock().unwrap_or_else(PoisonError::into_inner);
    let unpacked = slot.get_or_insert_default();
    if !unpacked.contains_key(&key) {
        let Some(elf) = unpack(&fs::read(path)?) else {
            return open_packed(path);
        };
        unpacked.insert(key.clone(), nameless("lockgate-kernel", &elf)?);
    }
    unpacked[&key].try_clone()
}

/// The ELF file within a `bzImage`, if it is packed by xz or zstd and has a
/// PVH entry.
fn unpack(image: &[u8]) -> Option<Vec<u8>> {
    let packed = payload(image)?;
    let unpacked: Box<dyn Read + '_> = if packed.starts_with(b"\xfd7zXZ\0") {
        Box::new(XzReader::new_mem_limit(packed, false, XZ_KIB_MAX))
    } else if packed.starts_with(b"\x28\xb5\x2f\xfd") {
        Box::new(StreamingDecoder::new(packed).ok()?)
    } else {
        return None;
    };
    let mut elf = Vec::new();
    let mut limited = unpacked.take(UNPACKED_BYTES_MAX);
    limited.read_to_end(&mut elf).ok()?;
    let is_whole = limited.limit() > 0 && elf.starts_with(b"\x7fELF");
    (is_whole && has_pvh_entry(&elf) == Ok(true)).then_some(elf)
}

/// What follows the setup code: `payload_offset` and `payload_length` of the
/// header, since boot protocol 2.08.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let u32_at = |at: usize| {
        let bytes = image.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    };
    let protocol = u32_at(0x206)? & 0xffff;
    if image.get(0x202..0x206)? != b"HdrS" || protocol < 0x208 {
        return None;
    }
    let sectors = match image[0x1f1] {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let begin = ((sectors + 1) * 512).checked_add(u32_at(0x248)?)?;
    // The last four bytes are the unpacked size.
    let end = begin.checked_add(u32_at(0x24c)?)?.checked_sub(4)?;
    image.get(begin..end)
}

/// The type of the note that Xen calls XEN_ELFNOTE_PHYS32_ENTRY.
const PHYS32_ENTRY: NoteType = NoteType(18);

fn has_pvh_entry(elf: &[u8]) -> object::read::Result<bool> {
    let file = ElfFile64::<Endianness>::parse(elf)?;
    for segment in file.elf_program_headers() {
        let Some(mut notes) = segment.notes(file.endian(), elf)? else {
            continue;
        };
        while let Some(note) = notes.next()? {
            if note.name() == b"Xen" && note.n_type(file.endian()) == PHYS32_ENTRY {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use proptest::prelude::*;

    use super::*;

    /// A file with a note segment: the sizes of name and content, the type,
    /// the name and eight bytes of content.
    fn elf(note: [u8; 24]) -> Vec<u8> {
        let mut elf = vec![0; 0x90];
        elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        for (at, byte) in [
            (0x20, 0x40), // program headers
            (0x34, 64),   // the file header's size
            (0x36, 56),   // a program header's size
            (0x38, 1),    // program headers in number
            (0x40, 4),    // PT_NOTE
            (0x48, 0x78), // its offset
            (0x60, 24),   // its size in the file
            (0x70, 4),    // its alignment
        ] {
            elf[at] = byte;
        }
        elf[0x78..].copy_from_slice(&note);
        elf
    }

    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 1024 + 16];
        image[0x1f1] = 1;
        image[0x202..0x208].copy_from_slice(b"HdrS\x0f\x02");
        image[0x248] = 16;
        let length = u32::try_from(payload.len() + 4).unwrap();
        image[0x24c..0x250].copy_from_slice(&length.to_le_bytes());
        image.extend_from_slice(payload);
        image.extend_from_slice(&[0; 4]);
        image
    }

    const ENTRY: [u8; 24] = *b"\x04\0\0\0\x08\0\0\0\x12\0\0\0Xen\0\0\0\0\x01\0\0\0\0";

    #[test]
    fn the_entry_s_note_is_found() {
        assert_eq!(has_pvh_entry(&elf(ENTRY)), Ok(true));
        let mut other = ENTRY;
        other[8] = 6;
        assert_eq!(has_pvh_entry(&elf(other)), Ok(false));
    }

    #[test]
    fn the_payload_is_where_the_header_says() {
        assert_eq!(payload(&image(b"packed")), Some(&b"packed"[..]));
        let mut old = image(b"packed");
        old[0x206] = 7;
        assert_eq!(payload(&old), None);
    }

    #[test]
    fn what_is_no_bzimage_is_started_as_it_is() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), image(b"packed by something else")).unwrap();
        let mut taken = Vec::new();
        let mut opened = File::from(open(file.path()).unwrap());
        opened.read_to_end(&mut taken).unwrap();
        assert_eq!(taken, image(b"packed by something else"));
        assert!(open(Path::new("/nowhere/vmlinuz")).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn strange_files_are_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..2048), at in any::<prop::sample::Index>()) {
            prop_assert_eq!(unpack(&bytes), None);
            let _ = has_pvh_entry(&bytes);
            let mut image = image(b"\xfd7zXZ\0 damaged");
            let at = at.index(image.len());
            image[at] = bytes.pop().unwrap_or_default();
            prop_assert_eq!(unpack(&image), None);
            let mut elf = elf(ENTRY);
            elf[at % 0x90] = bytes.pop().unwrap_or_default();
            let _ = has_pvh_entry(&elf);
        }
    }
}
