//! What Linux's dm-crypt makes of known text, for every mode, IV, key and sector size
//! that it has (`kernel/answers.txt`, written by `scripts/disk-answers.sh` in a guest).

use lockgate_disk::{SectorCipher, Spec};
use sha2::{Digest, Sha256};

const ANSWERS: &str = include_str!("kernel/answers.txt");
const TEXT_BYTES: usize = 16 << 10;

/// The text and key of the script.
fn text() -> Vec<u8> {
    let byte = |at: usize| at.wrapping_mul(167).wrapping_add(at / 512 * 13) as u8;
    (0..TEXT_BYTES).map(byte).collect()
}

fn key(bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| at.wrapping_mul(73).wrapping_add(11) as u8)
        .collect()
}

#[test]
fn every_sector_is_as_the_kernel_encrypts_it() {
    let mut count = 0;
    for line in ANSWERS.lines().filter(|line| !line.starts_with('#')) {
        let [spec, bits, sector_bytes, large, iv_offset, answer] =
            line.split(' ').collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        let number = |text: &str| text.parse::<usize>().unwrap();
        let spec: Spec = spec.parse().unwrap();
        let cipher = SectorCipher::new(spec, &key(number(bits) / 8), number(sector_bytes));
        let cipher = cipher
            .unwrap()
            .numbered(number(iv_offset) as u64, large == "1");
        let mut run = text();
        cipher.encrypt(0, &mut run);
        let digest = Sha256::digest(&run);
        let hex: String = digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(hex, answer, "{line}");
        // From the middle on, as a read of a part does.
        cipher.decrypt(16, &mut run[8192..]);
        cipher.decrypt(0, &mut run[..8192]);
        assert_eq!(run, text(), "{line}");
        count += 1;
    }
    assert!(count > 500, "{count} answers");
}
