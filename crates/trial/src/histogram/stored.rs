//! A histogram as text in a stored result, and back.

use std::io::Read;

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

use super::{DIGITS, Histogram, LATENCY_NS_MAX};

/// First word of the compressed V2 form, and of the plain form inside it.
const COOKIES: (u32, u32) = (0x1c84_9314, 0x1c84_9313);

/// Bytes of the plain form's head: cookie, length, offset, digits, lowest,
/// highest, ratio.
const HEAD_BYTES: usize = 40;

/// Bytes of the longest plain form read: nine for each of the 28,672 counts
/// that the range needs, with the head.
const PLAIN_BYTES_MAX: u64 = 9 * 28_672 + HEAD_BYTES as u64;

/// More requests than this in one histogram are a forgery: at 10^9 a second
/// they take a hundred days. Up to it a count is exact as an `f64`, in which
/// quantiles are looked up: beyond it the rank of the last may not exist.
const COUNT_MAX: u64 = 1 << 53;

#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// The text is not base64.
    #[error("the histogram is not base64; the result file was damaged or edited by hand")]
    Base64(#[from] base64::DecodeError),
    #[error(
        "the histogram is not in compressed HdrHistogram V2 form ({0}); the result file was damaged or written by another program"
    )]
    Form(String),
    #[error(
        "the histogram covers {low} to {high} ns with {digits} digits, Lockgate's cover 1 to {LATENCY_NS_MAX} ns with {DIGITS}; convert it or leave it out"
    )]
    Range {
        /// Lowest value that is distinguished, ns.
        low: u64,
        /// Highest value that is distinguished, ns.
        high: u64,
        digits: u32,
    },
}

impl Histogram {
    /// The compressed V2 form in base64, as an interval log holds it
    /// (`HISTFAAA…`): what `HdrHistogram`'s own tools read. Values are in ns.
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.counts, &mut bytes)
            .expect("writing to memory cannot fail, and no count exceeds i64::MAX");
        STANDARD.encode(bytes)
    }

    /// Reads what [`Self::encode`] wrote. Takes bounded memory whatever the
    /// text says.
    ///
    /// # Errors
    /// [`HistogramError`] when the text is damaged or of another range.
    pub fn decode(text: &str) -> Result<Self, HistogramError> {
        let plain = inflate(&STANDARD.decode(text.trim())?)?;
        check_head(&plain)?;
        let counts: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut plain.as_slice())
            .map_err(form)?;
        if counts.len() > COUNT_MAX {
            let count = counts.len();
            return Err(form(format!("{count} values are more than any trial has")));
        }
        Ok(Self { counts })
    }
}

fn form(error: impl ToString) -> HistogramError {
    HistogramError::Form(error.to_string())
}

fn inflate(bytes: &[u8]) -> Result<Vec<u8>, HistogramError> {
    if word(bytes, 0) != Some(COOKIES.0) {
        return Err(form("it does not begin with the form's cookie"));
    }
    let mut plain = Vec::new();
    ZlibDecoder::new(bytes.get(8..).unwrap_or_default())
        .take(PLAIN_BYTES_MAX)
        .read_to_end(&mut plain)
        .map_err(form)?;
    Ok(plain)
}

fn check_head(plain: &[u8]) -> Result<(), HistogramError> {
    let cut_short = || form("it is cut short");
    let counts = plain.get(HEAD_BYTES..).ok_or_else(cut_short)?;
    let word = |at| word(plain, at).expect("the head is there");
    let long = |at| u64::from(word(at)) << 32 | u64::from(word(at + 4));
    if word(0) != COOKIES.1 {
        return Err(form("its inside has another cookie"));
    }
    if u64::from(word(4)) > counts.len() as u64 {
        return Err(cut_short());
    }
    let (digits, low, high) = (word(12), long(16), long(24));
    if (low, high, digits) != (1, LATENCY_NS_MAX, u32::from(DIGITS)) {
        return Err(HistogramError::Range { low, high, digits });
    }
    // Nine bytes of ones are the one number whose negation overflows. A count
    // that a trial can have never holds them: its varint ends sooner.
    if counts.windows(9).any(|bytes| bytes == [0xff; 9]) {
        return Err(form("it holds an impossible count"));
    }
    Ok(())
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::HistogramError;
    use crate::histogram::tests::of;
    use crate::histogram::{Histogram, LATENCY_NS_MAX};

    #[test]
    fn the_stored_form_is_that_of_interval_logs() {
        let histogram = of([640, 3_300, 9_600, 9_600, 250_000]);
        let text = histogram.encode();
        assert!(text.starts_with("HISTFAAA"), "{text}");
        assert_eq!(
            Histogram::decode(&format!(" {text}\n")).expect("round trip"),
            histogram
        );
    }

    fn is_bad_form(text: &str) -> bool {
        matches!(Histogram::decode(text), Err(HistogramError::Form(_)))
    }

    #[test]
    fn damage_is_an_error() {
        let text = of([640, 3_300]).encode();
        let letters = Histogram::decode("not base64!");
        assert!(matches!(letters, Err(HistogramError::Base64(_))));
        for damaged in ["", "AAAA", &text[..12], &text[..text.len() - 8]] {
            assert!(is_bad_form(damaged), "{damaged}");
        }
    }

    #[test]
    fn hostile_insides_are_an_error() {
        let head = |low: u64, length: u32| {
            let words = [super::COOKIES.1, length, 0, 3].map(u32::to_be_bytes);
            let longs = [low, LATENCY_NS_MAX, 1_f64.to_bits()].map(u64::to_be_bytes);
            [words.concat(), longs.concat()].concat()
        };
        let with =
            |counts: &[u8]| compressed(&[head(1, counts.len() as u32), counts.to_vec()].concat());
        let decode = |text: String| Histogram::decode(&text);
        assert!(decode(with(&[])).expect("an honest empty one").is_empty());
        let range = decode(compressed(&head(2, 0)));
        assert!(matches!(range, Err(HistogramError::Range { low: 2, .. })));
        // 2^53 requests, and twice as many.
        let many = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20];
        let histogram = decode(with(&many)).expect("a count that is exact");
        assert_eq!(histogram.quantile_ns(1.0), histogram.max_ns());
        let huge = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff].repeat(3);
        for (what, text) in [
            ("a length beyond the end", compressed(&head(1, u32::MAX))),
            ("twice 2^53 requests", with(&many.repeat(2))),
            ("the least i64, whose negation overflows", with(&[0xff; 9])),
            ("counts whose sum overflows", with(&huge)),
        ] {
            assert!(is_bad_form(&text), "{what}");
        }
    }

    fn compressed(plain: &[u8]) -> String {
        use base64::{Engine, engine::general_purpose::STANDARD};
        use std::io::Write;
        let mut bytes = [super::COOKIES.0.to_be_bytes(), [0; 4]].concat();
        let mut encoder = flate2::write::ZlibEncoder::new(&mut bytes, flate2::Compression::fast());
        encoder.write_all(plain).expect("writing to memory");
        encoder.finish().expect("writing to memory");
        STANDARD.encode(bytes)
    }
}
