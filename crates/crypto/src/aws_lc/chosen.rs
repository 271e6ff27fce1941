//! Which instructions the library uses on this CPU, read from its own
//! capability vector, which `OPENSSL_ia32cap` in the environment can narrow.

use crate::Instructions;

/// What AWS-LC chose among: the set of instructions, and whether it has the
/// SHA extensions. On other architectures than x86-64: the baseline.
pub fn aws_lc_chose() -> (Instructions, bool) {
    chosen(capabilities())
}

/// The capability vector of AWS-LC: leaf 1 of CPUID and leaf 7, as
/// `OPENSSL_ia32cap(3)` has them.
pub fn aws_lc_sees() -> (u64, u64) {
    let [edx, ecx, ebx, leaf7_ecx] = capabilities().map(u64::from);
    (edx | ecx << 32, ebx | leaf7_ecx << 32)
}

pub(super) fn as_text() -> String {
    match aws_lc_chose() {
        (instructions, true) => format!("{instructions}, SHA-NI"),
        (instructions, false) => instructions.to_string(),
    }
}

#[cfg(target_arch = "x86_64")]
fn capabilities() -> [u32; 4] {
    unsafe extern "C" {
        #[link_name = concat!(env!("AWS_LC_PREFIX"), "OPENSSL_ia32cap_P")]
        static OPENSSL_IA32CAP: [u32; 4];
    }
    // SAFETY: has no preconditions; the vector is complete when it returns,
    // and no one writes to it afterwards.
    unsafe {
        aws_lc_sys::CRYPTO_library_init();
        (&raw const OPENSSL_IA32CAP).read()
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn capabilities() -> [u32; 4] {
    [0; 4]
}

/// The vector holds EDX and ECX of CPUID leaf 1, then EBX and ECX of leaf 7
/// (Intel SDM volume 2A, CPUID), less what the operating system did not enable.
fn chosen([_, leaf1_ecx, leaf7_ebx, leaf7_ecx]: [u32; 4]) -> (Instructions, bool) {
    let has = |register: u32, bits: &[u32]| bits.iter().all(|bit| register >> bit & 1 == 1);
    let steps = [
        // PCLMULQDQ, SSSE3, SSE4.1, AES.
        (Instructions::AesNi, has(leaf1_ecx, &[1, 9, 19, 25])),
        (Instructions::Avx, has(leaf1_ecx, &[28])),
        // AVX2, BMI2.
        (Instructions::Avx2, has(leaf7_ebx, &[5, 8])),
        // VAES, VPCLMULQDQ.
        (Instructions::Vaes, has(leaf7_ecx, &[9, 10])),
        // AVX-512 F, DQ, BW, VL.
        (Instructions::Avx512, has(leaf7_ebx, &[16, 17, 30, 31])),
    ];
    let there = steps.iter().take_while(|(_, is_there)| *is_there);
    let instructions = there
        .last()
        .map_or(Instructions::Baseline, |(instructions, _)| *instructions);
    (instructions, has(leaf7_ebx, &[29]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_follow_their_bits() {
        let all = [!0; 4];
        let without = |register: usize, bits: u32| {
            let mut vector = all;
            vector[register] &= !bits;
            chosen(vector)
        };
        assert_eq!(chosen(all), (Instructions::Avx512, true));
        assert_eq!(chosen([0; 4]), (Instructions::Baseline, false));
        assert_eq!(without(2, 0xC023_0000), (Instructions::Vaes, true));
        assert_eq!(without(3, 0x600), (Instructions::Avx2, true));
        assert_eq!(without(2, 0x120), (Instructions::Avx, true));
        assert_eq!(without(1, 1 << 28), (Instructions::AesNi, true));
        assert_eq!(without(1, 0x0200_0002), (Instructions::Baseline, true));
        assert_eq!(without(2, 1 << 29), (Instructions::Avx512, false));
    }
}
