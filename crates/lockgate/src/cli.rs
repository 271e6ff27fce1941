//! The command line, as data.

mod arms;
mod cpu;
mod disk;
mod options;
mod quic;
mod rfc2544;
mod router;
mod serve;
mod vm;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::export::Export;
use crate::units;

pub use arms::{AfAlgArguments, UserSpaceArguments};
pub use cpu::{
    AdviseArguments, CpuAccelerator, CpuArguments, CpuCommand, MigrateArguments, VerifyArguments,
};
pub use disk::{
    DiskArguments, DiskCommand, DiskInfoArguments, DiskOpenArguments, DiskSpeedArguments, DiskType,
};
pub use options::SectionOptions;
pub use quic::{
    Protection, QuicArguments, QuicClientArguments, QuicCommand, QuicDecryptArguments,
    QuicEndArguments, QuicExport, QuicPerf, QuicServerArguments,
};
pub use rfc2544::{DeviceLayer, DeviceTest, FrameMaker, Rfc2544Arguments};
pub use router::{RouterArguments, RouterCommand};
pub use serve::ServeArguments;
pub use vm::{GuestFileArgument, VmArguments, VmCommand, VmRunArguments};

const EXAMPLES: &str = "\
Examples:
  lockgate run                              three minutes of measuring, then a report
  lockgate speed --algorithm aes-128-gcm --size 64,16k --mode sync,async
  lockgate speed --algorithm all            every algorithm beside openssl, DPDK and ring
  lockgate compare before/result.json latest

Exit codes: 0 ok, 1 a threshold was missed, 2 wrong usage or configuration,
3 failure while running, 4 the host lacks a capability, 130 interrupted with
partial results saved. LOCKGATE_LOG=debug shows what happens inside.";

/// What `compare` knows beside the two runs; the report's `CHANGE_ASSUMED` is
/// the 10%.
const REPEATS: &str = "\
Runs of one program on one host differ by themselves. Their repeats tell by how
much, and widen every interval: runs beside A and B of the same host, program
and settings. Without repeats 10% is assumed: run each side three times or more.";

/// Measure what crypto speed this host really has, and what the way of asking costs.
#[derive(Debug, Parser)]
#[command(name = "lockgate", version, long_version = crate::build::LONG_VERSION, after_help = EXAMPLES)]
pub struct Cli {
    /// Print only warnings and errors on stderr
    #[arg(long, short, global = true)]
    pub quiet: bool,

    /// When to use colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,

    /// Measure as a guest with fewer CPU features would: none, aesni, avx, avx2, vaes, avx512; with -sha, -adx or -aes behind it SHA-NI, ADX or AES-NI is hidden too
    #[arg(long, global = true, value_name = "TIER")]
    pub tier: Option<probe::tier::Choice>,

    #[command(subcommand)]
    pub command: Command,
}

/// The values have no help: clap would give every option two lines for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what this host can do: each capability ok, degraded or absent, with the remedy
    Probe(ProbeArguments),
    /// Measure this host and write the report; changes no setting, needs no root
    Run(RunArguments),
    /// List the sections of a run, or the options of one
    Sections(SectionsArguments),
    /// Compare two runs, with a verdict
    Compare(CompareArguments),
    /// Measure crypto speed by algorithm, block size and load mode
    Speed(Box<SpeedArguments>),
    /// Show or convert a stored run
    Report(ReportArguments),
    /// Test a router or a bridge between two ports of this host (RFC 2544)
    #[command(after_help = rfc2544::EXAMPLES)]
    Rfc2544(Box<Rfc2544Arguments>),
    /// Virtual routers of a file: kernel, bridge or XDP, with static routes, BIRD or FRR
    #[command(after_help = router::EXAMPLES)]
    Router(RouterArguments),
    /// Be the crypto device of guests: virtual functions over vhost-user
    #[command(after_help = serve::EXAMPLES)]
    Serve(ServeArguments),
    /// Boot small Linux guests for tests and measurements
    Vm(VmArguments),
    /// Read encrypted disk images: plain, LUKS1 and LUKS2; measure disk encryption
    Disk(DiskArguments),
    /// Open the QUIC packets of captures; measure transfers by QUIC
    Quic(QuicArguments),
    /// Which CPU to show guests, what hiding a feature costs, and what guests make of it
    Cpu(CpuArguments),
    /// Measure one arm through the kernel's crypto socket, for sections that run in a guest
    #[command(hide = true)]
    AfAlg(AfAlgArguments),
    /// Measure one arm of user space's crypto, for sections that run in a guest
    #[command(hide = true)]
    UserSpace(UserSpaceArguments),
    /// Serve the trials of a section that measures several tiers
    #[command(hide = true)]
    Worker {
        /// The section
        section: String,
    },
    /// Encrypt and check until the process is ended
    #[command(hide = true)]
    Busy {
        /// File for the number of right answers
        count: PathBuf,
    },
    /// Print a shell's completions to stdout
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages into a folder
    Man {
        /// The folder; made where it is missing
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct ProbeArguments {
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Measure the crypto back-ends again instead of reading the cache
    #[arg(long)]
    pub calibrate: bool,
    /// Leave out what must be measured: the crypto back-ends and the time stolen
    #[arg(long, conflicts_with = "calibrate")]
    pub brief: bool,
}

#[derive(Debug, Args)]
#[command(after_help = options::AFTER_HELP)]
pub struct RunArguments {
    #[arg(value_name = "SCENARIO", default_value = "default", help = options::scenarios())]
    pub scenarios: Vec<String>,

    #[command(flatten)]
    pub measuring: MeasuringArguments,

    #[command(flatten)]
    pub options: SectionOptions,

    #[command(flatten)]
    pub export: ExportArguments,
}

#[derive(Debug, Args)]
pub struct SectionsArguments {
    /// The section to describe [default: all, in a line each]
    #[arg(value_name = "SECTION")]
    pub section: Option<String>,
}

/// How a measurement is done, whatever is measured.
#[derive(Debug, Args)]
pub struct MeasuringArguments {
    /// Time of measuring, shared among the sections: 90, 90s, 3m [default: what the scenarios say, 180 s mostly]
    #[arg(long, value_name = "SECONDS", value_parser = lab::budget::parse_budget)]
    pub budget: Option<Duration>,

    /// Measure until every ratio's interval is this narrow (0.02: ±2%) or the budget is spent
    #[arg(long, value_name = "SHARE", value_parser = units::parse_precision)]
    pub precision: Option<f64>,

    /// Folder that runs are stored in
    #[arg(long, value_name = "DIR", env = "LOCKGATE_RUNS", default_value = lab::store::RUNS)]
    pub out: PathBuf,

    /// Print the plan (seconds, steps, what it needs, creates, downloads) and run nothing
    #[arg(long)]
    pub check: bool,

    /// Seed of everything random [default: the scenario's]
    #[arg(long)]
    pub seed: Option<u64>,

    /// Print every finding, table and ratio, not the first page alone
    #[arg(long)]
    pub full: bool,
}

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Write the results as json, csv, md or html; repeatable; '-' is stdout
    #[arg(long = "export", value_name = "FORMAT=PATH", value_parser = Export::parse)]
    pub exports: Vec<Export>,
}

