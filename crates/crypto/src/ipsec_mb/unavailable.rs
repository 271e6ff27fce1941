//! Why the back-end is not there, and what helps.

/// Why there is no `ipsec-mb`. The text of each names a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The library exists for x86-64 only.
    #[error("ipsec-mb is for x86-64; use another back-end")]
    Architecture,
    #[error(
        "ipsec-mb: {reason}; install it ('apt-get install libipsec-mb1', or 'dnf install intel-ipsec-mb'), \
         and run a program that is linked dynamically"
    )]
    NotInstalled { reason: String },
    /// Another user may have put it there; none of its code has run.
    #[error("ipsec-mb: {reason}, or leave the folder out of LD_LIBRARY_PATH")]
    Untrusted { reason: String },
    #[error(
        "ipsec-mb: {file} is version {version}, whose layout is not known here; \
         install one of 1.3, 1.4, 1.5 or 2.0"
    )]
    Version { file: &'static str, version: String },
    #[error("ipsec-mb: {file} has no {symbol}; reinstall it, or install another build")]
    Symbol {
        file: &'static str,
        symbol: &'static str,
    },
    #[error(
        "ipsec-mb: {file} made no manager for {instructions} ({reason}); allow more instructions, or install another build"
    )]
    Manager {
        file: &'static str,
        instructions: crate::Instructions,
        reason: String,
    },
    #[error(
        "ipsec-mb: every operation of {file} failed its self-test, first {first}; install another version"
    )]
    SelfTest { file: &'static str, first: String },
}
