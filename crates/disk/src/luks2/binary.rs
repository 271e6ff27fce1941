//! The binary part of a LUKS2 header, and which of the two copies counts (LUKS2
//! on-disk format 1.1, §2).

use crate::hash::Hash;

pub(crate) const BINARY_BYTES: usize = 4096;
const MAGIC: [&[u8; 6]; 2] = [b"LUKS\xba\xbe", b"SKUL\xba\xbe"];
const VERSION: u16 = 2;
/// Sizes a header may have, with its JSON; the second copy begins where the first ends.
pub(crate) const SIZES_BYTES: [u64; 9] = [
    16 << 10,
    32 << 10,
    64 << 10,
    128 << 10,
    256 << 10,
    512 << 10,
    1 << 20,
    2 << 20,
    4 << 20,
];

/// One copy whose checksum is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    /// Of the header with its JSON.
    pub bytes: u64,
    pub sequence: u64,
    pub label: String,
    pub uuid: String,
    pub subsystem: String,
    pub json: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    #[error("its signature is missing")]
    Signature,
    #[error("its version is {0}, not {VERSION}")]
    Version(u16),
    #[error("it says to have {0} bytes, which no header has")]
    Size(u64),
    #[error("it says to begin at byte {0}, where it does not lie")]
    Offset(u64),
    #[error("its checksum '{0}' is not supported; supported: sha1 to sha512, ripemd160, whirlpool")]
    ChecksumName(String),
    #[error("its checksum is wrong")]
    Checksum,
    #[error("it ends before its {0} bytes")]
    Truncated(u64),
}

fn field<const N: usize>(binary: &[u8], at: usize) -> [u8; N] {
    let bytes = binary[at..].first_chunk();
    *bytes.expect("fields lie inside the 4096 bytes")
}

/// Text up to the first zero; what is no UTF-8 is replaced.
fn text<const N: usize>(binary: &[u8], at: usize) -> String {
    let bytes: [u8; N] = field(binary, at);
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Reads the copy that begins at byte `at` of the device; `read` gives the bytes of a
/// range, or fewer where the device ends.
pub(crate) fn read_copy<E: From<CopyError>>(
    at: u64,
    read: &mut impl FnMut(u64, usize) -> Result<Vec<u8>, E>,
) -> Result<Copy, E> {
    let binary = read(at, BINARY_BYTES)?;
    let bytes = checked_size(at, &binary)?;
    let mut whole = read(at, usize::try_from(bytes).expect("4 MiB at most"))?;
    Ok(checked(at, bytes, &mut whole)?)
}

/// The size that the binary part names, if all of that part is plausible.
fn checked_size(at: u64, binary: &[u8]) -> Result<u64, CopyError> {
    let magic = MAGIC[usize::from(at > 0)];
    if !binary.starts_with(magic) {
        return Err(CopyError::Signature);
    }
    if binary.len() < BINARY_BYTES {
        return Err(CopyError::Truncated(BINARY_BYTES as u64));
    }
    let version = u16::from_be_bytes(field(binary, 6));
    if version != VERSION {
        return Err(CopyError::Version(version));
    }
    let bytes = u64::from_be_bytes(field(binary, 8));
    if !SIZES_BYTES.contains(&bytes) || (at > 0 && bytes != at) {
        return Err(CopyError::Size(bytes));
    }
    let offset = u64::from_be_bytes(field(binary, 256));
    if offset != at {
        return Err(CopyError::Offset(offset));
    }
    Ok(bytes)
}

/// The binary part may have changed since its size was looked at: all is looked at again.
fn checked(at: u64, bytes: u64, whole: &mut [u8]) -> Result<Copy, CopyError> {
    if (whole.len() as u64) < bytes {
        return Err(CopyError::Truncated(bytes));
    }
    if checked_size(at, whole)? != bytes {
        return Err(CopyError::Checksum);
    }
    let name = text::<32>(whole, 72);
    let hash: Hash = name.parse().map_err(|_| CopyError::ChecksumName(name))?;
    let stored: [u8; 64] = field(whole, 448);
    whole[448..512].fill(0);
    if hash.digest(&[whole])[..] != stored[..hash.bytes()] {
        return Err(CopyError::Checksum);
    }
    let json = &whole[BINARY_BYTES..];
    let json = json.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(Copy {
        bytes,
        sequence: u64::from_be_bytes(field(whole, 16)),
        label: text::<48>(whole, 24),
        uuid: text::<40>(whole, 168),
        subsystem: text::<48>(whole, 208),
        json: json.to_vec(),
    })
}
