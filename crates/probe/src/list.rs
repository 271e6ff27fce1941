//! The kernel's list and table notations.

/// No machine has more logical processors.
const CPUS_MAX: u32 = 8192;

/// A CPU list such as `0-3,8`, in order and without repeats; parts that are
/// not understood or beyond 8,192 are passed over.
pub(super) fn cpu_list(text: &str) -> Vec<u32> {
    let mut cpus: Vec<u32> = text.trim().split(',').filter_map(range).flatten().collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

fn range(part: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let first: u32 = first.trim().parse().ok()?;
    let last: u32 = last.trim().parse().ok()?;
    (first < CPUS_MAX).then_some(first..=last.min(CPUS_MAX - 1))
}

/// The value after `key` in `key: value` or `key=value` lines.
pub(super) fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once([':', '='])?;
        (name.trim() == key).then_some(value.trim())
    })
}

/// The word of a command line that is `name` or `name=value`, whole; the last
/// one where it is repeated, as the kernel takes it.
pub(super) fn option<'a>(command_line: &'a str, name: &str) -> Option<&'a str> {
    command_line
        .split_whitespace()
        .rfind(|word| word.split('=').next().is_some_and(|key| key == name))
}

/// The choice in brackets: `always [madvise] never`.
pub(super) fn chosen(text: &str) -> Option<&str> {
    text.split_once('[')?
        .1
        .split_once(']')
        .map(|(choice, _)| choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists() {
        assert_eq!(cpu_list("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(cpu_list("2,1,1-2"), [1, 2]);
        assert_eq!(cpu_list(" \n"), [] as [u32; 0]);
        assert_eq!(cpu_list("5-1,x,-1,7"), [7]);
        assert_eq!(cpu_list("0-4294967295").len(), 8192);
    }

    #[test]
    fn options_and_choices() {
        assert_eq!(
            option("quiet iommu=pt iommu=off", "iommu"),
            Some("iommu=off")
        );
        assert_eq!(option("iommu_x=1", "iommu"), None);
        assert_eq!(chosen("always [madvise] never"), Some("madvise"));
        assert_eq!(chosen("none"), None);
        assert_eq!(value_of("A:\t1\nB=2", "B"), Some("2"));
    }
}
