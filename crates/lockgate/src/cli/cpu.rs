//! `lockgate cpu`, as data.

use clap::{Args, Subcommand};

use super::{ExportArguments, MeasuringArguments, RunArguments, SectionOptions};

const PRICE: &str = "\
Examples:
  lockgate cpu price                                  every algorithm and disk mode, three minutes
  lockgate cpu price --budget 20 --algorithms aes-256-gcm,sha256 --modes xts
  lockgate cpu price --hidden avx2,none               two CPU models' worth

Each tier is a process whose libraries are masked; it measures nothing unless
each library has read its mask back. No guest is started, and no root is needed.
`lockgate sections cpu-tiers` lists every option; the same as `lockgate run cpu-tiers`.";

#[derive(Debug, Args)]
pub struct CpuArguments {
    #[command(subcommand)]
    pub command: CpuCommand,
}

#[derive(Debug, Subcommand)]
pub enum CpuCommand {
    /// Measure what a guest loses when its CPU model hides a feature of this host
    Price(Box<PriceArguments>),
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
