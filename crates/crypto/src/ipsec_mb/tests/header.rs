//! The committed layout against the header that is installed, where one is.

use std::fmt::Write as _;
use std::io::Write as _;
use std::mem::offset_of;
use std::process::{Command, Stdio};

use crate::ipsec_mb::layout::{self, GcmContext, GcmKeyData, ImbJob, Manager, Version};

/// Offsets by the header's names, for the test that asks a C compiler.
const MANAGER: [(&str, usize); 18] = [
    ("features", offset_of!(Manager, features)),
    ("used_arch", offset_of!(Manager, architecture)),
    ("imb_errno", offset_of!(Manager, error)),
    ("keyexp_128", offset_of!(Manager, expand_key)),
    ("sha256_one_block", offset_of!(Manager, sha256_one_block)),
    ("gcm128_enc", offset_of!(Manager, gcm_seal)),
    ("gcm128_dec", offset_of!(Manager, gcm_open)),
    ("gcm128_init", offset_of!(Manager, gcm_init)),
    ("gcm128_enc_update", offset_of!(Manager, gcm_encrypt)),
    ("gcm128_dec_update", offset_of!(Manager, gcm_decrypt)),
    (
        "gcm128_enc_finalize",
        offset_of!(Manager, gcm_encrypt_finalize),
    ),
    (
        "gcm128_dec_finalize",
        offset_of!(Manager, gcm_decrypt_finalize),
    ),
    ("gcm128_pre", offset_of!(Manager, gcm_prepare)),
    ("get_next_burst", offset_of!(Manager, next_burst)),
    (
        "submit_burst_nocheck",
        offset_of!(Manager, submit_burst_nocheck),
    ),
    ("flush_burst", offset_of!(Manager, flush_burst)),
    (
        "submit_cipher_burst_nocheck",
        offset_of!(Manager, cipher_burst_nocheck),
    ),
    (
        "submit_hash_burst_nocheck",
        offset_of!(Manager, hash_burst_nocheck),
    ),
];

const JOB: [(&str, usize); 15] = [
    ("dec_keys", offset_of!(ImbJob, dec_keys)),
    ("src", offset_of!(ImbJob, source)),
    ("dst", offset_of!(ImbJob, destination)),
    (
        "msg_len_to_cipher_in_bytes",
        offset_of!(ImbJob, cipher_bytes),
    ),
    ("msg_len_to_hash_in_bytes", offset_of!(ImbJob, hash_bytes)),
    ("iv", offset_of!(ImbJob, iv)),
    ("iv_len_in_bytes", offset_of!(ImbJob, iv_bytes)),
    ("auth_tag_output", offset_of!(ImbJob, tag)),
    (
        "auth_tag_output_len_in_bytes",
        offset_of!(ImbJob, tag_bytes),
    ),
    ("u", offset_of!(ImbJob, extra)),
    ("status", offset_of!(ImbJob, status)),
    ("cipher_mode", offset_of!(ImbJob, cipher)),
    ("cipher_direction", offset_of!(ImbJob, direction)),
    ("hash_alg", offset_of!(ImbJob, hash)),
    ("chain_order", offset_of!(ImbJob, order)),
];

fn program(version: Version) -> String {
    let mut c = String::from("#define LINUX\n#include <stddef.h>\n#include <intel-ipsec-mb.h>\n");
    let mut claim = |claim: String| writeln!(c, "_Static_assert({claim}, \"differs\");").unwrap();
    for (of, fields) in [("IMB_MGR", &MANAGER[..]), ("IMB_JOB", &JOB)] {
        for (field, offset) in fields {
            claim(format!("offsetof({of}, {field}) == {offset}"));
        }
    }
    if version.has_suites() {
        let offset = offset_of!(Manager, set_suite);
        claim(format!("offsetof(IMB_MGR, set_suite_id) == {offset}"));
    }
    claim(format!("sizeof(IMB_JOB) == {}", version.job_bytes()));
    let (key, context) = (size_of::<GcmKeyData>(), size_of::<GcmContext>());
    claim(format!("sizeof(struct gcm_key_data) <= {key}"));
    claim(format!("sizeof(struct gcm_context_data) <= {context}"));
    use layout::{cipher, direction, hash, order};
    for (name, value) in [
        ("IMB_CIPHER_CBC", cipher::CBC),
        ("IMB_CIPHER_CNTR", cipher::CTR),
        ("IMB_CIPHER_NULL", cipher::NULL),
        ("IMB_CIPHER_ECB", cipher::ECB),
        ("IMB_CIPHER_CHACHA20_POLY1305", cipher::CHACHA20_POLY1305),
        ("IMB_AUTH_CHACHA20_POLY1305", hash::CHACHA20_POLY1305),
        ("IMB_AUTH_HMAC_SHA_256", hash::HMAC_SHA256),
        ("IMB_AUTH_NULL", hash::NULL),
        ("IMB_AUTH_SHA_1", hash::SHA1),
        ("IMB_AUTH_SHA_256", hash::SHA256),
        ("IMB_AUTH_SHA_384", hash::SHA384),
        ("IMB_AUTH_SHA_512", hash::SHA512),
        ("IMB_DIR_ENCRYPT", direction::ENCRYPT),
        ("IMB_DIR_DECRYPT", direction::DECRYPT),
        ("IMB_ORDER_CIPHER_HASH", order::CIPHER_HASH),
        ("IMB_ORDER_HASH_CIPHER", order::HASH_CIPHER),
        ("IMB_MAX_BURST_SIZE", layout::BURST as u32),
        ("IMB_STATUS_COMPLETED", 3),
    ] {
        claim(format!("{name} == {value}"));
    }
    c
}

fn compiled(source: &str) -> Option<Result<(), String>> {
    let mut compiler = Command::new("cc")
        .args(["-x", "c", "-w", "-fsyntax-only", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = compiler.stdin.take()?;
    stdin.write_all(source.as_bytes()).ok()?;
    drop(stdin);
    let output = compiler.wait_with_output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Some(if output.status.success() {
        Ok(())
    } else {
        Err(said)
    })
}

fn header() -> Option<Version> {
    let is = |number: u32| {
        let asks = format!(
            "#include <intel-ipsec-mb.h>\n_Static_assert(IMB_VERSION_NUM >> 8 == {}, \"\");",
            number >> 8
        );
        compiled(&asks)?.ok()?;
        Version::of(number)
    };
    [0x01_03_00, 0x01_04_00, 0x01_05_00, 0x02_00_00]
        .into_iter()
        .find_map(is)
}

#[test]
fn the_header_says_the_same() {
    let Some(version) = header() else {
        testing::skipped("no C compiler, or no intel-ipsec-mb.h of a known version");
        return;
    };
    let said = compiled(&program(version)).expect("the compiler answered before");
    assert_eq!(said, Ok(()), "{version:?}");
    let wrong = program(version).replace("IMB_CIPHER_CBC == 1", "IMB_CIPHER_CBC == 2");
    let said = compiled(&wrong).expect("the compiler answered before");
    assert!(said.is_err(), "the assertions are looked at");
}
