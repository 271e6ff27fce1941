use proptest::prelude::*;

use super::*;
use crate::kspeed::tcrypt::Call;

const CBC: &str = include_str!("../../fixtures/tcrypt-cbc-generic.log");
const GCM: &str = include_str!("../../fixtures/tcrypt-gcm-generic.log");
const SECONDS: &str = include_str!("../../fixtures/tcrypt-seconds.log");

const SERIAL: Call = Call {
    num_mb: None,
    seconds: 0,
};
const MANY: Call = Call {
    num_mb: Some(16),
    seconds: 0,
};

/// Lengths with their rates.
fn of(text: &str, driver: &str, call: Call) -> Result<Vec<(usize, f64)>, String> {
    let rates = call.rates(text, driver.parse().unwrap(), 2.6)?.into_iter();
    Ok(rates
        .map(|(bytes, rate)| (bytes, rate.requests_per_s))
        .collect())
}

/// Figures on lines of their own belong to the test before; those of a second
/// are operations, of which some tests of a hash hand over a part at once.
#[test]
fn a_real_log_gives_every_length_once() {
    let gcm_driver = "gcm_base(ctr(aes-generic),ghash-generic)";
    let cbc = [16, 64, 128, 256, 1024, 1424, 4096];
    let gcm = [16, 64, 256, 512, 1024, 1420, 4096, 8192];
    let sha = [16, 64, 256, 1024, 2048, 4096, 8192];
    for (log, driver, call, lengths, (at, rate)) in [
        (CBC, "cbc(aes-generic)", SERIAL, &cbc[..], (1, 602_619.1)),
        (CBC, "cbc(aes-generic)", MANY, &cbc, (1, 614_807.5)),
        (GCM, gcm_driver, SERIAL, &gcm, (1, 2.6e9 / 11_395.0)),
        (SECONDS, "sha256-generic", SERIAL, &sha, (0, 691_242.0)),
        (
            SECONDS,
            "virtio_crypto_aes_cbc",
            SERIAL,
            &cbc,
            (0, 41_291.0),
        ),
    ] {
        let rates = of(log, driver, call).unwrap();
        let own: Vec<_> = rates.iter().map(|(bytes, _)| *bytes).collect();
        assert_eq!(own, lengths, "{driver}, {call:?}");
        assert!(
            (rates[at].1 - rate).abs() < 1.0,
            "{driver}, {call:?}: {rates:?}"
        );
    }
}

#[test]
fn another_driver_s_figures_are_not_taken() {
    let error = of(CBC, "cbc-aes-aesni", SERIAL).unwrap_err();
    assert!(
        error.contains("cbc(aes-generic) instead of cbc-aes-aesni"),
        "{error}"
    );
    let error = of("", "sha256-generic", SERIAL).unwrap_err();
    assert!(error.contains("no figure of sha256-generic"), "{error}");
}

#[test]
fn what_others_print_in_between_changes_nothing() {
    let noisy: String = GCM
        .lines()
        .map(|line| format!("{line}\n[    9.000000] virtio_net: (link) is up in 3 cycles\n"))
        .collect();
    assert_eq!(parse(&noisy), parse(GCM));
    let called: String = GCM
        .lines()
        .map(|line| line.replacen("] ", "][   T12] ", 1) + "\n")
        .collect();
    assert_eq!(parse(&called), parse(GCM));
}

#[test]
fn a_figure_that_cannot_be_the_test_s_is_left_out() {
    for line in [
        "test 0 (128 bit key, 16 byte blocks): 1 operation in 5330 cycles (64 bytes)",
        "test 0 (128 bit key, 16 byte blocks): 10 operations in 1 seconds (161 bytes)",
        "test 0 (128 bit key, 16 byte blocks): 10 operations in 0 seconds (160 bytes)",
        "test 0 (128 bit key, 16 byte blocks): 1 operation in -1 cycles (16 bytes)",
        "test 0 (128 bit key, 16 byte blocks): 1 operation in 99999999999999999999 cycles (16 bytes)",
        "1 operation in 5330 cycles (16 bytes)",
    ] {
        let text = format!("testing speed of async cbc(aes) (x) encryption\n{line}\n");
        assert_eq!(parse(&text), Ok(Vec::new()), "{line}");
    }
}

#[test]
fn too_much_is_refused() {
    let text = "x".repeat(TEXT_BYTES_MAX + 1);
    assert!(matches!(parse(&text), Err(TextError::TooLong { .. })));
    let line = "test 0 (128 bit key, 16 byte blocks): 1 operation in 9 cycles (16 bytes)\n";
    let text = format!(
        "testing speed of cbc(aes) (x) encryption\n{}",
        line.repeat(ENTRIES_MAX + 1)
    );
    assert_eq!(parse(&text), Err(TextError::TooMany));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A guest may print anything.
    #[test]
    fn nearly_right_lines_do_not_make_it_panic(
        cuts in prop::collection::vec((0_usize..400, "(?s).{0,3}"), 1..8),
    ) {
        let mut text: String = [CBC, GCM, SECONDS].concat();
        for (place, junk) in cuts {
            let at = (place * 61) % text.len();
            text.replace_range(at..(at + 2).min(text.len()), &junk.replace(|c: char| !c.is_ascii(), ""));
        }
        let entries = parse(&text).expect("short");
        prop_assert!(entries.iter().all(|entry| entry.test.bytes <= 1 << 52));
    }
}
