//! Algorithms behind one batch trait, and their back-ends.
//!
//! A [`Backend`] takes a slice of [`Job`]s of one [`Kind`] and says of each
//! how it ended. [`by_name`] finds one; [`generate_key`] makes a key;
//! [`process_slices`] runs one job over memory that the caller owns.

#![deny(unsafe_code)]

mod algorithm;
mod auto;
mod aws_lc;
mod backend;
mod between;
mod chaining;
mod check;
mod generate;
mod instructions;
mod ipsec_mb;
mod job;
mod kernels;
mod key;
mod operation;
mod overlap;
mod packets;
mod portable;
mod prefetch;
mod private;
mod raw_loop;
mod registry;
mod rejection;
mod scatter;
mod sectors;
mod slices;
mod stack;
mod status;
mod tweak;
mod work;
mod workload;

pub use algorithm::{Algorithm, FfdhGroup, KeyForm, RsaBits, RsaScheme, UnknownAlgorithm};
pub use auto::{Auto, Calibration, JOBS, Measured, SIZES_BYTES, calibrate};
pub use aws_lc::{BlockCipher, HeaderMask, aws_lc_chose, aws_lc_sees};
pub use backend::Backend;
pub use between::Between;
pub use chaining::{Chaining, counter_after};
pub use generate::generate_key;
pub use instructions::{Instructions, instructions, limit_instructions};
pub use ipsec_mb::{Refused, Unavailable, ipsec_mb, ipsec_mb_refused};
pub use job::{Job, Segment, Segments};
pub use kernels::ceiling::Ceiling;
pub use kernels::cipher::SectorCipher;
pub use kernels::sectors::{SectorMode, UnknownSectorMode};
pub use key::{Key, KeyError, KeyMaterial};
pub use operation::{Kind, Operation, UnknownOperation};
pub use packets::{PacketPlace, PacketSlices, Packets, packet_nonce, process_packets};
pub use prefetch::{prefer_huge_pages, prefetch};
pub use private::{PRIVATE_BYTES_MAX, Private};
pub use raw_loop::RawLoop;
pub use registry::{
    UnknownBackend, auto, backend_names, backends, by_name, candidates, library_versions,
};
pub use sectors::{SectorIv, Sectors};
pub use slices::{Data, Slices, process_slices};
pub use status::Status;
pub use work::fits;
pub use workload::{Slot, Workload, WorkloadError};
