//! Checks that configurations share.

use crypto::{KeyError, SectorIv, SectorMode, Sectors};

use crate::ConfigError;

/// Largest block: the GCM and XTS limits are far above, memory is not.
pub const BLOCK_BYTES_MAX: usize = 16 << 20;

/// Most memory one trial's slots may take.
const SLOTS_BYTES_MAX: usize = 1 << 30;

pub fn within(
    key: &str,
    values: &[usize],
    least: usize,
    most: usize,
) -> Result<Vec<usize>, ConfigError> {
    match values.iter().find(|value| !(least..=most).contains(*value)) {
        Some(value) => Err(ConfigError::value(
            key,
            format!("{value} is outside {least} to {most}"),
        )),
        None => Ok(values.to_vec()),
    }
}

/// The value, or none for 0.
pub fn positive(key: &str, value: f64, most: f64) -> Result<Option<f64>, ConfigError> {
    if !(0.0..=most).contains(&value) {
        return Err(ConfigError::value(
            key,
            format!("{value} is outside 0 to {most}; 0 means: chosen for this host"),
        ));
    }
    Ok((value > 0.0).then_some(value))
}

/// Whether no more is named than there may be; `what` are counted.
///
/// # Errors
/// [`ConfigError`] at that key.
pub fn check_count(
    key: &str,
    (count, what): (usize, &str),
    most: usize,
) -> Result<(), ConfigError> {
    if count <= most {
        return Ok(());
    }
    let reason = format!("{count} {what}, the limit is {most}; name fewer");
    Err(ConfigError::value(key, reason))
}

/// Whether the back-end has that kind.
///
/// # Errors
/// [`ConfigError`] at that key.
pub fn check_kind(
    key: &str,
    backend: &super::choices::BackendName,
    kind: crypto::Kind,
) -> Result<(), ConfigError> {
    if backend.get().supports(kind) {
        return Ok(());
    }
    let reason = format!(
        "back-end {} has no {} ({}); name another back-end, or leave it out",
        backend.name(),
        kind.algorithm,
        kind.operation
    );
    Err(ConfigError::value(key, reason))
}

/// Whether the kind takes blocks of a size: one with a public key does not.
///
/// # Errors
/// [`ConfigError`] at that key.
pub fn check_sized(key: &str, kind: crypto::Kind) -> Result<(), ConfigError> {
    if !kind.algorithm.is_public_key() {
        return Ok(());
    }
    let reason = format!(
        "{} has no block sizes; name a cipher or a hash",
        kind.algorithm
    );
    Err(ConfigError::value(key, reason))
}

/// Whether the kind takes blocks of those sizes.
///
/// # Errors
/// [`ConfigError`] at that key.
pub fn check_blocks(
    key: &str,
    kind: crypto::Kind,
    sizes: impl IntoIterator<Item = usize>,
) -> Result<(), ConfigError> {
    let mut sizes = sizes.into_iter();
    sizes
        .try_for_each(|bytes| crypto::Workload::check(kind, bytes))
        .map_err(|error| ConfigError::value(key, error))
}

/// Whether disks have such sectors and keys.
///
/// # Errors
/// [`ConfigError`] at `sector_bytes` or `key_bits`.
pub fn check_sectors(
    mode: SectorMode,
    key_bytes: usize,
    sector_bytes: usize,
) -> Result<(), ConfigError> {
    let checked = Sectors::new(mode, SectorIv::Null, key_bytes, sector_bytes);
    let error = |error: KeyError| match &error {
        KeyError::SectorBytes { .. } => ConfigError::value("sector_bytes", error.to_string()),
        _ => {
            let [short, middle, long] = mode.key_bytes().map(|bytes| bytes * 8);
            let bits = key_bytes * 8;
            let reason =
                format!("{mode} has no key of {bits} bits; it has {short}, {middle} and {long}");
            ConfigError::value("key_bits", reason)
        }
    };
    checked.map(drop).map_err(error)
}

/// Whether this many requests of this many bytes in flight are not too much memory.
///
/// # Errors
/// [`ConfigError`] at that key, with the remedy.
pub fn check_slots(
    key: &str,
    (slots, block_bytes): (usize, usize),
    remedy: &str,
) -> Result<(), ConfigError> {
    let bytes = slots.saturating_mul(block_bytes);
    if bytes <= SLOTS_BYTES_MAX {
        return Ok(());
    }
    let reason = format!(
        "{slots} requests in flight of {block_bytes} bytes need {bytes} bytes, the limit is {SLOTS_BYTES_MAX}; {remedy}"
    );
    Err(ConfigError::value(key, reason))
}
