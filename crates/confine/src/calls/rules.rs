//! Which calls, with which arguments.

use std::collections::BTreeMap;

use libc::*;
use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule as Rule};
use sys::role::Role;

/// Calls by number, each with the arguments that are meant: any of these rules, or all
/// where there is none.
#[derive(Default)]
pub(super) struct Rules(BTreeMap<i64, Vec<Rule>>);

/// Every thread: memory, waiting, clocks, its end.
const ANY: &[c_long] = &[
    SYS_brk,
    SYS_clock_getres,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_close,
    SYS_epoll_pwait,
    SYS_exit,
    SYS_exit_group,
    SYS_futex,
    SYS_getcpu,
    SYS_getpid,
    SYS_getrandom,
    SYS_getrusage,
    SYS_gettid,
    SYS_gettimeofday,
    SYS_lseek,
    SYS_madvise,
    SYS_membarrier,
    // Memory for keys.
    SYS_mlock,
    SYS_mremap,
    SYS_munmap,
    SYS_nanosleep,
    SYS_ppoll,
    SYS_read,
    SYS_restart_syscall,
    SYS_rseq,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sched_getaffinity,
    SYS_sched_yield,
    SYS_set_robust_list,
    SYS_sigaltstack,
    SYS_sysinfo,
    SYS_uname,
    SYS_write,
    SYS_writev,
];

#[cfg(target_arch = "x86_64")]
const ANY_OLD: &[c_long] = &[SYS_epoll_wait, SYS_poll, SYS_time];
#[cfg(not(target_arch = "x86_64"))]
const ANY_OLD: &[c_long] = &[];

/// A worker waits for its residents by `epoll`; a ring was made for it.
/// It asks which pages of a guest's memory are there.
const WORKER: &[c_long] = &[
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_io_uring_enter,
    SYS_mincore,
];

/// Front-ends: their connections, messages, files and memory; and threads for them.
const CONTROL: &[c_long] = &[
    SYS_accept4,
    // Refused with ENOSYS beside this: see `of_threads`.
    SYS_clone3,
    SYS_eventfd2,
    SYS_fstat,
    SYS_fstatfs,
    SYS_ftruncate,
    // A ring passes the filters by: what it does is refused by user, files and network.
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_memfd_create,
    SYS_pread64,
    SYS_preadv,
    SYS_preadv2,
    SYS_pwrite64,
    SYS_readlinkat,
    SYS_readv,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_sched_setaffinity,
    SYS_sendmsg,
    SYS_setpriority,
    SYS_shutdown,
];

#[cfg(target_arch = "x86_64")]
const CONTROL_OLD: &[c_long] = &[SYS_readlink];
#[cfg(not(target_arch = "x86_64"))]
const CONTROL_OLD: &[c_long] = &[];

#[cfg(target_arch = "x86_64")]
const REMOVE: &[c_long] = &[SYS_unlinkat, SYS_unlink];
#[cfg(not(target_arch = "x86_64"))]
const REMOVE: &[c_long] = &[SYS_unlinkat];

/// Libraries try these calls, and can do without.
const TRIED: &[c_long] = &[
    SYS_faccessat,
    SYS_faccessat2,
    SYS_getcwd,
    SYS_openat,
    SYS_openat2,
];

#[cfg(target_arch = "x86_64")]
const TRIED_OLD: &[c_long] = &[SYS_access, SYS_creat, SYS_lstat, SYS_open, SYS_stat];
#[cfg(not(target_arch = "x86_64"))]
const TRIED_OLD: &[c_long] = &[];

/// What changes the kernel or its clocks, looks into other processes, or is for neither
/// networks nor programs.
const OF_THE_KERNEL: &[c_long] = &[
    SYS_acct,
    SYS_add_key,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kcmp,
    SYS_kexec_file_load,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_mount_setattr,
    SYS_move_pages,
    SYS_open_by_handle_at,
    SYS_perf_event_open,
    SYS_pidfd_getfd,
    SYS_pivot_root,
    SYS_process_madvise,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_ptrace,
    SYS_quotactl,
    SYS_reboot,
    SYS_request_key,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_userfaultfd,
    SYS_vhangup,
];

#[cfg(target_arch = "x86_64")]
const OF_PORTS: &[c_long] = &[SYS_ioperm, SYS_iopl, SYS_modify_ldt];
#[cfg(not(target_arch = "x86_64"))]
const OF_PORTS: &[c_long] = &[];

/// prctl(2): names of mappings, which the C library gives.
const PR_SET_VMA: c_int = 0x5356_4d41;

impl Rules {
    pub(super) fn into_map(self) -> BTreeMap<i64, Vec<Rule>> {
        self.0
    }

    pub(super) fn of(role: Role) -> Self {
        let mut rules = Self::of_any();
        match role {
            Role::Main => {
                rules.control();
                rules.all(WORKER);
                rules.all(REMOVE);
                rules.when(SYS_prctl, [is(0, PR_SET_TIMERSLACK)]);
                // Whether it writes to a terminal.
                rules.when(SYS_ioctl, [is(1, TCGETS as c_int)]);
                rules.when(SYS_ioctl, [is(1, TIOCGWINSZ as c_int)]);
            }
            Role::Control => rules.control(),
            Role::Worker => rules.all(WORKER),
            Role::Governor | Role::Console => {}
        }
        rules
    }

