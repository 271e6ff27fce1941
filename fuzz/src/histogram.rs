//! A histogram as a stored run holds it, and the plain form inside it.

use std::io::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use trial::Histogram;

/// First word of the compressed form.
const COOKIE: u32 = 0x1c84_9314;

/// Decodes the bytes as text, as the compressed form, and as the plain form:
/// the fuzzer cannot compress, so the last reaches deepest.
pub fn histogram(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        decode(text);
    }
    decode(&STANDARD.encode(data));
    decode(&STANDARD.encode(compressed(data)));
}

fn decode(text: &str) {
    match Histogram::decode(text) {
        Ok(histogram) => check(&histogram),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn check(histogram: &Histogram) {
    let again = Histogram::decode(&histogram.encode()).expect("own output is read");
    assert_eq!(&again, histogram);
    let quantiles = [0.0, 0.5, 0.999, 1.0].map(|q| histogram.quantile_ns(q));
    assert!(quantiles.is_sorted(), "{quantiles:?}");
    assert_eq!(histogram.max_ns().is_none(), histogram.is_empty());
    let mut twice = histogram.clone();
    twice.merge(&again);
    assert_eq!(twice.len(), 2 * histogram.len());
    for metric in histogram.metrics().iter().chain(&twice.metrics()) {
        assert!(metric.value.is_finite(), "{metric:?}");
    }
}

fn compressed(plain: &[u8]) -> Vec<u8> {
    let mut bytes = [COOKIE.to_be_bytes(), [0; 4]].concat();
    let mut encoder = flate2::write::ZlibEncoder::new(&mut bytes, flate2::Compression::fast());
    encoder.write_all(plain).expect("writing to memory");
    encoder.finish().expect("writing to memory");
    bytes
}
