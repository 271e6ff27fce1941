//! Where the CPU time of this process goes: the kernel's clock samples which instruction
//! runs on a CPU (`perf_event_open(2)`), and the names of functions say what it is for.

mod symbols;

use std::io;

use perf_event::events::Software;
use perf_event::{Builder, SampleFlag, Sampler};

use symbols::Symbols;

/// Samples a second on each CPU: an interrupt takes some microseconds, 1% at most.
const RATE_HZ: u64 = 2000;
/// The buffer holds 40 s of samples, 24 bytes each; its size is a power of two. The
/// kernel tells of a loss with the next sample that finds room: a buffer that stays full
/// tells of none.
const BUFFER_BYTES: usize = 2 << 20;

const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
/// `PERF_RECORD_MISC_CPUMODE_MASK`, and its value for the kernel.
const MODE_MASK: u16 = 7;
const MODE_KERNEL: u16 = 1;

/// What CPU time is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Bytes moved, by the kernel or by the program.
    Copies,
    /// Ciphers and hashes, masks of headers among them.
    Crypto,
    /// Sockets, the network stack, scheduling.
    Kernel,
    /// Lockgate's table, outbox and inbox around the crypto.
    Offload,
    /// Allocating and freeing.
    Memory,
    /// The protocol: quinn, tokio, rustls.
    Protocol,
}

impl Part {
    pub const ALL: [Self; 6] = [
        Self::Copies,
        Self::Crypto,
        Self::Kernel,
        Self::Offload,
        Self::Memory,
        Self::Protocol,
    ];

    pub const fn words(self) -> &'static str {
        match self {
            Self::Copies => "copies",
            Self::Crypto => "crypto",
            Self::Kernel => "kernel",
            Self::Offload => "offload",
            Self::Memory => "allocation",
            Self::Protocol => "protocol",
        }
    }
}

/// Samples of a piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    samples: [u64; Part::ALL.len()],
    /// What the buffer had no room for.
    pub lost: u64,
}

impl Profile {
    pub fn samples(&self) -> u64 {
        self.samples.iter().sum()
    }

    /// Of all samples; 0 of none.
    pub fn share(&self, part: Part) -> f64 {
        self.samples[part as usize] as f64 / self.samples().max(1) as f64
    }
}

/// Samples some CPUs.
pub struct Profiler {
    samplers: Vec<Sampler>,
    symbols: Symbols,
}

impl Profiler {
    /// Samples what this process does on these CPUs.
    ///
    /// # Errors
    /// The system's: `EACCES` and `EPERM` without root or `CAP_PERFMON`.
    pub fn on(cpus: &[usize]) -> io::Result<Self> {
        let samplers = cpus.iter().map(|&cpu| {
            let mut builder = Builder::new(Software::CPU_CLOCK);
            builder.any_pid().one_cpu(cpu).include_kernel();
            builder.sample_frequency(RATE_HZ);
            builder.sample(SampleFlag::IP | SampleFlag::TID);
            builder.build()?.sampled(BUFFER_BYTES)
        });
        Ok(Self {
            samplers: samplers.collect::<io::Result<_>>()?,
            symbols: Symbols::of_this_process()?,
        })
    }

    /// Samples while it works.
    ///
    /// # Errors
    /// The system's.
    pub fn around<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<(T, Profile)> {
        let Self { samplers, symbols } = self;
        // What is left of a piece of work before.
        drain(samplers, |_| ());
        for sampler in &mut *samplers {
            sampler.enable()?;
        }
        let done = work();
        for sampler in &mut *samplers {
            sampler.disable()?;
        }
        let mut profile = Profile::default();
        let own = std::process::id();
        drain(samplers, |seen| match seen {
            Seen::Lost(count) => profile.lost += count,
            Seen::Sample {
                pid,
                address,
                is_kernel,
            } if pid == own => {
                profile.samples[symbols.part(address, is_kernel) as usize] += 1;
            }
            Seen::Sample { .. } => {}
        });
        Ok((done, profile))
    }
}

fn drain(samplers: &mut [Sampler], mut each: impl FnMut(Seen)) {
    for sampler in samplers {
        while let Some(record) = sampler.next_record() {
            if let Some(seen) = Seen::of(record.ty(), record.misc(), &record.to_contiguous()) {
                each(seen);
            }
        }
    }
}

enum Seen {
    Sample {
        pid: u32,
        address: u64,
        is_kernel: bool,
    },
    Lost(u64),
}

impl Seen {
    /// Of a record's body, as `perf_event_open(2)` lays it out.
    fn of(kind: u32, misc: u16, body: &[u8]) -> Option<Self> {
        let long = |at: usize| Some(u64::from_ne_bytes(body.get(at..at + 8)?.try_into().ok()?));
        match kind {
            RECORD_SAMPLE => Some(Self::Sample {
                address: long(0)?,
                pid: u32::from_ne_bytes(body.get(8..12)?.try_into().ok()?),
                is_kernel: misc & MODE_MASK == MODE_KERNEL,
            }),
            // The event's number, and how many.
            RECORD_LOST => Some(Self::Lost(long(8)?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
