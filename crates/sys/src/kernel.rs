//! Which kernel this is, and its notation of lists.

use std::ops::RangeInclusive;

/// No machine has more logical processors.
const NUMBERS_MAX: u32 = 8192;

/// Major and minor number of the running kernel's release; zeros where it
/// cannot be read.
pub fn version() -> (u32, u32) {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    parse(&release)
}

fn parse(release: &str) -> (u32, u32) {
    let mut numbers = release
        .trim_end()
        .split(['.', '-'])
        .map_while(|part| part.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// The numbers in a list such as `0-3,8`, in order and without repeats; parts that
/// are not understood or beyond 8,192 are passed over.
pub fn list(text: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = text.trim().split(',').filter_map(range).flatten().collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn range(part: &str) -> Option<RangeInclusive<u32>> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let first: u32 = first.trim().parse().ok()?;
    let last: u32 = last.trim().parse().ok()?;
    (first < NUMBERS_MAX).then_some(first..=last.min(NUMBERS_MAX - 1))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        assert_eq!(list("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(list("2,1,1-2"), [1, 2]);
        assert_eq!(list(" \n"), [] as [u32; 0]);
        assert_eq!(list("5-1,x,-1,7"), [7]);
        assert_eq!(list("0-4294967295").len(), 8192);
    }

    #[test]
    fn releases_of_distributions_are_read() {
        assert_eq!(parse("6.1.0-28-amd64\n"), (6, 1));
        assert_eq!(parse("6.18-rc3"), (6, 18));
        assert_eq!(parse("7"), (7, 0));
        assert_eq!(parse("unknown"), (0, 0));
    }
}
