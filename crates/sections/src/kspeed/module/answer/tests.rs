use std::time::Duration;

use proptest::prelude::*;

use crate::kspeed::catalogue::Chosen;
use crate::kspeed::module::answer::*;

const RUN: &str = include_str!("../../fixtures/module-async.json");
const REFUSAL: &str = include_str!("../../fixtures/module-refused.json");

fn start() -> Start {
    Start {
        driver: "virtio_crypto_aes_cbc".parse::<Chosen>().unwrap().0,
        mode: "async",
        size_bytes: 512,
        depth: 16,
        threads: 1,
        duration: Duration::from_millis(200),
        latency: true,
    }
}

#[test]
fn a_real_answer_is_read() {
    let Answer::Measured(measured) = parse(RUN, &start()).unwrap() else {
        panic!("it ran");
    };
    assert!(measured.is_async && measured.completed > 100);
    assert!(measured.requests_per_s() > 0.0);
    assert!(!measured.latencies.is_empty());
}

#[test]
fn a_refusal_keeps_its_words() {
    let Answer::Refused(fault) = parse(REFUSAL, &start()).unwrap() else {
        panic!("it did not run");
    };
    assert!(fault.reason().contains("ENOENT"), "{}", fault.reason());
    assert!(!fault.remedy().is_empty());
}

/// An answer with one value changed.
fn changed(key: &str, value: serde_json::Value) -> String {
    let mut answer: serde_json::Value = serde_json::from_str(RUN).unwrap();
    answer[key] = value;
    answer.to_string()
}

#[test]
fn the_answer_to_another_question_is_refused() {
    for (key, value, part) in [
        ("driver", "cbc-aes-aesni".into(), "cbc-aes-aesni"),
        ("mode", "sync".into(), "sync"),
        ("op", "decrypt".into(), "decrypt"),
        ("size_bytes", 64.into(), "64"),
        ("thread_count", 2.into(), "2"),
        ("depth", 3.into(), "3"),
    ] {
        let error = parse(&changed(key, value), &start()).unwrap_err();
        assert!(matches!(error, AnswerError::Other { .. }), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    for (key, value) in [
        ("elapsed_ns", 0.into()),
        ("completed", 1.into()),
        ("completed", u64::MAX.into()),
        ("errors", u64::MAX.into()),
        ("depth", 0.into()),
        ("schema", 2.into()),
        ("threads", serde_json::json!([])),
        (
            "latency_ns",
            serde_json::json!({"count": 5, "buckets": [[1, 4]]}),
        ),
        ("completed", (-1).into()),
    ] {
        let text = changed(key, value);
        assert!(parse(&text, &start()).is_err(), "{key}: {text}");
    }
    assert!(parse("", &start()).is_err());
    let long = " ".repeat(ANSWER_BYTES_MAX + 1);
    assert!(matches!(
        parse(&long, &start()),
        Err(AnswerError::TooLong { .. })
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A guest may answer anything.
    #[test]
    fn nothing_makes_it_panic(text in "(?s).{0,300}", cut in 0_usize..2000, flip in 0_u8..128) {
        let _ = parse(&text, &start());
        let mut bytes = RUN.as_bytes().to_vec();
        let at = cut % bytes.len();
        bytes[at] ^= flip;
        let _ = parse(&String::from_utf8_lossy(&bytes), &start());
        let _ = parse(&RUN[..at], &start());
    }
}
