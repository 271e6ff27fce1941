//! `lockgate cpu`, as data.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{ExportArguments, MeasuringArguments, RunArguments, RunsArguments, SectionOptions};

const PRICE: &str = "\
Examples:
  lockgate cpu price                                  every algorithm and disk mode, three minutes
  lockgate cpu price --budget 20 --algorithms aes-256-gcm,sha256 --modes xts
  lockgate cpu price --hidden avx2,none               two CPU models' worth

Each tier is a process whose libraries are masked; it measures nothing unless
each library has read its mask back. No guest is started, and no root is needed.
`lockgate sections cpu-tiers` lists every option; the same as `lockgate run cpu-tiers`.";

const ADVISE: &str = "\
Examples:
  lockgate cpu advise                          what to show guests of this host
  lockgate cpu advise --hosts fleet/           a folder with a probe of each host
  lockgate cpu advise --hosts a.json,b.json --mix disk --loss 2
  lockgate cpu advise --accelerator tcg        what emulated guests can be shown

Write a host's probe there with `lockgate probe --json >host.json`, best as root.
Each line can be pasted behind qemu-system-x86_64, each <cpu> into libvirt's XML.

A guest moves within a pool: it is shown what all hosts of its pool have. A pool
holds hosts of one vendor. --loss says what the worst host may lose of its speed;
the fewest pools that keep it are advised, and the curve shows what others cost.

Prices are from the newest run here that measured them (`lockgate cpu price`),
or, for want of one, from the CPU that the first line names.";

const VERIFY: &str = "\
Examples:
  lockgate cpu verify                                  what advise says for this host
  lockgate cpu verify --cpu 'Nehalem,+aes'             any line, as behind -cpu
  lockgate cpu verify --cpu host --append clearcpuid=aes --kernel 6.12

A small Linux guest is booted with the line, on KVM where it runs guests, else
emulated. Flag by flag it is compared: asked for, seen by the guest, used by its
kernel's crypto drivers; and how its kernel was built. What the emulator cannot
show is listed as unverified, and the rest is booted and checked.

Exit codes: 0 all is as asked; 1 something is not, and named; 2 wrong usage;
3 the guest failed; 4 no QEMU or kernel here (`make setup-guests`).";

const MIGRATE: &str = "\
Examples:
  lockgate cpu migrate                          under the CPU that advise gives
  lockgate cpu migrate --without avx
  lockgate cpu migrate --cpu 'Nehalem,+aes' --without aes

Two QEMUs of this host: a guest that encrypts and checks every answer moves from
one to the other and works on. Then it moves to a QEMU that does not show the
flag it uses, and what happens is told: refused, crashed, wrong, or nothing. Last
a guest with the CPU that advise gives for both moves the same way.

What happens without a flag depends on the accelerator, which is told: hardware
may go on with what a model hides, an emulator does not.

Exit codes: 0 guests with the advised CPU moved and gave right answers; 1 one did
not; 2 wrong usage; 3 a guest failed; 4 no QEMU or kernel here.";

#[derive(Debug, Args)]
pub struct CpuArguments {
    #[command(subcommand)]
    pub command: CpuCommand,
}

#[derive(Debug, Subcommand)]
pub enum CpuCommand {
    /// Measure what a guest loses when its CPU model hides a feature of this host
    Price(Box<PriceArguments>),
    /// Say which CPU to show guests so that they run fast and can still be moved
    #[command(after_help = ADVISE)]
    Advise(AdviseArguments),
    /// Boot a guest and compare its CPU with what was asked for, flag by flag
    #[command(after_help = VERIFY)]
    Verify(VerifyArguments),
    /// Move a busy guest between two QEMUs, also to one that lacks a flag it uses
    #[command(after_help = MIGRATE)]
    Migrate(MigrateArguments),
}

#[derive(Debug, Args)]
pub struct MigrateArguments {
    /// What follows -cpu at first [default: what advise says for this host]
    #[arg(long, value_name = "LINE")]
    pub cpu: Option<String>,

    /// Flag that the last target does not show
    #[arg(long, value_name = "FLAG", default_value = "aes")]
    pub without: String,

    /// The guests' kernel, by the begin of its release [default: the first in the cache]
    #[arg(long, value_name = "RELEASE")]
    pub kernel: Option<String>,
}

#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// What follows -cpu [default: what advise says for this host]
    #[arg(long, value_name = "LINE")]
    pub cpu: Option<String>,

    /// The guest's kernel, by the begin of its release [default: the first in the cache]
    #[arg(long, value_name = "RELEASE")]
    pub kernel: Option<String>,

    /// Further words of the guest's kernel command line
    #[arg(long, value_name = "WORDS", default_value = "")]
    pub append: String,

    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CpuAccelerator {
    Kvm,
    Tcg,
}

#[derive(Debug, Args)]
pub struct AdviseArguments {
    /// Probes of the hosts that guests may run on, or folders of them [default: this host]
    #[arg(long, value_name = "FILES", value_delimiter = ',', num_args = 1..)]
    pub hosts: Vec<PathBuf>,

    /// What runs the guests
    #[arg(long, value_name = "NAME", default_value = "kvm")]
    pub accelerator: CpuAccelerator,

    /// What guests compute: tls, disk, or shares of a core's time such as
    /// 'aes-256-gcm encrypt=0.2,sha256 hash=0.1'; the rest needs no feature
    #[arg(long, value_name = "MIX", default_value = "tls")]
    pub mix: String,

    /// Speed that the worst host may lose to keep pools few, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    pub loss: f64,

    /// Run with the prices: a folder, a result.json, or latest [default: the newest here
    /// that has some]
    #[arg(long, value_name = "RUN")]
    pub prices: Option<String>,

    /// Use the table of models that comes with Lockgate, not this host's QEMU
    #[arg(long)]
    pub bundled: bool,

    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub runs: RunsArguments,
}

#[derive(Debug, Args)]
#[command(after_help = PRICE)]
pub struct PriceArguments {
    #[command(flatten)]
    measuring: MeasuringArguments,

    #[command(flatten)]
    options: SectionOptions,

    #[command(flatten)]
    export: ExportArguments,
}

impl From<PriceArguments> for RunArguments {
    /// The scenario that it is.
    fn from(own: PriceArguments) -> Self {
        Self {
            scenarios: vec!["cpu-tiers".to_owned()],
            measuring: own.measuring,
            options: own.options,
            export: own.export,
        }
    }
}
