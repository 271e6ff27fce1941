//! `lockgate disk`, as data: options are named as cryptsetup names them.

use std::path::PathBuf;

use ::disk::Spec;
use ::disk::UnknownHash;
use ::disk::plain::Hashing;
use clap::{Args, Subcommand, ValueEnum};

use super::{ExportArguments, MeasuringArguments};
use crate::units;

const EXAMPLES: &str = "\
Examples:
  lockgate disk open backup.img --output plain.img           a LUKS image; asks for the passphrase
  lockgate disk open --type plain --cipher aes-xts-plain64 --key-size 512 \\
      --key-file key.bin backup.img --output plain.img
  lockgate disk open data.img --header header.img --key-file - --output - <secret | tar -x

The image is only read. Units are cryptsetup's: --offset, --skip and --size are
sectors of 512 bytes, --key-size is bits, keyfile sizes are bytes.

A passphrase is read from the terminal without showing it, or up to the first
newline of standard input. A key file is a passphrase with all its bytes; in
plain mode it is the key itself, unless it is '-', which is hashed.

Nothing in a plain image tells a wrong passphrase from the right one: look at
what was written. A LUKS key is checked.

Plain mode's defaults are those of cryptsetup 2.6.1: aes-cbc-essiv:sha256, 256
bits, ripemd160. 2.7 changed cipher and hash: name them.

Exit codes: 0 all was written; 2 wrong usage, passphrase, or an image that is
not supported; 3 reading or writing failed; 130 interrupted, nothing is left.";

const SPEED: &str = "\
Examples:
  lockgate disk speed                                     six modes, in three minutes
  lockgate disk speed --cipher aes-xts-plain64 --key-size 512 --sector-size 512,4096 --budget 20
  lockgate --tier aesni disk speed --direction read       as in a guest without AVX and VAES

No image and no disk is touched: runs of sectors are encrypted in memory, in
place, beside what AWS-LC and ipsec-mb give over one long message, in one call
a sector, and a block at a time. Sizes of keys are those of the whole key, as
cryptsetup has them: aes-xts-plain64 with 512 bits is AES-256.";

#[derive(Debug, Args)]
pub struct DiskArguments {
    #[command(subcommand)]
    pub command: DiskCommand,
}

#[derive(Debug, Subcommand)]
pub enum DiskCommand {
    /// Write an encrypted image's data, decrypted, into a file
    #[command(after_help = EXAMPLES)]
    Open(Box<DiskOpenArguments>),
    /// Show what a LUKS image's header says; no key and no passphrase is needed
    Info(DiskInfoArguments),
    /// Measure how fast one core encrypts sectors, in memory, by mode
    #[command(after_help = SPEED)]
    Speed(Box<DiskSpeedArguments>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiskType {
    Luks,
    Luks1,
    Luks2,
    Plain,
}

#[derive(Debug, Args)]
pub struct DiskInfoArguments {
    /// The image: a file or a block device
    #[arg(value_name = "IMAGE")]
    pub image: PathBuf,
}

#[derive(Debug, Args)]
pub struct DiskSpeedArguments {
    /// Ciphers: aes-xts-plain64, aes-cbc-essiv:sha256, aes-lrw-benbi … [default: six modes]
    #[arg(long, value_name = "SPECS", value_delimiter = ',')]
    pub cipher: Vec<String>,

    /// Sizes of the whole key [default: each cipher's with AES-256 and AES-128]
    #[arg(long, value_name = "BITS", value_delimiter = ',')]
    pub key_size: Vec<u32>,

    /// Bytes of a sector: 512, 1024, 2048, 4096 [default: 4096,512]
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = units::parse_size)]
    pub sector_size: Vec<u64>,

    /// Directions: write (encrypt), read (decrypt) [default: both]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub direction: Vec<String>,

    /// Seconds of one trial
    #[arg(long, value_name = "SECONDS", value_parser = units::parse_seconds)]
    pub seconds: Option<f64>,

    /// Rounds, and so interleaved pairs of any two ways
    #[arg(long, value_name = "NUMBER")]
    pub pairs: Option<u32>,

    #[command(flatten)]
    pub measuring: MeasuringArguments,

    #[command(flatten)]
    pub export: ExportArguments,
}

#[derive(Debug, Args)]
pub struct DiskOpenArguments {
    /// The image: a file or a block device
    #[arg(value_name = "IMAGE")]
    pub image: PathBuf,

    /// File for the decrypted data, which only its owner can read; '-' is stdout
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,

    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,

    /// Format of the image: luks, luks1, luks2, plain
    #[arg(long, value_name = "TYPE", default_value = "luks")]
    pub r#type: DiskType,

    /// LUKS header in another file
    #[arg(long, value_name = "FILE")]
    pub header: Option<PathBuf>,

    /// Try this key slot only
    #[arg(long, value_name = "NUMBER")]
    pub key_slot: Option<u32>,

    /// Read the passphrase, or in plain mode the key, from a file; '-' is stdin to its end
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,

    /// Bytes to skip at the start of the key file
    #[arg(long, value_name = "BYTES", default_value_t = 0, requires = "key_file")]
    pub keyfile_offset: u64,

    /// Bytes to read from the key file
    #[arg(long, value_name = "BYTES", requires = "key_file")]
    pub keyfile_size: Option<usize>,

    /// Plain mode: cipher [default: aes-cbc-essiv:sha256]
    #[arg(long, value_name = "SPEC")]
    pub cipher: Option<Spec>,

    /// Plain mode: size of the key [default: 256]
    #[arg(long, value_name = "BITS")]
    pub key_size: Option<usize>,

    /// Plain mode: hash of the passphrase; plain: none [default: ripemd160]
    #[arg(long, value_name = "NAME", value_parser = parse_hash)]
    pub hash: Option<Hashing>,

    /// Plain mode: where the data begin, in sectors of 512 bytes
    #[arg(long, value_name = "SECTORS")]
    pub offset: Option<u64>,

    /// Plain mode: added to each sector's number for its IV, in sectors of 512 bytes
    #[arg(long, value_name = "SECTORS")]
    pub skip: Option<u64>,

    /// Plain mode: how much to read, in sectors of 512 bytes [default: to the image's end]
    #[arg(long, value_name = "SECTORS")]
    pub size: Option<u64>,

    /// Plain mode: bytes of a sector: 512, 1024, 2048, 4096 [default: 512]
    #[arg(long, value_name = "BYTES")]
    pub sector_size: Option<usize>,

    /// Plain mode: IVs count sectors of --sector-size, not of 512 bytes
    #[arg(long)]
    pub iv_large_sectors: bool,
}

fn parse_hash(name: &str) -> Result<Hashing, UnknownHash> {
    match name {
        "plain" => Ok(Hashing::Plain),
        name => Ok(Hashing::Hash(name.parse()?)),
    }
}
