//! System calls: filters of a process, and of each role of its threads.

mod rules;

use std::collections::BTreeMap;
use std::io;

use seccompiler::{BpfProgram, Error, SeccompAction, SeccompFilter, TargetArch, apply_filter};
use sys::role::Role;

use rules::Rules;

/// Which calls a process keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Each thread keeps the calls of its [`Role`].
    Roles,
    /// The process keeps the calls that remove files.
    Remover,
    /// All but what changes the kernel, looks into other processes, or is for neither
    /// networks nor programs: for a process that starts others, which inherit this.
    Programs,
}

impl Calls {
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Roles => "system calls by kind of thread",
            Self::Remover => "system calls that remove files",
            Self::Programs => "no system calls that change the kernel or look into processes",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    #[error("no system call filter for {0}: it takes x86-64, aarch64 or riscv64")]
    Machine(&'static str),
    #[error("a system call filter is wrong: {0}")]
    Filter(String),
    #[error("a thread cannot be confined")]
    Install(#[source] io::Error),
}

/// Installed one after the other: of what they say, the strictest holds.
type Programs = Vec<BpfProgram>;

#[derive(Debug)]
pub(crate) struct Filters {
    process: Programs,
    threads: BTreeMap<Role, Programs>,
}

/// The kernel has filters of system calls, or lacks them.
pub(crate) enum Kept {
    Holds,
    Lacks(String),
}

const EPERM: u32 = libc::EPERM.cast_unsigned();
/// The C library starts threads by `clone` then, whose flags a filter can see.
const ENOSYS: u32 = libc::ENOSYS.cast_unsigned();

impl Filters {
    pub(crate) fn new(calls: &Calls) -> Result<Self, ThreadError> {
        let mut threads = BTreeMap::new();
        let process = match calls {
            Calls::Roles => {
                // Threads inherit it, so it has what any of them needs.
                for role in Role::ALL.into_iter().filter(|role| *role != Role::Main) {
                    threads.insert(role, of_role(role)?);
                }
                let mut process = of_role(Role::Main)?;
                process.push(refuse(Rules::of_threads(), ENOSYS)?);
                process
            }
            Calls::Remover => vec![allow(Rules::of_remover())?],
            Calls::Programs => vec![refuse(Rules::of_programs(), EPERM)?],
        };
        Ok(Self { process, threads })
    }

    pub(crate) fn enter_process(&self) -> Result<Kept, ThreadError> {
        let set = sys::refusal::ends_with(ENDED);
        set.map_err(ThreadError::Install)?;
        for (at, program) in self.process.iter().enumerate() {
            match apply_filter(program) {
                Ok(()) => {}
                Err(Error::Seccomp(error) | Error::Prctl(error)) if at == 0 => {
                    return Ok(Kept::Lacks(format!(
                        "system calls are not restricted ({error}); it takes a kernel with CONFIG_SECCOMP_FILTER"
                    )));
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(Kept::Holds)
    }

    pub(crate) fn enter_thread(&self, role: Role) -> Result<(), ThreadError> {
        let programs = self.threads.get(&role).into_iter().flatten();
        programs
            .map(|program| apply_filter(program))
            .try_for_each(|done| done.map_err(failed))
    }
}

/// The exit code of a process that asks for what it may not: it failed while it ran.
const ENDED: i32 = 3;

fn failed(error: Error) -> ThreadError {
    match error {
        Error::Seccomp(error) | Error::Prctl(error) => ThreadError::Install(error),
        other => ThreadError::Filter(other.to_string()),
    }
}

fn of_role(role: Role) -> Result<Programs, ThreadError> {
    Ok(vec![
        refuse(Rules::that_libraries_try(role), EPERM)?,
        allow(Rules::of(role))?,
    ])
}

/// What is not listed ends the process.
fn allow(rules: Rules) -> Result<BpfProgram, ThreadError> {
    compile(rules, SeccompAction::Trap, SeccompAction::Allow)
}

/// What is listed is refused with that error.
fn refuse(rules: Rules, errno: u32) -> Result<BpfProgram, ThreadError> {
    compile(rules, SeccompAction::Allow, SeccompAction::Errno(errno))
}

fn compile(
    rules: Rules,
    other: SeccompAction,
    listed: SeccompAction,
) -> Result<BpfProgram, ThreadError> {
    let machine = std::env::consts::ARCH;
    let target = TargetArch::try_from(machine).map_err(|_| ThreadError::Machine(machine))?;
    SeccompFilter::new(rules.into_map(), other, listed, target)
        .and_then(BpfProgram::try_from)
        .map_err(|error| ThreadError::Filter(error.to_string()))
}
