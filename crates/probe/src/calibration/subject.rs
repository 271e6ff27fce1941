//! What a calibration holds for: processor, libraries and what they may use.

use std::fs;

use crypto::{Backend, Kind};

/// Lines of `/proc/cpuinfo` that tell processors apart, on x86 and on ARM.
const LINES: [&str; 12] = [
    "vendor_id",
    "cpu family",
    "model",
    "model name",
    "stepping",
    "microcode",
    "flags",
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
    "CPU revision",
];

/// Everything that a calibration depends on, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject(String);

impl Subject {
    /// This process on this host.
    pub(super) fn this() -> Self {
        let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let libraries = crypto::candidates();
        Self::of(&cpu, libraries.iter().map(|one| line(&**one)).collect())
    }

    fn of(cpuinfo: &str, libraries: Vec<String>) -> Self {
        let first = cpuinfo.split("\n\n").next().unwrap_or_default();
        let is_telling = |line: &&str| {
            line.split_once(':')
                .is_some_and(|(name, _)| LINES.contains(&name.trim()))
        };
        let mut lines: Vec<_> = first
            .lines()
            .filter(is_telling)
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        lines.extend(libraries);
        lines.push(format!("lockgate {}", env!("CARGO_PKG_VERSION")));
        Self(lines.join("\n"))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// A name for files: FNV-1a over the text. Equal names of unequal
    /// subjects do no harm, since the text is stored and compared.
    pub(super) fn digest(&self) -> u64 {
        self.0.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
    }
}

/// A back-end, and all that it does: what it has learnt since was never measured.
fn line(one: &dyn Backend) -> String {
    let kinds = Kind::all().filter(|kind| one.supports(*kind));
    let kinds: Vec<_> = kinds
        .map(|kind| format!("{} {}", kind.algorithm, kind.operation.name()))
        .collect();
    let (name, version, instructions) = (one.name(), one.version(), one.instructions());
    format!("{name}: {version}, {instructions}; {}", kinds.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: &str = "processor\t: 0\nmodel name\t: EPYC\nflags\t\t: aes  vaes\ncpu MHz\t\t: 2400.1\n\nprocessor\t: 1\n";

    #[test]
    fn what_a_back_end_does_counts() {
        let [ours, portable] = ["kernels", "portable"].map(|name| crypto::by_name(name).unwrap());
        assert!(line(&*ours).contains("aes-128-ctr encrypt"));
        assert!(!line(&*ours).contains("sha256"));
        assert!(line(&*portable).contains("sha256 hash"));
    }

    #[test]
    fn what_changes_by_itself_does_not_count_and_what_matters_does() {
        let subject = |cpu: &str, library: &str| Subject::of(cpu, vec![library.to_owned()]);
        let own = subject(CPU, "aws-lc: 1");
        assert_eq!(own, subject(&CPU.replace("2400.1", "3700.9"), "aws-lc: 1"));
        for other in [
            subject(&CPU.replace(" vaes", ""), "aws-lc: 1"),
            subject(CPU, "aws-lc: 2"),
            subject("", "aws-lc: 1"),
        ] {
            assert_ne!(own, other);
            assert_ne!(own.digest(), other.digest());
        }
    }
}
