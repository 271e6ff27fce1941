//! Key logs, and that nothing shows what is in them.

use lockgate_quic::capture::{
    ENTRIES_MAX, Item, KeyLog, KeyLogError, LINE_BYTES_MAX, Label, Secret,
};
use proptest::prelude::*;
use testing::assert_matches;

const RANDOM: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1F";
const SHORT: &str = "c0ffee00c0ffee01c0ffee02c0ffee03c0ffee04c0ffee05c0ffee06c0ffee07";
const LONG: &str = "DEADBEEF00DEADBEEF01DEADBEEF02DEADBEEF03DEADBEEF04DEADBEEF05DEADBEEF06DEADBEEF07DEADBEEF08DEADBE";

fn random() -> [u8; 32] {
    std::array::from_fn(|at| u8::try_from(at).unwrap())
}

fn read(text: &str) -> Result<KeyLog, KeyLogError> {
    let log = KeyLog::read(text.as_bytes());
    let shown = match &log {
        Ok(log) => format!("{log:?} {log:#?}"),
        Err(error) => format!("{error} {error:?} {error:#?}"),
    };
    assert_shows_no_secret(&shown);
    log
}

fn assert_shows_no_secret(shown: &str) {
    let shown = shown.to_lowercase();
    for secret in [
        "c0ffee",
        "deadbeef",
        "192, 255, 238",
        "222, 173, 190",
        "c0, ff",
    ] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn secrets_are_found_by_client_random_and_label() {
    let labels = [
        ("CLIENT_EARLY_TRAFFIC_SECRET", Label::ClientEarly),
        ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", Label::ClientHandshake),
        ("SERVER_HANDSHAKE_TRAFFIC_SECRET", Label::ServerHandshake),
        ("CLIENT_TRAFFIC_SECRET_0", Label::ClientTraffic),
        ("SERVER_TRAFFIC_SECRET_0", Label::ServerTraffic),
    ];
    for (name, label) in labels {
        for (prefix, end) in [("", "\n"), ("QUIC_", "\r\n"), ("", "")] {
            for (hex, first) in [(SHORT, [0xc0, 0xff]), (LONG, [0xde, 0xad])] {
                let log = read(&format!("{prefix}{name} {RANDOM} {hex}{end}")).unwrap();
                let secret = log.secret(&random(), label).unwrap();
                assert_eq!(secret.as_bytes().len(), hex.len() / 2);
                assert_eq!(secret.as_bytes()[..2], first);
                assert_eq!(log.len(), 1);
                for (_, other) in labels.iter().filter(|(_, other)| *other != label) {
                    assert!(log.secret(&random(), *other).is_none());
                }
                assert!(log.secret(&[0; 32], label).is_none());
            }
        }
    }
}

#[test]
fn comments_and_lines_of_no_use_are_passed_over_and_counted() {
    let master = "a".repeat(96);
    let text = format!(
        "# NSS key log\r\n\n   \n\t# {SHORT}\nCLIENT_RANDOM {RANDOM} {master}\nRSA 00112233 {master}\n\
         EXPORTER_SECRET {RANDOM} {SHORT}\nQUIC_EARLY_EXPORTER_SECRET {RANDOM} {SHORT}\n\
         CLIENT_TRAFFIC_SECRET_1 {RANDOM} {SHORT}\nFUTURE x y\n  CLIENT_TRAFFIC_SECRET_0\t{RANDOM}  {SHORT} \n"
    );
    let log = read(&text).unwrap();
    assert_eq!((log.len(), log.is_empty()), (1, false));
    assert_eq!((log.ignored, log.unknown, log.replaced), (4, 2, 0));
    assert!(read("").unwrap().is_empty());
}

#[test]
fn of_two_values_the_later_one_counts() {
    let line = |hex: &str| format!("CLIENT_TRAFFIC_SECRET_0 {RANDOM} {hex}\n");
    let same = read(&format!(
        "{0}{0}{1}",
        line(SHORT),
        line(&SHORT.to_uppercase())
    ))
    .unwrap();
    assert_eq!((same.len(), same.replaced), (1, 0));
    let mut other = read(&format!("{}{}", line(SHORT), line(LONG))).unwrap();
    assert_eq!((other.len(), other.replaced), (1, 1));
    let secret = |log: &KeyLog| {
        log.secret(&random(), Label::ClientTraffic)
            .unwrap()
            .as_bytes()[0]
    };
    assert_eq!(secret(&other), 0xde);
    // Of a prefixed label and another log, too.
    other
        .add(format!("QUIC_{}", line(SHORT)).as_bytes())
        .unwrap();
    assert_eq!((other.replaced, secret(&other)), (2, 0xc0));
}

#[test]
fn a_bad_line_is_named_by_its_number_alone() {
    let label = "SERVER_TRAFFIC_SECRET_0";
    let not_hex = SHORT.replace("07", "0g");
    let good = format!("{label} {RANDOM} {SHORT}");
    for (bad, named) in [
        (format!("{label} {RANDOM}"), "no label, client random"),
        (format!("{label} {SHORT}"), "no label, client random"),
        (SHORT.to_owned(), "no label, client random"),
        (format!("{good} {SHORT}"), "no label, client random"),
        (
            format!("{label} {SHORT}00 {SHORT}"),
            "client random of 66 hex",
        ),
        (
            format!("{label} {} {SHORT}", &SHORT[1..]),
            "client random of 63 hex",
        ),
        (
            format!("{label} {not_hex} {SHORT}"),
            "client random that is not hex",
        ),
        (
            format!("{label} {RANDOM} {}", &SHORT[1..]),
            "secret of 63 hex",
        ),
        (format!("{label} {RANDOM} {SHORT}0"), "secret of 65 hex"),
        (
            format!("{label} {RANDOM} {SHORT}{SHORT}"),
            "secret of 128 hex",
        ),
        (
            format!("{label} {RANDOM} {not_hex}"),
            "secret that is not hex",
        ),
        (
            format!("{label} {RANDOM} {}é", &SHORT[2..]),
            "secret that is not hex",
        ),
        (
            format!("# {}", "x".repeat(LINE_BYTES_MAX)),
            "more than 1024 bytes",
        ),
        ("c0ffee".repeat(LINE_BYTES_MAX), "more than 1024 bytes"),
    ] {
        let error = read(&format!("# first\n{good}\n{bad}\n{good}\n")).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("line 3 of the key log"), "{error}");
        assert!(error.contains(named), "{error}");
    }
    let longest = format!("#{}\r\n{good}", "x".repeat(LINE_BYTES_MAX - 1));
    assert_eq!(read(&longest).unwrap().len(), 1);
}

