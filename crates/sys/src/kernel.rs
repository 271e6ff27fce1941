//! Which kernel this is.

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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::parse;

    #[test]
    fn releases_of_distributions_are_read() {
        assert_eq!(parse("6.1.0-28-amd64\n"), (6, 1));
        assert_eq!(parse("6.18-rc3"), (6, 18));
        assert_eq!(parse("7"), (7, 0));
        assert_eq!(parse("unknown"), (0, 0));
    }
}
