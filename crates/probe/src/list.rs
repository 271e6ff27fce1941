//! The kernel's notations: lists, tables, command lines.

pub(super) use ::cpu::option;
pub(super) use sys::kernel::list as cpu_list;

/// The value after `key` in `key: value` or `key=value` lines.
pub(super) fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once([':', '='])?;
        (name.trim() == key).then_some(value.trim())
    })
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
