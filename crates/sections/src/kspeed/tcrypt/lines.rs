//! What tcrypt prints into the kernel's log, line by line.
//!
//! A header names algorithm, driver and direction; under it each test has a
//! line, and its figure stands behind it or on a line of its own. Other parts
//! of the kernel print in between. The text comes out of a guest: everything
//! is bounded, and what is not understood is passed over.

/// No log of one call is longer.
pub(super) const TEXT_BYTES_MAX: usize = 4 << 20;
/// Longer lines are none of tcrypt's.
const LINE_BYTES_MAX: usize = 512;
/// tcrypt has a few hundred tests in its longest mode, and runs twice.
const ENTRIES_MAX: usize = 8192;
/// Largest figure taken for one: beyond, arithmetic in f64 loses digits.
const NUMBER_MAX: u64 = 1 << 52;

/// One test with its figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) header: Header,
    pub(super) test: Test,
    pub(super) figure: Figure,
}

/// What is tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) is_multibuffer: bool,
    /// As it was asked for, e.g. `cbc(aes)`.
    pub(super) algorithm: String,
    /// The driver that the kernel chose.
    pub(super) driver: String,
    /// Of a cipher; a hash has no direction.
    pub(super) is_encryption: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test {
    /// 0 of a hash.
    pub(super) key_bits: u64,
    pub(super) bytes: u64,
    /// Bytes handed over at once: the whole request, except of some hashes.
    pub(super) update_bytes: u64,
}

/// What a test found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    /// CPU cycles of one operation, mean of eight.
    Cycles(u64),
    /// Operations in that many seconds.
    Operations { count: u64, seconds: u64 },
}

/// The log cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TextError {
    #[error(
        "the kernel's log has {bytes} bytes, the limit is {TEXT_BYTES_MAX}; measure fewer drivers at once"
    )]
    TooLong { bytes: usize },
    #[error("tcrypt printed more than {ENTRIES_MAX} figures, which no mode has")]
    TooMany,
}

