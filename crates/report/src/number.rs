//! How numbers are written, everywhere people read them.

/// A number with three significant digits, or whole where it is whole, with
/// commas between thousands: `13,300`, `65,536`, `0.0123`, `9.99`.
///
/// Whole numbers are counts and sizes, so every digit stands. Everything else
/// was measured, and more than three digits would claim what no trial here can
/// hold. Beyond 10^15 and below 10^-4 the form is `1.23e-7`; what is not a
/// number is `–`.
pub fn number(value: f64) -> String {
    if value.is_nan() {
        return "–".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "-∞" }.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let size = value.abs();
    let text = if !(1e-4..1e15).contains(&size) {
        format!("{size:.2e}")
    } else if size.fract() == 0.0 {
        thousands(&format!("{size:.0}"))
    } else {
        significant(size)
    };
    if value < 0.0 {
        format!("-{text}")
    } else {
        text
    }
}

/// A size in bytes: `64 B`, `1 KiB`, `1.25 MiB`, `65,520 B`.
///
/// Sizes below 1 MiB that are no quarter of a unit keep every byte, because a
/// block of 65,520 bytes is not a block of 64 KiB; larger ones are rounded to
/// three significant digits.
pub fn bytes(value: f64) -> String {
    const UNITS: [(&str, f64); 4] = [
        ("TiB", 1099511627776.0),
        ("GiB", 1073741824.0),
        ("MiB", 1048576.0),
        ("KiB", 1024.0),
    ];
    let size = value.abs();
    let Some((name, unit)) = UNITS.into_iter().find(|(_, unit)| size >= *unit) else {
        return format!("{} B", number(value));
    };
    let quarters = value / unit * 4.0;
    if quarters.fract() == 0.0 {
        return format!("{} {name}", group(&format!("{}", value / unit)));
    }
    if size < 1048576.0 && value.fract() == 0.0 {
        return format!("{} B", number(value));
    }
    format!("{} {name}", number(value / unit))
}

/// A number with its unit: `13,300 MB/s`, `12.5%`, `2.03×`, and, where the
/// unit is `bytes`, as [`bytes`] writes it. An empty unit adds nothing.
pub fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" => number(value),
        "bytes" | "B" if value.is_finite() => bytes(value),
        "%" | "×" => format!("{}{unit}", number(value)),
        _ => format!("{} {unit}", number(value)),
    }
}

/// Three significant digits of a positive number that is not whole.
fn significant(size: f64) -> String {
    let rounded = format!("{size:.2e}");
    let exponent: i32 = rounded
        .split_once('e')
        .and_then(|(_, digits)| digits.parse().ok())
        .expect("the `e` form of a finite number always ends in its exponent");
    let decimals = usize::try_from(2 - exponent).unwrap_or(0);
    let rounded: f64 = rounded
        .parse()
        .expect("the `e` form of a finite number is a number");
    group(&format!("{rounded:.decimals$}"))
}

fn group(text: &str) -> String {
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", thousands(whole)),
        None => thousands(text),
    }
}

fn thousands(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let mut out = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{bytes, number, with_unit};

    #[test]
    fn measured_numbers_have_three_significant_digits() {
        for (value, text) in [
            (13349.27, "13,300"),
            (999.6, "1,000"),
            (9.996, "10.0"),
            (99.94, "99.9"),
            (1.5, "1.50"),
            (0.0123456, "0.0123"),
            (0.00012345, "0.000123"),
            (1.2345e-7, "1.23e-7"),
            (1234567.8, "1,230,000"),
            (-13349.27, "-13,300"),
        ] {
            assert_eq!(number(value), text, "{value}");
        }
    }

    #[test]
    fn whole_numbers_keep_every_digit() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (7.0, "7"),
            (65536.0, "65,536"),
            (1e6, "1,000,000"),
            (2e15, "2.00e15"),
        ] {
            assert_eq!(number(value), text, "{value}");
        }
    }

    #[test]
    fn what_is_not_a_number_says_so() {
        assert_eq!(number(f64::NAN), "–");
        assert_eq!(number(f64::INFINITY), "∞");
        assert_eq!(number(f64::NEG_INFINITY), "-∞");
        assert_eq!(bytes(f64::NAN), "– B");
    }

    #[test]
    fn sizes_use_binary_units_and_stay_exact_below_a_mebibyte() {
        for (value, text) in [
            (64.0, "64 B"),
            (1000.0, "1,000 B"),
            (1024.0, "1 KiB"),
            (1536.0, "1.5 KiB"),
            (16384.0, "16 KiB"),
            (65520.0, "65,520 B"),
            (65536.0, "64 KiB"),
            (1310720.0, "1.25 MiB"),
            (1100000.0, "1.05 MiB"),
            (1073741824.0, "1 GiB"),
            (2251799813685248.0, "2,048 TiB"),
        ] {
            assert_eq!(bytes(value), text, "{value}");
        }
    }

    #[test]
    fn units_follow_their_number() {
        assert_eq!(with_unit(13349.27, "MB/s"), "13,300 MB/s");
        assert_eq!(with_unit(12.51, "%"), "12.5%");
        assert_eq!(with_unit(2.034, "×"), "2.03×");
        assert_eq!(with_unit(16384.0, "bytes"), "16 KiB");
        assert_eq!(with_unit(2.0, ""), "2");
    }
}
