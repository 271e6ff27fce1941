//! `lockgate vm`, as data.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use vm::{Accelerator, AcceleratorChoice, PciFunction, Shape};

use crate::units;

/// Where scripts run in the guest.
const HOME: &str = "/root";

const EXAMPLES: &str = "\
Examples:
  echo 'uname -r; cat /proc/cpuinfo' | lockgate vm run -
  lockgate vm run --cpu Nehalem,+aes --module aesni-intel ciphers.sh
  lockgate vm run --crypto-devices 1 --module virtio_crypto --module lockgate_kspeed \\
      --get /tmp/result.json:result.json measure.sh

The guest is Debian's kernel with busybox in memory, and nothing of it is left
behind. `make setup-guests` fetches both; `lockgate vm list` shows what is
there. Beside the script, standard input and network there are none. The
script's output, both streams, goes to stdout as it comes; what is said about
the guest goes to stderr.

A guest that no program waits for is ended: its output is no longer read
(`| head`), and no --get wants a file.

Exit codes: 0 the script ended with 0, or its reader left; 1 it ended with
another status, which stderr names; 2 wrong usage; 3 the guest failed, or a
limit ended the script; 4 no guest can be booted here; 130 interrupted.";

#[derive(Debug, Args)]
pub struct VmArguments {
    #[command(subcommand)]
    pub command: VmCommand,
}

#[derive(Debug, Subcommand)]
pub enum VmCommand {
    /// Boot a guest, run a script in it, end it
    #[command(after_help = EXAMPLES)]
    Run(Box<VmRunArguments>),
    /// Show the kernels, QEMUs and accelerators that guests can have here
    List,
}

#[derive(Debug, Args)]
pub struct VmRunArguments {
    /// The script, for busybox's shell unless its first line names another interpreter; '-' is stdin
    #[arg(value_name = "SCRIPT")]
    pub script: PathBuf,

    /// QEMU's CPU model with its flags: max, Nehalem,+aes, host
    #[arg(long, value_name = "MODEL", default_value = "max")]
    pub cpu: String,

    /// Virtual CPUs
    #[arg(long, value_name = "NUMBER", default_value_t = Shape::default().vcpus)]
    pub vcpus: u32,

    /// Memory
    #[arg(long, value_name = "MIB", default_value_t = Shape::default().memory_mib)]
    pub memory: u32,

    /// Kernel's release, or its first numbers (6.12) [default: the guest cache's first]
    #[arg(long, value_name = "RELEASE")]
    pub kernel: Option<String>,

    /// QEMU to start [default: LOCKGATE_QEMU, else the path's, else the guest cache's]
    #[arg(long, value_name = "PATH")]
    pub qemu: Option<PathBuf>,

    /// What runs the guest's instructions; auto: KVM where a guest really boots on it
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub accelerator: AcceleratorArgument,

    /// virtio-crypto devices with QEMU's built-in back-end; load virtio_crypto for them
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub crypto_devices: u32,

    /// virtio-crypto device behind this socket, of `lockgate serve` or another back-end; repeatable
    #[arg(long = "crypto-socket", value_name = "PATH")]
    pub crypto_sockets: Vec<PathBuf>,

    /// PCI function of the host for the guest, by VFIO (0000:65:01.3); repeatable
    #[arg(long = "pci-function", value_name = "ADDRESS")]
    pub pci_functions: Vec<PciFunction>,

    /// Kernel module to load at boot, after its dependencies; lockgate_kspeed is Lockgate's own; repeatable
    #[arg(long = "module", value_name = "NAME")]
    pub modules: Vec<String>,

    /// File for the guest, in the script's working folder unless said otherwise; a program brings its shared libraries; repeatable
    #[arg(long = "file", value_name = "HOST[:GUEST]", value_parser = GuestFileArgument::parse)]
    pub files: Vec<GuestFileArgument>,

    /// File to fetch when the script has ended, however it ended; repeatable
    #[arg(long = "get", value_name = "GUEST:HOST", value_parser = parse_get)]
    pub gets: Vec<(String, PathBuf)>,

    /// Seconds that the script may take
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = units::parse_seconds)]
    pub limit: f64,

    /// Further words of the kernel's command line
    #[arg(
        long,
        value_name = "WORDS",
        default_value = "",
        hide_default_value = true
    )]
    pub append: String,
}

/// What runs a guest's instructions. The values say it all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AcceleratorArgument {
    Auto,
    Kvm,
    Tcg,
}

impl From<AcceleratorArgument> for AcceleratorChoice {
    fn from(argument: AcceleratorArgument) -> Self {
        match argument {
            AcceleratorArgument::Auto => Self::Auto,
            AcceleratorArgument::Kvm => Self::Only(Accelerator::Kvm),
            AcceleratorArgument::Tcg => Self::Only(Accelerator::Tcg),
        }
    }
}

/// A host's file and its path in the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFileArgument {
    pub host: PathBuf,
    pub guest: String,
}

impl GuestFileArgument {
    /// Reads `HOST` or `HOST:/GUEST`; a colon with no slash behind it belongs
    /// to the host's path.
    fn parse(text: &str) -> Result<Self, String> {
        let (host, guest) = match text.rsplit_once(':') {
            Some((host, guest)) if guest.starts_with('/') => (host, Some(guest)),
            _ => (text, None),
        };
        let host = PathBuf::from(host);
        let own = || {
            let name = host.file_name().and_then(|name| name.to_str());
            name.map(|name| format!("{HOME}/{name}"))
        };
        let guest = guest.map(str::to_owned).or_else(own);
        let guest = guest.filter(|path| !path.ends_with('/')).ok_or(
            "names no file; write HOST, which the script finds as NAME, or HOST:/path/in/guest",
        )?;
        Ok(Self { host, guest })
    }
}

fn parse_get(text: &str) -> Result<(String, PathBuf), String> {
    let parts = text.split_once(':');
    match parts.filter(|(guest, host)| guest.starts_with('/') && !host.is_empty()) {
        Some((guest, host)) => Ok((guest.to_owned(), host.into())),
        None => Err("not GUEST:HOST; write /path/in/guest:path-here".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_place_in_the_guest() {
        let parse = |text| GuestFileArgument::parse(text).map(|file| (file.host, file.guest));
        let is = |host: &str, guest: &str| Ok((PathBuf::from(host), guest.to_owned()));
        assert_eq!(parse("a/b.sh"), is("a/b.sh", &format!("{HOME}/b.sh")));
        assert_eq!(parse("b.sh:/usr/bin/b"), is("b.sh", "/usr/bin/b"));
        assert_eq!(
            parse("odd:name"),
            is("odd:name", &format!("{HOME}/odd:name"))
        );
        for wrong in ["..", "b:/", "/"] {
            assert!(parse(wrong).unwrap_err().contains("HOST"), "{wrong}");
        }
    }

    #[test]
    fn what_is_fetched_has_a_place_here() {
        let fetched = parse_get("/tmp/r.json:out/r.json").unwrap();
        assert_eq!(fetched, ("/tmp/r.json".to_owned(), "out/r.json".into()));
        for wrong in ["r.json:r.json", "/tmp/r.json", "/tmp/r.json:"] {
            assert!(parse_get(wrong).is_err(), "{wrong}");
        }
    }
}
