//! A key log of unknown origin.

use quic::capture::{ENTRIES_MAX, KeyLog};

/// Of a client random or a secret: what must not be shown.
const DIGITS_MIN: usize = 8;

/// Lines become secrets, counts or an error, and neither shows hex of the log. The same
/// log again changes nothing but counts.
pub fn quic_keylog(data: &[u8]) {
    let mut log = KeyLog::default();
    let added = log.add(data);
    let shown = match &added {
        Ok(()) => String::new(),
        Err(error) => format!("{error} {error:?}"),
    };
    let longest_run = shown
        .split(|letter: char| !letter.is_ascii_hexdigit())
        .map(str::len)
        .max();
    assert!(longest_run < Some(DIGITS_MIN), "{shown}");
    let lines = data.split(|byte| *byte == b'\n').count();
    assert!(log.len() <= lines.min(ENTRIES_MAX));
    let (secrets, replaced) = (log.len(), log.replaced);
    let again = log.add(data);
    assert_eq!(again.is_ok(), added.is_ok());
    assert_eq!(log.len(), secrets);
    assert!(log.replaced >= 2 * replaced);
}