/// Every test of a log that has a figure, in order.
///
/// # Errors
/// [`TextError`] where the log is longer than any of tcrypt's.
pub(super) fn parse(text: &str) -> Result<Vec<Entry>, TextError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(TextError::TooLong { bytes: text.len() });
    }
    let (mut reader, mut entries) = (Reader::default(), Vec::new());
    let lines = text.lines().filter(|line| line.len() <= LINE_BYTES_MAX);
    for entry in lines.filter_map(|line| reader.take(message(line))) {
        if entries.len() == ENTRIES_MAX {
            return Err(TextError::TooMany);
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// A line without the time, the caller and the module's name before it.
fn message(line: &str) -> &str {
    let mut rest = line.trim();
    while let Some((mark, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        if mark.contains(['(', ')']) {
            break;
        }
        rest = after.trim_start();
    }
    rest.strip_prefix("tcrypt: ").unwrap_or(rest).trim_start()
}

/// What the lines so far mean for the next.
#[derive(Default)]
struct Reader {
    header: Option<Header>,
    /// A test whose figure has not come yet.
    pending: Option<Test>,
}

/// A figure, with the length of the request where the line has it.
type Found = (Figure, Option<u64>);

impl Reader {
    fn take(&mut self, message: &str) -> Option<Entry> {
        if let Some(header) = header(message) {
            (self.header, self.pending) = (Some(header), None);
            return None;
        }
        if let Some((test, rest)) = test(message) {
            self.pending = Some(test);
            return self.finish(figure(rest)?);
        }
        self.finish(figure(message)?)
    }

    /// The entry of the pending test, if the figure can be its own.
    fn finish(&mut self, (figure, bytes): Found) -> Option<Entry> {
        let (test, header) = (self.pending.take()?, self.header.as_ref()?);
        let is_own = match (figure, bytes) {
            (_, None) => true,
            (Figure::Cycles(_), Some(bytes)) => bytes == test.bytes,
            // There it is the sum of all operations.
            (Figure::Operations { count, .. }, Some(bytes)) => {
                count.checked_mul(test.bytes) == Some(bytes)
            }
        };
        is_own.then(|| Entry {
            header: header.clone(),
            test,
            figure,
        })
    }
}

/// `testing speed of multibuffer cbc(aes) (cbc-aes-aesni) encryption`.
fn header(message: &str) -> Option<Header> {
    let rest = message.strip_prefix("testing speed of ")?.trim_end();
    let plain = without(rest, "multibuffer ");
    let (algorithm, after) = without(without(plain, "async "), "sync ").split_once(" (")?;
    let (driver, direction) = after.rsplit_once(')')?;
    let is_known = ["", " encryption", " decryption"].contains(&direction);
    is_known.then(|| Header {
        is_multibuffer: plain != rest,
        algorithm: algorithm.to_owned(),
        driver: driver.to_owned(),
        is_encryption: direction == " encryption",
    })
}

fn without<'a>(text: &'a str, first: &str) -> &'a str {
    text.strip_prefix(first).unwrap_or(text)
}

/// `test 3 (128 bit key, 256 byte blocks): …` of a cipher,
/// `test  5 (  256 byte blocks,  256 bytes per update,   1 updates): …` of a
/// hash.
fn test(message: &str) -> Option<(Test, &str)> {
    let of = |key_bits, bytes, update_bytes| Test {
        key_bits,
        bytes,
        update_bytes,
    };
    let cipher = ["test", "(", " bit key,", " byte blocks):"];
    if let Some(([_, key_bits, bytes], rest)) = scan(message, cipher) {
        return Some((of(key_bits, bytes, bytes), rest));
    }
    let (blocks, updates) = (" byte blocks,", " bytes per update,");
    let hash = ["test", "(", blocks, updates, " updates):"];
    let ([_, bytes, update_bytes, _], rest) = scan(message, hash)?;
    Some((of(0, bytes, update_bytes), rest))
}

/// `1 operation in 5194 cycles (64 bytes)`,
/// `491520 operations in 1 seconds (31457280 bytes)`,
/// `4920 cycles/operation,   76 cycles/byte`,
/// `491520 opers/sec,  31457280 bytes/sec`.
fn figure(text: &str) -> Option<Found> {
    let operations = |count, seconds| Figure::Operations { count, seconds };
    if let Some(([cycles, bytes], "")) = scan(text, ["1 operation in ", " cycles (", " bytes)"]) {
        return Some((Figure::Cycles(cycles), Some(bytes)));
    }
    let each = ["", " operations in ", " seconds (", " bytes)"];
    if let Some(([count, seconds, bytes], "")) = scan(text, each) {
        return (seconds > 0).then_some((operations(count, seconds), Some(bytes)));
    }
    if let Some(([cycles, _], "")) = scan(text, ["", " cycles/operation,", " cycles/byte"]) {
        return Some((Figure::Cycles(cycles), None));
    }
    match scan(text, ["", " opers/sec,", " bytes/sec"])? {
        ([count, _], "") => Some((operations(count, 1), None)),
        _ => None,
    }
}

/// The numbers between those words, and what follows the last.
fn scan<'a, const WORDS: usize, const NUMBERS: usize>(
    text: &'a str,
    words: [&str; WORDS],
) -> Option<([u64; NUMBERS], &'a str)> {
    let (first, words) = words.split_first()?;
    let mut rest = text.trim().strip_prefix(first)?;
    let mut numbers = Vec::new();
    for word in words {
        let (before, behind) = rest.split_once(word)?;
        numbers.push(number(before)?);
        rest = behind;
    }
    Some((numbers.try_into().ok()?, rest))
}

/// Digits alone, with spaces around them.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = is_number.then(|| text.parse().ok()).flatten()?;
    (value <= NUMBER_MAX).then_some(value)
}

#[cfg(test)]
mod tests;
