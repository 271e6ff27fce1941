//! The committed layout against the header that is installed, where one is.

use std::fmt::Write as _;
use std::io::Write as _;
use std::mem::offset_of;
use std::process::{Command, Stdio};

use crate::ipsec_mb::layout::{self, GcmContext, GcmKeyData, ImbJob, Manager, Version};

/// Offsets by the header's names, for the test that asks a C compiler.
const OFFSETS: [(&str, &str, usize); 33] = [
    ("IMB_MGR", "features", offset_of!(Manager, features)),
    ("IMB_MGR", "used_arch", offset_of!(Manager, architecture)),
    ("IMB_MGR", "imb_errno", offset_of!(Manager, error)),
    ("IMB_MGR", "keyexp_128", offset_of!(Manager, expand_key)),
    (
        "IMB_MGR",
        "sha256_one_block",
        offset_of!(Manager, sha256_one_block),
    ),
    ("IMB_MGR", "gcm128_enc", offset_of!(Manager, gcm_seal)),
    ("IMB_MGR", "gcm128_dec", offset_of!(Manager, gcm_open)),
    ("IMB_MGR", "gcm128_init", offset_of!(Manager, gcm_init)),
    (
        "IMB_MGR",
        "gcm128_enc_update",
        offset_of!(Manager, gcm_encrypt),
    ),
    (
        "IMB_MGR",
        "gcm128_dec_update",
        offset_of!(Manager, gcm_decrypt),
    ),
    (
        "IMB_MGR",
        "gcm128_enc_finalize",
        offset_of!(Manager, gcm_encrypt_finalize),
    ),
    (
        "IMB_MGR",
        "gcm128_dec_finalize",
        offset_of!(Manager, gcm_decrypt_finalize),
    ),
    ("IMB_MGR", "gcm128_pre", offset_of!(Manager, gcm_prepare)),
    ("IMB_MGR", "get_next_burst", offset_of!(Manager, next_burst)),
    (
        "IMB_MGR",
        "submit_burst_nocheck",
        offset_of!(Manager, submit_burst_nocheck),
    ),
    ("IMB_MGR", "flush_burst", offset_of!(Manager, flush_burst)),
    (
        "IMB_MGR",
        "submit_cipher_burst_nocheck",
        offset_of!(Manager, cipher_burst_nocheck),
    ),
    (
        "IMB_MGR",
        "submit_hash_burst_nocheck",
        offset_of!(Manager, hash_burst_nocheck),
    ),
    ("IMB_JOB", "dec_keys", offset_of!(ImbJob, dec_keys)),
    ("IMB_JOB", "src", offset_of!(ImbJob, source)),
    ("IMB_JOB", "dst", offset_of!(ImbJob, destination)),
    (
        "IMB_JOB",
        "msg_len_to_cipher_in_bytes",
        offset_of!(ImbJob, cipher_bytes),
    ),
    (
        "IMB_JOB",
        "msg_len_to_hash_in_bytes",
        offset_of!(ImbJob, hash_bytes),
    ),
    ("IMB_JOB", "iv", offset_of!(ImbJob, iv)),
    ("IMB_JOB", "iv_len_in_bytes", offset_of!(ImbJob, iv_bytes)),
    ("IMB_JOB", "auth_tag_output", offset_of!(ImbJob, tag)),
    (
        "IMB_JOB",
        "auth_tag_output_len_in_bytes",
        offset_of!(ImbJob, tag_bytes),
    ),
    ("IMB_JOB", "u", offset_of!(ImbJob, extra)),
    ("IMB_JOB", "status", offset_of!(ImbJob, status)),
    ("IMB_JOB", "cipher_mode", offset_of!(ImbJob, cipher)),
    ("IMB_JOB", "cipher_direction", offset_of!(ImbJob, direction)),
    ("IMB_JOB", "hash_alg", offset_of!(ImbJob, hash)),
    ("IMB_JOB", "chain_order", offset_of!(ImbJob, order)),
];

fn program(version: Version) -> String {
    let mut c = String::from("#define LINUX\n#include <stddef.h>\n#include <intel-ipsec-mb.h>\n");
    let mut claim = |claim: String| writeln!(c, "_Static_assert({claim}, \"differs\");").unwrap();
    for (of, field, offset) in OFFSETS {
        claim(format!("offsetof({of}, {field}) == {offset}"));
    }
    if version.has_suites() {
        let offset = offset_of!(Manager, set_suite);
        claim(format!("offsetof(IMB_MGR, set_suite_id) == {offset}"));
    }
    claim(format!("sizeof(IMB_JOB) == {}", version.job_bytes()));
    let (key, context) = (size_of::<GcmKeyData>(), size_of::<GcmContext>());
    claim(format!("sizeof(struct gcm_key_data) <= {key}"));
    claim(format!("sizeof(struct gcm_context_data) <= {context}"));
    for (name, value) in [
        ("IMB_CIPHER_CBC", layout::cipher::CBC),
        ("IMB_CIPHER_CNTR", layout::cipher::CTR),
        ("IMB_CIPHER_NULL", layout::cipher::NULL),
        ("IMB_CIPHER_ECB", layout::cipher::ECB),
        (
            "IMB_CIPHER_CHACHA20_POLY1305",
            layout::cipher::CHACHA20_POLY1305,
        ),
        (
            "IMB_AUTH_CHACHA20_POLY1305",
            layout::hash::CHACHA20_POLY1305,
        ),
        ("IMB_AUTH_HMAC_SHA_256", layout::hash::HMAC_SHA256),
        ("IMB_AUTH_NULL", layout::hash::NULL),
        ("IMB_AUTH_SHA_1", layout::hash::SHA1),
        ("IMB_AUTH_SHA_256", layout::hash::SHA256),
        ("IMB_AUTH_SHA_384", layout::hash::SHA384),
        ("IMB_AUTH_SHA_512", layout::hash::SHA512),
        ("IMB_DIR_ENCRYPT", layout::direction::ENCRYPT),
        ("IMB_DIR_DECRYPT", layout::direction::DECRYPT),
        ("IMB_ORDER_CIPHER_HASH", layout::order::CIPHER_HASH),
        ("IMB_ORDER_HASH_CIPHER", layout::order::HASH_CIPHER),
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
