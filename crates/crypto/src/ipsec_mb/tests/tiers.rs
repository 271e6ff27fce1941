//! Every variant of the library that this CPU can run, each in a process of
//! its own, since the limit holds for a whole process.

use std::process::Command;

use super::{agreement, backend, guard, is_whole};
use crate::{Backend, Instructions, instructions, limit_instructions};

/// Names the limit to the process that this test starts.
const LIMIT: &str = "LOCKGATE_TEST_INSTRUCTIONS";

const TIERS: [(&str, Instructions); 6] = [
    ("baseline", Instructions::Baseline),
    ("aes-ni", Instructions::AesNi),
    ("avx", Instructions::Avx),
    ("avx2", Instructions::Avx2),
    ("vaes", Instructions::Vaes),
    ("avx512", Instructions::Avx512),
];

#[test]
fn each_variant_agrees_with_aws_lc() {
    for (name, tier) in TIERS {
        if tier > instructions() {
            testing::left_out(format!("this CPU has no {tier}"));
            continue;
        }
        let own = std::env::current_exe().expect("a test has a file");
        let output = Command::new(own)
            .args([
                "--exact",
                "ipsec_mb::tests::tiers::under_a_limit",
                "--nocapture",
            ])
            .env(LIMIT, name)
            .output()
            .expect("what runs can be run again");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{name}: {said}"
        );
    }
}

fn has_gfni() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("gfni");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Does its work in the processes that the other test starts.
#[test]
fn under_a_limit() {
    let Ok(name) = std::env::var(LIMIT) else {
        return;
    };
    let (_, tier) = TIERS.into_iter().find(|(tier, _)| *tier == name).unwrap();
    assert_eq!(limit_instructions(tier), Ok(()));
    let Some(backend) = backend() else { return };
    is_whole(&backend);
    let (chosen, version) = (backend.instructions(), backend.opened.version);
    match tier {
        Instructions::Baseline => assert_eq!(chosen, "SSE without AES-NI"),
        Instructions::AesNi => assert_eq!(chosen, "SSE"),
        Instructions::Avx if version.has_avx() => assert_eq!(chosen, "AVX"),
        Instructions::Avx => assert_eq!(chosen, "SSE"),
        Instructions::Avx2 => assert_eq!(chosen, "AVX2"),
        // The library's code for AVX2 takes VAES where GFNI is there too; Zen 3 has none.
        Instructions::Vaes if has_gfni() => assert_eq!(chosen, "AVX2 with VAES"),
        Instructions::Vaes => assert_eq!(chosen, "AVX2"),
        Instructions::Avx512 => assert_eq!(chosen, "AVX-512 with VAES"),
    }
    agreement::all_agree(&[65_520, 64, 65_536, 16, 131_088, 48, 0, 100, 1, 65_537, 4096]);
    agreement::all_agree(&[80; 40]);
    agreement::wraps_agree(&[0, 1, 3, 17]);
    guard::nothing_beside_is_touched();
}
