//! What AWS-LC says it chose follows the mask that its process was started with.

#![cfg(target_arch = "x86_64")]

use std::process::Command;

use lockgate_crypto::{Instructions, aws_lc_chose, by_name, instructions};

const MASK: &str = "OPENSSL_ia32cap";
const SAYS: &str = "the back-end says ";

#[test]
fn says_what_it_chose() {
    let backend = by_name("aws-lc").expect("it exists");
    let (instructions, sha_ni) = aws_lc_chose();
    let with = if sha_ni { ", SHA-NI" } else { "" };
    assert_eq!(backend.instructions(), format!("{instructions}{with}"));
    println!("{SAYS}{}", backend.instructions());
}

/// What a process says in whose environment the mask is `mask`.
fn said_under(mask: Option<&str>) -> String {
    let mut child = Command::new(std::env::current_exe().expect("it runs"));
    child.args(["--exact", "aws_lc_chose::says_what_it_chose", "--nocapture"]);
    match mask {
        Some(mask) => child.env(MASK, mask),
        None => child.env_remove(MASK),
    };
    let output = child.output().expect("it runs again");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let (_, said) = text.split_once(SAYS).expect("it says so");
    said.lines().next().expect("a line").to_owned()
}

fn has_sha_ni() -> bool {
    is_x86_feature_detected!("sha")
}

fn text(instructions: Instructions, sha_ni: bool) -> String {
    let with = if sha_ni { ", SHA-NI" } else { "" };
    format!("{instructions}{with}")
}

#[test]
fn without_a_mask_it_chooses_what_the_cpu_has() {
    assert_eq!(said_under(None), text(instructions(), has_sha_ni()));
}

#[test]
fn a_mask_lowers_the_choice() {
    for (mask, most, sha_ni) in [
        // AVX-512 hidden.
        (":~0xC0230000", Instructions::Vaes, true),
        // VAES, VPCLMULQDQ, AVX2 and BMI2 too.
        (":~0x600C0230120", Instructions::Avx, true),
        // All of CPUID leaf 7.
        (":0", Instructions::Avx, false),
        // AES-NI and PCLMULQDQ hidden.
        ("~0x200000200000000", Instructions::Baseline, true),
    ] {
        let expected = text(instructions().min(most), has_sha_ni() && sha_ni);
        assert_eq!(said_under(Some(mask)), expected, "{mask}");
    }
}
