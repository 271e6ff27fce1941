//! Key logs (SSLKEYLOGFILE, draft-ietf-tls-keylogfile; NSS, "Key Log Format").

use std::collections::HashMap;
use std::io::{self, BufRead, Read};

use zeroize::Zeroizing;

use super::secret::Secret;
use super::source::Source;

/// Of a line, without its end; the longest one that is needed has 199.
pub const LINE_BYTES_MAX: usize = 1024;
/// Secrets in all.
pub const ENTRIES_MAX: usize = 1_000_000;

const RANDOM_BYTES: usize = 32;
/// Of the hashes that QUIC's cipher suites use: SHA-256 and SHA-384.
const SECRET_BYTES: [usize; 2] = [32, 48];

/// Which secret of a handshake (RFC 8446, section 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    ClientEarly,
    ClientHandshake,
    ServerHandshake,
    ClientTraffic,
    ServerTraffic,
}

/// As logs have them, some with `QUIC_` before.
const LABELS: [(&str, Label); 5] = [
    ("CLIENT_EARLY_TRAFFIC_SECRET", Label::ClientEarly),
    ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", Label::ClientHandshake),
    ("SERVER_HANDSHAKE_TRAFFIC_SECRET", Label::ServerHandshake),
    ("CLIENT_TRAFFIC_SECRET_0", Label::ClientTraffic),
    ("SERVER_TRAFFIC_SECRET_0", Label::ServerTraffic),
];
/// Known, and of no use for packets of QUIC.
const IGNORED: [&str; 7] = [
    "CLIENT_RANDOM",
    "ECH_CONFIG",
    "ECH_SECRET",
    "EARLY_EXPORTER_MASTER_SECRET",
    "EARLY_EXPORTER_SECRET",
    "EXPORTER_SECRET",
    "RSA",
];

/// Names a line by its number and shows nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum KeyLogError {
    #[error("cannot read the key log at line {line}")]
    Read {
        line: u64,
        #[source]
        source: io::Error,
    },
    #[error(
        "line {line} of the key log has more than {LINE_BYTES_MAX} bytes; remove it, or take the file that SSLKEYLOGFILE names"
    )]
    LineBytes { line: u64 },
    #[error(
        "line {line} of the key log is no label, client random and secret with spaces between; remove it, or take the file that SSLKEYLOGFILE names"
    )]
    Fields { line: u64 },
    #[error(
        "line {line} of the key log has a client random of {found_digits} hex digits, not 64; remove the line"
    )]
    Random { line: u64, found_digits: usize },
    #[error(
        "line {line} of the key log has a secret of {found_digits} hex digits, not 64 or 96; remove the line"
    )]
    Secret { line: u64, found_digits: usize },
    #[error("line {line} of the key log has a {field} that is not hex; remove the line")]
    Digit { line: u64, field: &'static str },
    #[error(
        "line {line} of the key log has one secret more than {ENTRIES_MAX}; keep the lines of the time in question"
    )]
    Entries { line: u64 },
}

/// Secrets by client random and label.
#[derive(Clone, Debug, Default)]
pub struct KeyLog {
    secrets: HashMap<([u8; RANDOM_BYTES], Label), Secret>,
    /// Lines with labels that are known and of no use here.
    pub ignored: u64,
    /// Lines with other labels.
    pub unknown: u64,
    /// Secrets that a later line had with another value.
    pub replaced: u64,
}

impl KeyLog {
    /// # Errors
    /// See [`Self::add`].
    pub fn read(input: impl Read) -> Result<Self, KeyLogError> {
        let mut log = Self::default();
        log.add(input)?;
        Ok(log)
    }

    /// Adds the lines of another log, or of [`super::Item::Secrets`]. The input need not
    /// be buffered. Lines that are neither empty nor comments have three fields.
    ///
    /// # Errors
    /// [`KeyLogError`]; then what stands before that line was added.
    pub fn add(&mut self, input: impl Read) -> Result<(), KeyLogError> {
        let mut input = Source::new(input);
        // As long as it gets: one that grew would leave secrets behind.
        let mut text = Zeroizing::new(Vec::with_capacity(LINE_BYTES_MAX + 2));
        for line in 1.. {
            text.clear();
            let mut limited = input.by_ref().take(LINE_BYTES_MAX as u64 + 2);
            let read = limited.read_until(b'\n', &mut text);
            if read.map_err(|source| KeyLogError::Read { line, source })? == 0 {
                break;
            }
            self.line(line, without_end(&text))?;
        }
        Ok(())
    }

