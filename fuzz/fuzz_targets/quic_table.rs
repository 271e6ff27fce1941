#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lockgate_fuzz::quic_table(data));
