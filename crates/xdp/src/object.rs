//! The committed BPF objects: opening, loading, finding maps and programs.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use libbpf_rs::{MapCore, MapHandle, MapImpl, ObjectBuilder, PrintLevel, ProgramImpl};
use sys::failure::Failure;

use crate::mapped::Mapped;

/// Bytes of an object, aligned as ELF wants them.
#[repr(C, align(8))]
pub(crate) struct Aligned<B: ?Sized>(pub B);

/// An embedded object of `bpf/`.
pub(crate) struct Source {
    pub name: &'static str,
    pub bytes: &'static Aligned<[u8]>,
}

/// `source!("sink")`: the object `bpf/sink.bpf.o`.
macro_rules! source {
    ($name:literal) => {{
        static BYTES: &$crate::object::Aligned<[u8]> = &$crate::object::Aligned(*include_bytes!(
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/", $name, ".bpf.o")
        ));
        $crate::object::Source {
            name: $name,
            bytes: BYTES,
        }
    }};
}
pub(crate) use source;

fn said(log: &str) -> String {
    if log.is_empty() {
        String::new()
    } else {
        format!(" ({log})")
    }
}

/// A loaded object. Its programs and maps are gone when it is dropped and no
/// link holds on to them.
pub(crate) struct Object {
    pub name: &'static str,
    inner: libbpf_rs::Object,
}

impl Object {
    /// Opens, lets `prepare` change what is not loaded yet, and loads.
    pub fn load(
        source: &Source,
        prepare: impl FnOnce(&mut libbpf_rs::OpenObject) -> libbpf_rs::Result<()>,
    ) -> Result<Self, Failure> {
        let log = Log::start();
        let loaded = ObjectBuilder::default()
            .name(source.name)
            .and_then(|builder| builder.open_memory(&source.bytes.0))
            .and_then(|mut open| {
                prepare(&mut open)?;
                open.load()
            });
        let inner = loaded.map_err(|cause| {
            Failure::of(format!(
                "the kernel does not take the BPF object {}{}; it needs root (or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON) and Linux 6.1 or newer",
                source.name,
                said(&log.tail())
            ))(cause)
        })?;
        Ok(Self {
            name: source.name,
            inner,
        })
    }

    pub fn program(&self, name: &str) -> ProgramImpl<'_, libbpf_rs::Mut> {
        self.inner
            .progs_mut()
            .find(|program| program.name() == name)
            .expect("the object was built with this program")
    }

    /// Runs a program that runs nowhere else, once, on a context that it may
    /// change.
    pub fn run(&self, name: &'static str, context: &mut [u8]) -> Result<(), Failure> {
        let ended = self.program(name).test_run(libbpf_rs::ProgramInput {
            context_in: Some(context),
            ..Default::default()
        });
        ended.map(drop).map_err(Failure::of(format!(
            "program {name} of the BPF object {} could not be run; it needs root or CAP_BPF",
            self.name
        )))
    }

    pub fn map(&self, name: &'static str) -> Result<Map, Failure> {
        let map: MapImpl<'_> = self
            .inner
            .maps()
            .find(|map| map.name() == name)
            .expect("the object was built with this map");
        let handle = MapHandle::try_from(&map).map_err(Failure::of(format!(
            "map {name} of the BPF object {} cannot be opened again; raise the limit of open files (ulimit -n)",
            self.name
        )))?;
        Ok(Map {
            object: self.name,
            name,
            handle,
        })
    }
}

/// A map, by a file descriptor of its own.
pub(crate) struct Map {
    object: &'static str,
    name: &'static str,
    pub handle: MapHandle,
}

impl Map {
    fn cannot(&self, what: impl FnOnce() -> String) -> impl FnOnce(libbpf_rs::Error) -> Failure {
        let Self { object, name, .. } = self;
        move |cause| {
            let what = what();
            Failure::of(format!(
                "cannot {what} of map {name} of the BPF object {object}"
            ))(cause)
        }
    }

