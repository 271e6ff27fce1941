//! Why the back-end is not there, and what helps.

/// Why there is no `ipsec-mb`. The text of each names a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The library exists for x86-64 only.
    #[error("ipsec-mb is for x86-64; use another back-end")]
    Architecture,
    /// The loader did not find or refused it.
    #[error(
        "ipsec-mb: {reason}; install it ('apt-get install libipsec-mb1', or 'dnf install intel-ipsec-mb'), \
         and run a program that is linked dynamically"
    )]
    NotInstalled {
        /// As the loader says.
        reason: String,
    },
    /// Somebody else may have put it there; none of its code has run.
    #[error("ipsec-mb: {reason}, or leave the folder out of LD_LIBRARY_PATH")]
    Untrusted {
        /// Which file or folder, whose, and the remedy.
        reason: String,
    },
    /// Its structures are not known.
    #[error(
        "ipsec-mb: {file} is version {version}, whose layout is not known here; \
         install one of 1.3, 1.4, 1.5 or 2.0"
    )]
    Version {
        /// Which file.
        file: &'static str,
        /// What it says it is.
        version: String,
    },
    /// A function is missing from the file.
    #[error("ipsec-mb: {file} has no {symbol}; reinstall it, or install another build")]
    Symbol {
        /// Which file.
        file: &'static str,
        /// The function.
        symbol: &'static str,
    },
    /// It made no manager.
    #[error(
        "ipsec-mb: {file} made no manager for {instructions} ({reason}); allow more instructions, or install another build"
    )]
    Manager {
        /// Which file.
        file: &'static str,
        /// The limit that was in force.
        instructions: crate::Instructions,
        /// As far as it says.
        reason: String,
    },
    /// Not one operation gave right results.
    #[error(
        "ipsec-mb: every operation of {file} failed its self-test, first {first}; install another version"
    )]
    SelfTest {
        /// Which file.
        file: &'static str,
        /// The first failure.
        first: String,
    },
}