    /// How many secrets there are.
    pub fn len(&self) -> usize {
        self.secrets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    pub fn secret(&self, client_random: &[u8; 32], label: Label) -> Option<&Secret> {
        self.secrets.get(&(*client_random, label))
    }

    fn line(&mut self, line: u64, text: &[u8]) -> Result<(), KeyLogError> {
        if text.len() > LINE_BYTES_MAX {
            return Err(KeyLogError::LineBytes { line });
        }
        let fields = text.split(u8::is_ascii_whitespace);
        let mut fields = fields.filter(|field| !field.is_empty());
        let mut next = || fields.next();
        let Some(label) = next().filter(|field| !field.starts_with(b"#")) else {
            return Ok(());
        };
        let (Some(random), Some(secret), None) = (next(), next(), next()) else {
            return Err(KeyLogError::Fields { line });
        };
        let label = label.strip_prefix(b"QUIC_").unwrap_or(label);
        let known = LABELS.iter().find(|(name, _)| name.as_bytes() == label);
        match known {
            Some((_, label)) => self.insert(line, *label, random, secret)?,
            None if IGNORED.iter().any(|name| name.as_bytes() == label) => self.ignored += 1,
            None => self.unknown += 1,
        }
        Ok(())
    }

    fn insert(
        &mut self,
        line: u64,
        label: Label,
        random: &[u8],
        secret: &[u8],
    ) -> Result<(), KeyLogError> {
        let key = (client_random(line, random)?, label);
        let secret = secret_of(line, secret)?;
        if self.len() == ENTRIES_MAX && !self.secrets.contains_key(&key) {
            return Err(KeyLogError::Entries { line });
        }
        let is_same = |before: &Secret| before.is_same(&secret);
        let is_other = self
            .secrets
            .get(&key)
            .is_some_and(|before| !is_same(before));
        self.replaced += u64::from(is_other);
        self.secrets.insert(key, secret);
        Ok(())
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn client_random(line: u64, hex: &[u8]) -> Result<[u8; RANDOM_BYTES], KeyLogError> {
    let found_digits = hex.len();
    if found_digits != 2 * RANDOM_BYTES {
        return Err(KeyLogError::Random { line, found_digits });
    }
    let field = "client random";
    let bytes = unhex(hex).ok_or(KeyLogError::Digit { line, field })?;
    Ok(*bytes.first_chunk().expect("its digits were counted"))
}

fn secret_of(line: u64, hex: &[u8]) -> Result<Secret, KeyLogError> {
    let found_digits = hex.len();
    if !SECRET_BYTES.contains(&(found_digits / 2)) || !found_digits.is_multiple_of(2) {
        return Err(KeyLogError::Secret { line, found_digits });
    }
    let field = "secret";
    let bytes = unhex(hex).ok_or(KeyLogError::Digit { line, field })?;
    Ok(bytes.into())
}

/// In a time that depends on the length alone; `None` where a digit is none.
fn unhex(hex: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (pairs, _) = hex.as_chunks();
    let mut bytes = Zeroizing::new(Vec::with_capacity(pairs.len()));
    let mut is_hex = 0xff;
    for [high, low] in pairs {
        let (high, low) = (digit(*high), digit(*low));
        is_hex &= high.1 & low.1;
        bytes.push(high.0 << 4 | low.0);
    }
    (is_hex == 0xff).then_some(bytes)
}

/// The value and whether there is one, as a mask, without a branch on the digit.
fn digit(ascii: u8) -> (u8, u8) {
    let decimal = ascii.wrapping_sub(b'0');
    let letter = (ascii | 0x20).wrapping_sub(b'a');
    let [is_decimal, is_letter] = [below(decimal, 10), below(letter, 6)];
    let value = decimal & is_decimal | letter.wrapping_add(10) & is_letter;
    (value, is_decimal | is_letter)
}

/// 0xff or 0.
fn below(value: u8, limit: u8) -> u8 {
    let [borrow, _] = u16::from(value).wrapping_sub(limit.into()).to_be_bytes();
    borrow
}
