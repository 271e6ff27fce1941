//! The capability vector that `openssl version -c` prints.

use std::collections::BTreeSet;

use cpu::Feature;

use crate::tier::choice::Choice;

/// What a program with that vector sees; `None` where the text has none
/// (OpenSSL prints it since 3.0).
pub(super) fn parse(printed: &str) -> Option<Choice> {
    let words = printed.split_once("OPENSSL_ia32cap=")?.1;
    let mut words = words.split_ascii_whitespace().next()?.split(':').map(word);
    Some(seen((words.next()??, words.next()??)))
}

fn word(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// What a program sees whose vector has these words.
pub(super) fn seen((leaf1, leaf7): (u64, u64)) -> Choice {
    let is_set = |feature: &Feature| {
        feature.capability_bit().is_some_and(|(leaf, bit)| {
            let word = if leaf == 1 { leaf1 } else { leaf7 };
            word >> bit & 1 == 1
        })
    };
    Choice::seen(&Feature::all().filter(is_set).collect::<BTreeSet<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_openssl_prints() {
        let whole = "CPUINFO: OPENSSL_ia32cap=0xfffa3203078bffff:0x18415fdef1bf07ab\n";
        assert_eq!(parse(whole), "avx512".parse().ok());
        let masked = "CPUINFO: OPENSSL_ia32cap=0xfdfa3201078bffff:0x0 env:~0x200000200000000\n";
        assert_eq!(parse(masked), "none-sha-adx-aes".parse().ok());
        let newer = "CPUINFO: OPENSSL_ia32cap=0xeffa2203078bffff:0x10415fde319c0683:0x1:0x0:0x0\n";
        assert_eq!(parse(newer), "aesni".parse().ok());
        for garbage in [
            "",
            "CPUINFO: N/A",
            "OPENSSL_ia32cap=",
            "OPENSSL_ia32cap=0x1",
            "OPENSSL_ia32cap=0x1:y",
        ] {
            assert_eq!(parse(garbage), None, "{garbage}");
        }
    }
}
