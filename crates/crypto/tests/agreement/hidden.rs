//! The same with CPU features hidden from AWS-LC, in processes of their own:
//! other code paths, same results.

/// Names the one back-end that a process checks, to that process.
const ONLY: &str = "LOCKGATE_TEST_BACKEND";

/// That back-end, where this is such a process.
pub fn only() -> Option<String> {
    std::env::var(ONLY).ok()
}

/// Masks that clear CPUID bits as `OPENSSL_ia32cap` defines them (leaf 1
/// ECX:EDX, then leaf 7).
#[cfg(target_arch = "x86_64")]
#[test]
fn with_cpu_features_hidden() {
    let masks = [
        ("AVX-512", ":~0xC0230000"),
        ("all of leaf 7", ":0"),
        ("AES-NI, PCLMULQDQ", "~0x200000200000000"),
        (
            "AES-NI, PCLMULQDQ, SSSE3, AVX, leaf 7",
            "~0x1000020200000000:0",
        ),
    ];
    // Public keys know but one path.
    let families = [
        "ecb",
        "cbc",
        "ctr",
        "gcm",
        "xts",
        "chacha20_poly1305",
        "hashes",
        "hmac",
    ];
    let own = std::env::current_exe().expect("a test binary knows its path");
    for (hidden, mask) in masks {
        let child = std::process::Command::new(&own)
            .arg("--exact")
            .args(families.map(|family| format!("agreement::{family}")))
            .env("OPENSSL_ia32cap", mask)
            .env(ONLY, "aws-lc")
            .output()
            .expect("it can be run again");
        let text = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "without {hidden}: {text}");
        assert!(text.contains("8 passed"), "without {hidden}: {text}");
    }
}