    pub(super) fn of_remover() -> Self {
        let mut rules = Self::of_any();
        rules.all(&[SYS_recvfrom]);
        rules.all(REMOVE);
        rules.all(TRIED);
        rules.all(&[SYS_newfstatat, SYS_statx]);
        rules
    }

    /// `clone3`, whose flags lie in memory that no filter sees.
    pub(super) fn of_threads() -> Self {
        let mut rules = Self::default();
        rules.all(&[SYS_clone3]);
        rules
    }

    pub(super) fn of_programs() -> Self {
        let mut rules = Self::default();
        rules.all(OF_THE_KERNEL);
        rules.all(OF_PORTS);
        rules
    }

    /// These get an error, and end no process.
    pub(super) fn that_libraries_try(role: Role) -> Self {
        let mut rules = Self::default();
        rules.all(TRIED);
        rules.all(TRIED_OLD);
        if role == Role::Main {
            // A thread looks at files of its own before it enters a role: which, the files
            // of the process say.
            rules.0.remove(&SYS_openat);
            for flag in [O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_PATH] {
                rules.when(SYS_openat, [with(2, flag)]);
            }
        }
        // By a path: of an open file it is asked with an empty one.
        rules.when(SYS_newfstatat, [without(3, AT_EMPTY_PATH)]);
        rules.when(SYS_statx, [without(2, AT_EMPTY_PATH)]);
        if !matches!(role, Role::Main | Role::Control) {
            // A descriptor's kind, for those two.
            rules.all(&[SYS_readlinkat]);
            rules.all(CONTROL_OLD);
        }
        rules
    }

    fn of_any() -> Self {
        let mut rules = Self::default();
        rules.all(ANY);
        rules.all(ANY_OLD);
        // What is refused with an error is refused by the filter beside this one.
        rules.all(TRIED);
        rules.all(TRIED_OLD);
        rules.all(&[SYS_newfstatat, SYS_statx, SYS_readlinkat]);
        rules.all(CONTROL_OLD);
        rules.when(SYS_fcntl, [is(1, F_GETFD)]);
        rules.when(SYS_fcntl, [is(1, F_GETFL)]);
        // No code is made.
        rules.when(SYS_mmap, [without(2, PROT_EXEC), with(3, MAP_ANONYMOUS)]);
        rules.when(SYS_mprotect, [without(2, PROT_EXEC)]);
        for option in [PR_SET_NAME, PR_GET_NAME, PR_SET_VMA] {
            rules.when(SYS_prctl, [is(0, option)]);
        }
        // Limits are read, not set.
        rules.when(SYS_prlimit64, [is(0, 0), is_null(2)]);
        // To itself: abort(3).
        let own = std::process::id().cast_signed();
        rules.when(SYS_tgkill, [is(0, own)]);
        rules
    }

    fn control(&mut self) {
        self.all(CONTROL);
        self.when(SYS_socketpair, [is(0, AF_UNIX)]);
        // To whom the socket is connected.
        self.when(SYS_sendto, [is_null(4)]);
        self.when(SYS_mmap, [without(2, PROT_EXEC)]);
        for command in [F_SETFD, F_SETFL, F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS] {
            self.when(SYS_fcntl, [is(1, command)]);
        }
        self.when(SYS_ioctl, [is(1, FIONBIO as c_int)]);
        // Threads of this process, and what such a thread takes to confine itself.
        self.when(SYS_clone, [with(0, CLONE_VM | CLONE_THREAD)]);
        self.when(SYS_prctl, [is(0, PR_SET_NO_NEW_PRIVS)]);
        self.when(
            SYS_seccomp,
            [is(0, SECCOMP_SET_MODE_FILTER as c_int), is(1, 0)],
        );
    }

    fn all(&mut self, calls: &[c_long]) {
        for call in calls {
            self.0.insert(*call, Vec::new());
        }
    }

    /// Also with these arguments.
    fn when<const N: usize>(&mut self, call: c_long, conditions: [SeccompCondition; N]) {
        let rule = Rule::new(conditions.into()).expect("a rule has conditions");
        let rules = self.0.entry(call);
        rules.or_default().push(rule);
    }
}

fn condition(
    argument: u8,
    op: SeccompCmpOp,
    value: u64,
    len: SeccompCmpArgLen,
) -> SeccompCondition {
    SeccompCondition::new(argument, len, op, value).expect("a call has six arguments")
}

fn is(argument: u8, value: c_int) -> SeccompCondition {
    let value = u64::from(value.cast_unsigned());
    condition(argument, SeccompCmpOp::Eq, value, SeccompCmpArgLen::Dword)
}

fn is_null(argument: u8) -> SeccompCondition {
    condition(argument, SeccompCmpOp::Eq, 0, SeccompCmpArgLen::Qword)
}

/// All of these bits.
fn with(argument: u8, bits: c_int) -> SeccompCondition {
    let bits = u64::from(bits.cast_unsigned());
    condition(
        argument,
        SeccompCmpOp::MaskedEq(bits),
        bits,
        SeccompCmpArgLen::Qword,
    )
}

/// None of these bits.
fn without(argument: u8, bits: c_int) -> SeccompCondition {
    let bits = u64::from(bits.cast_unsigned());
    condition(
        argument,
        SeccompCmpOp::MaskedEq(bits),
        0,
        SeccompCmpArgLen::Qword,
    )
}
