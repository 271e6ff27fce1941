//! `lockgate busy`: what a guest does while `lockgate cpu migrate` moves it.

use std::fs;
use std::path::Path;

use anyhow::Context;
use disk::{SECTOR_BYTES, SectorCipher};

use crate::exit::{Exit, Failure, OrExit};

const BYTES: usize = 64 << 10;
/// The count is written after so many answers.
const TURNS: u64 = 16;

/// Encrypts sectors and decrypts them, with the fastest instructions that the CPU showed
/// at the start, and compares: what was decrypted with what it was, and the same sectors
/// with what they were encrypted to at first. Ends with the first wrong answer.
pub fn busy(count: &Path) -> Result<Exit, Failure> {
    let spec = "aes-xts-plain64".parse().expect("a known cipher");
    let key: Vec<u8> = (0..64).collect();
    let cipher = SectorCipher::new(spec, &key, SECTOR_BYTES).or_failed()?;
    let text: Vec<u8> = (0..BYTES).map(|at| (at * 31 + at / 4096) as u8).collect();
    let mut first = text.clone();
    cipher.encrypt(0, &mut first);
    let mut data = text.clone();
    for turn in 1_u64.. {
        cipher.encrypt(0, &mut data);
        if data != first {
            return Err(Failure::new(
                Exit::Regression,
                format!("answer {turn} is wrong"),
            ));
        }
        cipher.decrypt(0, &mut data);
        if data != text {
            let text = format!("answer {turn} does not decrypt");
            return Err(Failure::new(Exit::Regression, text));
        }
        if turn % TURNS == 0 {
            let written = fs::write(count, turn.to_string());
            written.context("cannot write the count").or_failed()?;
        }
    }
    Ok(Exit::Ok)
}
