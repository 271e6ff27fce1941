//! A recorded set of CPUID leaves.

use std::collections::BTreeMap;

use crate::{Leaf, Source};

/// Leaves read from text as `cpuid -r` prints it (Todd Allen's tool):
///
/// ```text
/// CPU 0:
///    0x00000000 0x00: eax=0x0000000d ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69
/// xcr0: 0xe7
/// ```
///
/// The register names, the `0x` and the leading blanks may be left out; `#`
/// starts a comment. Only the first `CPU` block counts. The `xcr0:` line is
/// ours: `cpuid` does not print it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    leaves: BTreeMap<(u32, u32), Leaf>,
    xcr0: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DumpError {
    #[error(
        "line {line} of the CPUID dump, \"{text}\", is not \"leaf subleaf: eax ebx ecx edx\" in hexadecimal; record it again with `cpuid -r -1`"
    )]
    Line {
        line: usize,
        /// The line, cut to 80 characters.
        text: String,
    },
    #[error("the CPUID dump holds no leaf; record it again with `cpuid -r -1`")]
    Empty,
}

impl Dump {
    /// Reads a dump.
    ///
    /// # Errors
    /// [`DumpError`] names the first line that is not understood.
    pub fn parse(text: &str) -> Result<Self, DumpError> {
        let mut dump = Self::default();
        for (index, line) in first_processor(text) {
            dump.take(line).ok_or_else(|| DumpError::Line {
                line: index + 1,
                text: line.chars().take(80).collect(),
            })?;
        }
        if dump.leaves.is_empty() {
            Err(DumpError::Empty)
        } else {
            Ok(dump)
        }
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let (head, registers) = line.split_once(':')?;
        let head = head.trim();
        if head == "xcr0" {
            self.xcr0 = Some(hex64(registers)?);
            return Some(());
        }
        let (leaf, subleaf) = head.split_once(char::is_whitespace)?;
        let values: Vec<u32> = registers
            .split_whitespace()
            .map(register)
            .collect::<Option<_>>()?;
        let &[eax, ebx, ecx, edx] = values.as_slice() else {
            return None;
        };
        self.leaves
            .insert((hex32(leaf)?, hex32(subleaf)?), Leaf { eax, ebx, ecx, edx });
        Some(())
    }
}

impl Source for Dump {
    fn leaf(&self, leaf: u32, subleaf: u32) -> Option<Leaf> {
        self.leaves.get(&(leaf, subleaf)).copied()
    }

    fn xcr0(&self) -> Option<u64> {
        self.xcr0.filter(|_| crate::Feature::Osxsave.is_set(self))
    }
}

/// The lines that mean something, numbered from zero, up to the second `CPU`
/// heading.
fn first_processor(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut headings = 0;
    text.lines()
        .enumerate()
        .map(|(index, line)| (index, line.split('#').next().unwrap_or_default().trim()))
        .take_while(move |(_, line)| {
            headings += usize::from(line.starts_with("CPU"));
            headings < 2
        })
        .filter(|(_, line)| !line.is_empty() && !line.starts_with("CPU"))
}

fn register(text: &str) -> Option<u32> {
    hex32(text.split_once('=').map_or(text, |(_, value)| value))
}

fn hex32(text: &str) -> Option<u32> {
    u32::try_from(hex64(text)?).ok()
}

fn hex64(text: &str) -> Option<u64> {
    let text = text.trim();
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_mean_the_same() {
        let long = "CPU 0:\n   0x00000001 0x00: eax=0x00b00f21 ebx=0x1 ecx=0x08000000 edx=0x0\nxcr0: 0x7\nCPU 1:\ngarbage";
        let short = "1 0: b00f21 1 8000000 0 # family 26\n\nxcr0: 7\n";
        assert_eq!(Dump::parse(long), Dump::parse(short));
        assert_eq!(Dump::parse(short).expect("parses").xcr0(), Some(7));
    }

    #[test]
    fn xcr0_counts_only_with_osxsave() {
        let dump = Dump::parse("1 0: 0 0 0 0\nxcr0: 7").expect("parses");
        assert_eq!(dump.xcr0(), None);
    }

    #[test]
    fn bad_lines_are_named() {
        for bad in [
            "hello",
            "1 0: 1 2 3",
            "1 0: 1 2 3 100000000",
            "1: 1 2 3 4",
            "zz 0: 1 2 3 4",
        ] {
            let text = format!("0 0: 1 2 3 4\n{bad}\n");
            let error = Dump::parse(&text).expect_err("must be refused");
            assert_eq!(
                error,
                DumpError::Line {
                    line: 2,
                    text: bad.to_owned()
                }
            );
        }
        assert_eq!(Dump::parse("# nothing\n"), Err(DumpError::Empty));
    }
}