    pub fn write(&self, key: u32, value: &[u8]) -> Result<(), Failure> {
        self.write_key(&key.to_ne_bytes(), value)
    }

    pub fn write_key(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.handle
            .update(key, value, libbpf_rs::MapFlags::ANY)
            .map_err(self.cannot(|| format!("write entry {key:02x?}")))
    }

    /// Makes another map an entry of this one, a map of maps.
    pub fn write_map(&self, key: u32, inner: &Self) -> Result<(), Failure> {
        let descriptor = inner.handle.as_fd().as_raw_fd();
        self.write(key, &descriptor.to_ne_bytes())
    }

    pub fn remove_key(&self, key: &[u8]) -> Result<(), Failure> {
        match self.handle.delete(key) {
            Err(error) if error.kind() == libbpf_rs::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(self.cannot(|| format!("remove entry {key:02x?}"))),
        }
    }

    /// Reads the entry of an array, which is always there.
    pub fn read(&self, key: u32) -> Result<Vec<u8>, Failure> {
        self.handle
            .lookup(&key.to_ne_bytes(), libbpf_rs::MapFlags::ANY)
            .map(Option::unwrap_or_default)
            .map_err(self.cannot(|| format!("read entry {key}")))
    }

    pub fn entries(&self) -> u32 {
        self.handle.max_entries()
    }

    pub fn read_per_cpu(&self, key: u32) -> Result<Vec<Vec<u8>>, Failure> {
        self.handle
            .lookup_percpu(&key.to_ne_bytes(), libbpf_rs::MapFlags::ANY)
            .map(Option::unwrap_or_default)
            .map_err(self.cannot(|| format!("read entry {key}")))
    }

    /// Global data of a program, in this process's memory, as long as these bytes.
    pub fn mapped(&self, bytes: usize) -> Result<Mapped, Failure> {
        Mapped::new(self.handle.as_fd(), bytes).map_err(Failure::of(format!(
            "cannot map {bytes} bytes of map {} of the BPF object {}; it takes Linux 5.5 or newer",
            self.name, self.object
        )))
    }

    /// Its number, by which the kernel names what belongs to it.
    pub fn id(&self) -> Result<u32, Failure> {
        let info = self.handle.info();
        info.map(|info| info.info.id)
            .map_err(self.cannot(|| "read the number".to_owned()))
    }

    pub fn write_per_cpu(&self, key: u32, values: &[Vec<u8>]) -> Result<(), Failure> {
        self.handle
            .update_percpu(&key.to_ne_bytes(), values, libbpf_rs::MapFlags::ANY)
            .map_err(self.cannot(|| format!("write entry {key}")))
    }
}

/// The `index`th 64-bit number of a map's value; 0 beyond its end.
pub(crate) fn number(value: &[u8], index: usize) -> u64 {
    value
        .get(index * 8..)
        .and_then(|rest| rest.first_chunk::<8>())
        .map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// What libbpf prints while an object is loaded. It has one global printer, so loads
/// take turns.
struct Log(#[expect(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

static TURN: Mutex<()> = Mutex::new(());
static SAID: Mutex<String> = Mutex::new(String::new());

const SAID_BYTES_MAX: usize = 1 << 20;
/// Lines without information: framing of the verifier's log, and its statistics.
const FRAMING: [&str; 3] = ["-- ", "libbpf: ", "processed "];
const TAIL_LINES: usize = 3;

fn note(_: PrintLevel, text: String) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.len() + text.len() <= SAID_BYTES_MAX {
        said.push_str(&text);
    }
}

impl Log {
    fn start() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        SAID.lock().unwrap_or_else(PoisonError::into_inner).clear();
        libbpf_rs::set_print(Some((PrintLevel::Info, note)));
        Self(turn)
    }

    fn tail(&self) -> String {
        let said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<_> = said
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !FRAMING.iter().any(|start| line.starts_with(start)))
            .collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("; ")
    }
}