#[derive(Debug, Args)]
#[command(after_help = REPEATS)]
pub struct CompareArguments {
    /// The run to compare with: a run's folder, a result.json, or 'latest'
    #[arg(value_name = "A")]
    pub before: String,

    /// The run to judge
    #[arg(value_name = "B")]
    pub after: String,

    /// A further run of the same program, host and settings as A or B; repeatable. Those beside A and B are found without it
    #[arg(long = "repeat", value_name = "RUN")]
    pub repeats: Vec<String>,

    /// Exit with 1 when the whole interval of a ratio B/A (above 1 is better) is below this
    #[arg(long, value_name = "RATIO", value_parser = units::parse_ratio)]
    pub fail_below: Option<f64>,

    /// Write the comparison as json or md; repeatable; '-' is stdout
    #[arg(long = "export", value_name = "FORMAT=PATH", value_parser = Export::parse)]
    pub exports: Vec<Export>,

    #[command(flatten)]
    pub runs: RunsArguments,
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// A run's folder, a result.json, or 'latest'
    #[arg(value_name = "RUN")]
    pub run: String,

    /// Print every finding, table and ratio, not the first page alone
    #[arg(long)]
    pub full: bool,

    #[command(flatten)]
    pub export: ExportArguments,

    #[command(flatten)]
    pub runs: RunsArguments,
}

/// Where stored runs are looked for.
#[derive(Debug, Args)]
pub struct RunsArguments {
    /// Folder in which 'latest' is looked for
    #[arg(long = "runs", value_name = "DIR", env = "LOCKGATE_RUNS", default_value = lab::store::RUNS)]
    pub folder: PathBuf,
}

/// What `speed` measures; without a flag, the section's default holds.
#[derive(Debug, Default, Args)]
pub struct SpeedPoints {
    /// Algorithms: aes-128-gcm, aes-256-xts, sha256, rsa-2048 …; all: every one, beside its peers
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub algorithm: Vec<String>,

    /// Operations: encrypt, decrypt, hash, sign, verify, derive [default: each algorithm's first]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub operation: Vec<String>,

    /// Block sizes: 64, 16k, 16KiB, 65536
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = units::parse_size)]
    pub size: Vec<u64>,

    /// Load modes: sync, batch, async
    #[arg(long, value_name = "MODES", value_delimiter = ',')]
    pub mode: Vec<String>,

    /// Requests in flight of batch and async
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub depth: Vec<u32>,

    /// Lanes of the client
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub lanes: Vec<u32>,

    /// Library that computes: auto, aws-lc, ipsec-mb, kernels, portable
    #[arg(long, value_name = "NAME")]
    pub backend: Option<String>,

    /// Worker threads
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub workers: Vec<u32>,

    /// Client and worker on one CPU or on two: shared, split
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub placement: Vec<String>,

    /// Notification policies: each, armed, hybrid, polled, spin,
    /// cap:6450 (per second), coalesce:16:100us, armed+cap:5000
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub policy: Vec<String>,

    /// Seconds of one trial
    #[arg(long, value_name = "SECONDS", value_parser = units::parse_seconds)]
    pub seconds: Option<f64>,

    /// Offer this many requests per second (open loop) and report latency from the intended time
    #[arg(long, value_name = "PER_SECOND", value_parser = units::parse_rate)]
    pub rate: Option<f64>,

    /// Rounds, and so interleaved pairs of any two arms
    #[arg(long, value_name = "NUMBER")]
    pub pairs: Option<u32>,

    /// Do not measure `openssl speed` or any other peer
    #[arg(long)]
    pub no_peers: bool,

    /// Measure beside these peers, as `--algorithm all` does: all, openssl, dpdk-32, dpdk-1, ring, ceiling
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        conflicts_with = "no_peers"
    )]
    pub peers: Vec<String>,
}

#[derive(Debug, Args)]
pub struct SpeedArguments {
    #[command(flatten)]
    pub points: SpeedPoints,

    #[command(flatten)]
    pub measuring: MeasuringArguments,

    #[command(flatten)]
    pub export: ExportArguments,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
