//! What a QEMU says of its CPU models, with no guest: one is created, stopped
//! before its first instruction, and asked.

use std::io;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use command_fds::CommandFdExt;
use cpu::guest::{Accelerator, Catalogue, Flags, Model, NO_QEMU};
use cpu::{Signature, Vendor};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::arguments::QMP_FD;
use super::error::BootError;
use super::launch::given;
use super::machine::Machine;
use super::process::Process;
use super::qmp::{QMP_LIMIT, Qmp, QmpError};
use crate::Qemu;

/// QEMU answers all questions about its models within this time.
const LIMIT: Duration = Duration::from_secs(120);

/// A QEMU without a guest.
struct Idle {
    qmp: Qmp,
    /// It ends with this.
    _machine: Machine,
}

/// What a QEMU shows with an accelerator on this host.
#[derive(Clone, Debug)]
pub struct CpuModels {
    pub catalogue: Catalogue,
    /// All that a guest can be shown here: `host` with KVM, `max` with TCG.
    pub offered: Flags,
}

#[derive(Debug, thiserror::Error)]
pub enum ModelsError {
    #[error(transparent)]
    Start(#[from] BootError),
    #[error(transparent)]
    Qmp(#[from] QmpError),
    #[error(
        "QEMU's answer about the CPU model {model:?} lacks {what}; report it with the version of QEMU"
    )]
    Answer { model: String, what: &'static str },
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Definition {
    name: String,
    #[serde(default)]
    alias_of: Option<String>,
    migration_safe: bool,
}

impl Qemu {
    /// Its CPU models, and what it can show a guest of this host.
    ///
    /// # Errors
    /// [`ModelsError`]: QEMU does not start with that accelerator, or does not answer.
    pub fn cpu_models(&self, accelerator: Accelerator) -> Result<CpuModels, ModelsError> {
        let mut idle = Idle::start(self, accelerator, None)?;
        let definitions = idle.qmp.execute("query-cpu-definitions", Value::Null)?;
        let definitions: Vec<Definition> =
            serde_json::from_value(definitions).map_err(|error| QmpError::Malformed {
                command: "query-cpu-definitions".to_owned(),
                what: error.to_string(),
            })?;
        let (major, minor, patch) = self.version;
        let bundled = Catalogue::bundled();
        let mut catalogue = Catalogue {
            origin: format!("QEMU {major}.{minor}.{patch}"),
            models: Vec::new(),
            newer: bundled.newer.clone(),
            aliases: std::collections::BTreeMap::new(),
        };
        for one in definitions {
            match one.alias_of {
                Some(of) => drop(catalogue.aliases.insert(one.name, of)),
                // `base` has no flags at all, and `max` and `host` are of this host.
                None if one.migration_safe && one.name != "base" => {
                    let mut model = model(&one.name, &idle.expanded(&one.name)?)?;
                    let known = bundled.models.iter().find(|known| known.name == one.name);
                    model.since = known.map_or((major, minor), |known| known.since);
                    // The emulator takes it from every model; what an accelerator
                    // takes is for `Catalogue::shown` to say.
                    if accelerator == Accelerator::Tcg && !model.name.starts_with("qemu") {
                        model.flags.insert("vme");
                    }
                    catalogue.models.push(model);
                }
                None => {}
            }
        }
        let most = match accelerator {
            Accelerator::Kvm => "host",
            Accelerator::Tcg => "max",
        };
        let properties = idle.expanded(most)?;
        let mut named = Flags::default();
        for name in properties.keys() {
            named.insert(name);
        }
        let unknown = Flags::every().without(named);
        catalogue.newer.push((NO_QEMU, unknown));
        let offered = flags(&properties);
        Ok(CpuModels { catalogue, offered })
    }

    /// Creates a guest with what follows `-cpu`, and does not run it.
    ///
    /// # Errors
    /// [`BootError::Refused`] has QEMU's words.
    pub fn accepts_cpu(&self, accelerator: Accelerator, cpu: &str) -> Result<(), BootError> {
        Idle::start(self, accelerator, Some(cpu)).map(drop)
    }
}

impl Idle {
    fn start(qemu: &Qemu, accelerator: Accelerator, cpu: Option<&str>) -> Result<Self, BootError> {
        let started = |source| BootError::Start {
            program: qemu.program.clone(),
            source,
        };
        let (mut machine, qmp) = spawn(qemu, accelerator, cpu).map_err(started)?;
        match Qmp::connect(qmp, QMP_LIMIT) {
            Ok(qmp) => Ok(Self {
                qmp,
                _machine: machine,
            }),
            Err(error) => {
                let error = error.into();
                Err(match machine.ended_behind(&error) {
                    Some(ending) => BootError::Refused {
                        program: qemu.program.clone(),
                        status: ending.status,
                        stderr: machine.errors.tail(),
                    },
                    None => error.into(),
                })
            }
        }
    }

    fn expanded(&mut self, model: &str) -> Result<Map<String, Value>, ModelsError> {
        let arguments = json!({"type": "static", "model": {"name": model}});
        let mut answer = self.qmp.execute("query-cpu-model-expansion", arguments)?;
        match answer["model"]["props"].take() {
            Value::Object(properties) => Ok(properties),
            _ => Err(ModelsError::Answer {
                model: model.to_owned(),
                what: "its properties",
            }),
        }
    }
}

fn spawn(
    qemu: &Qemu,
    accelerator: Accelerator,
    cpu: Option<&str>,
) -> io::Result<(Machine, UnixStream)> {
    let (qmp, qmp_there) = UnixStream::pair()?;
    // It has none: the other end is closed at once.
    let (console, _) = UnixStream::pair()?;
    let (errors, errors_there) = io::pipe()?;
    let mut command = Command::new(&qemu.program);
    sys::process::close_on_exec(&mut command);
    command
        .args(["-nodefaults", "-no-user-config", "-S", "-display", "none"])
        .args(["-machine", "q35", "-m", "16M", "-accel", accelerator.name()])
        .args(cpu.iter().flat_map(|cpu| ["-cpu", cpu]))
        .args(["-chardev", &format!("socket,id=qmp,fd={QMP_FD}")])
        .args(["-mon", "chardev=qmp,mode=control"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors_there)
        .fd_mappings(vec![given(qmp_there, QMP_FD)])
        .map_err(io::Error::other)?;
    let (process, watcher) = Process::start(command, Instant::now() + LIMIT)?;
    let mut machine = Machine::new(process, watcher);
    machine.read(console, errors)?;
    Ok((machine, qmp))
}

fn model(name: &str, properties: &Map<String, Value>) -> Result<Model, ModelsError> {
    let lacks = |what| ModelsError::Answer {
        model: name.to_owned(),
        what,
    };
    let number = |key: &'static str| {
        let value = properties.get(key).and_then(Value::as_u64);
        value.map(|value| value as u32).ok_or_else(|| lacks(key))
    };
    let vendor = properties.get("vendor").and_then(Value::as_str);
    Ok(Model {
        name: name.to_owned(),
        vendor: Vendor::from_id(vendor.ok_or_else(|| lacks("vendor"))?),
        signature: Signature {
            family: number("family")?,
            model: number("model")?,
            stepping: number("stepping")?,
        },
        level: number("min-level")?,
        extended_level: number("min-xlevel")?,
        flags: flags(properties),
        since: (0, 0),
    })
}

/// Those that have a name here: KVM's own and those of nested guests have none.
fn flags(properties: &Map<String, Value>) -> Flags {
    let mut all = Flags::default();
    for (name, value) in properties {
        if *value == Value::Bool(true) {
            all.insert(name);
        }
    }
    all
}
