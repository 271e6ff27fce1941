//! Numbers with units, as people type them.

/// The largest block size a flag takes: 1 GiB. Sections have lower limits.
const SIZE_BYTES_MAX: u64 = 1 << 30;

/// Reads `64`, `16k`, `16KiB`, `1M`, `1MiB` as bytes: k and Ki are 1024.
///
/// # Errors
/// What is wrong and what is allowed.
pub fn parse_size(text: &str) -> Result<u64, String> {
    parse_bytes(text, SIZE_BYTES_MAX, false)
}

/// Reads a size of memory: as [`parse_size`], also in G, GiB, T and TiB.
///
/// # Errors
/// What is wrong and what is allowed.
pub fn parse_memory(text: &str) -> Result<u64, String> {
    parse_bytes(text, MEMORY_BYTES_MAX, true)
}

/// What a process on x86-64 can address.
const MEMORY_BYTES_MAX: u64 = 1 << 47;

fn parse_bytes(text: &str, most: u64, is_large: bool) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" if is_large => 1 << 30,
        "t" | "tib" if is_large => 1 << 40,
        _ => return Err(not_a_size()),
    };
    let number: u64 = digits.parse().map_err(|_| not_a_size())?;
    number
        .checked_mul(unit)
        .filter(|bytes| (1..=most).contains(bytes))
        .ok_or_else(|| format!("out of range; 1 to {most} bytes"))
}

fn not_a_size() -> String {
    "not a size; write bytes, or k, KiB (1024 bytes), M, MiB: 64, 16k, 16KiB, 65536".to_owned()
}

/// Reads a ratio above 0 and at most 1000.
///
/// # Errors
/// What is wrong and what is allowed.
pub fn parse_ratio(text: &str) -> Result<f64, String> {
    in_range(text, 1000.0, "a ratio, e.g. 0.95")
}

/// Reads seconds, above 0 and at most an hour.
///
/// # Errors
/// What is wrong and what is allowed.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    in_range(
        text.strip_suffix('s').unwrap_or(text),
        3600.0,
        "seconds, e.g. 0.5",
    )
}

/// Reads half an interval's width as a share, above 0 and at most a half.
///
/// # Errors
/// What is wrong and what is allowed.
pub fn parse_precision(text: &str) -> Result<f64, String> {
    in_range(text, 0.5, "a share of the ratio, e.g. 0.02 for ±2%")
}

/// Reads requests per second, above 0 and at most 10^9.
///
/// # Errors
/// What is wrong and what is allowed.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    in_range(text, 1e9, "requests per second, e.g. 20000")
}

fn in_range(text: &str, max: f64, what: &str) -> Result<f64, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| format!("not a number; write {what}"))?;
    if number > 0.0 && number <= max {
        Ok(number)
    } else {
        Err(format!(
            "out of range; {what}, more than 0 and at most {max}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_type_them() {
        for (text, bytes) in [
            ("64", Some(64)),
            ("64B", Some(64)),
            ("16k", Some(16384)),
            ("16KiB", Some(16384)),
            ("16K", Some(16384)),
            ("65536", Some(65536)),
            ("1MiB", Some(1 << 20)),
            ("", None),
            ("k", None),
            ("-64", None),
            ("1.5k", None),
            ("16kB", None),
            ("16 KiB", None),
            ("0", None),
            ("2048M", None),
            ("99999999999999999999", None),
            ("16é", None),
        ] {
            assert_eq!(parse_size(text).ok(), bytes, "{text}");
        }
    }

    #[test]
    fn numbers_have_limits() {
        assert_eq!(parse_ratio("0.95"), Ok(0.95));
        assert_eq!(parse_seconds("0.5s"), Ok(0.5));
        assert_eq!(parse_rate("2e4"), Ok(20000.0));
        for text in ["0", "-1", "NaN", "inf", "1e300"] {
            for parse in [parse_ratio, parse_seconds, parse_rate] {
                assert!(parse(text).is_err(), "{text}");
            }
        }
    }
}