#[test]
fn no_character_but_a_hex_digit_is_one() {
    for byte in 0..=u8::MAX {
        let mut text = format!("CLIENT_TRAFFIC_SECRET_0 {RANDOM} {SHORT}").into_bytes();
        *text.last_mut().unwrap() = byte;
        let found = KeyLog::read(&text[..]);
        assert_eq!(found.is_ok(), byte.is_ascii_hexdigit(), "{byte:#x}");
        if let (Ok(log), Some(value)) = (found, char::from(byte).to_digit(16)) {
            let secret = log.secret(&random(), Label::ClientTraffic).unwrap();
            assert_eq!(secret.as_bytes()[31], u8::try_from(value).unwrap());
        }
    }
}

#[test]
fn a_log_cut_at_any_byte_gives_its_whole_lines() {
    let line = format!("CLIENT_TRAFFIC_SECRET_0 {RANDOM} {SHORT}\r\n");
    let text = line.clone() + &line.replace("CLIENT", "SERVER");
    for end in 0..text.len() {
        let mut log = KeyLog::default();
        let added = log.add(&text.as_bytes()[..end]);
        let whole = usize::from(end >= line.len() - 2) + usize::from(end >= text.len() - 2);
        assert_eq!(log.len(), whole, "{end}");
        assert_shows_no_secret(&format!("{added:?}"));
    }
}

#[test]
fn there_are_no_more_secrets_than_the_limit() {
    let lines = (0..=ENTRIES_MAX).map(|n| format!("CLIENT_TRAFFIC_SECRET_0 {n:064x} {SHORT}\n"));
    let text: String = lines.collect();
    let mut log = KeyLog::default();
    let error = log.add(text.as_bytes()).unwrap_err();
    assert_matches!(error, KeyLogError::Entries { line: 1_000_001 });
    assert!(error.to_string().contains("1000000"));
    assert_eq!(log.len(), ENTRIES_MAX);
    // One that is there already may come again.
    let first = text.lines().next().unwrap();
    assert!(log.add(first.as_bytes()).is_ok());
}

#[test]
fn secrets_are_shown_as_their_length() {
    let secret = Secret::new([0xc0, 0xff, 0xee].repeat(16));
    assert_eq!(format!("{secret:?}"), "Secret(48 bytes)");
    assert_eq!(
        format!("{:?}", Item::Secrets(secret)),
        "Secrets(Secret(48 bytes))"
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), text in "[A-Z_0 #\r\n]{0,40}[0-9a-g ]{0,200}") {
        let _ = KeyLog::read(&bytes[..]);
        let _ = KeyLog::read(text.as_bytes());
    }
}
