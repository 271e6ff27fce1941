//! What a thread that was taken over might try.

use std::ffi::CString;
use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use io_uring::{IoUring, opcode, types};
use libc::*;

/// What is there before: files and numbers that an attempt names.
pub struct Stage {
    file: CString,
    new: CString,
    shadow: CString,
    program: CString,
    root: CString,
    none: CString,
    datagrams: UdpSocket,
    _listener: TcpListener,
    address: sockaddr_in,
    network: OwnedFd,
    parent: OwnedFd,
    parent_id: usize,
    word: Box<u64>,
    /// An `iovec`.
    part: Box<[usize; 2]>,
    limit: Box<rlimit>,
    set: Box<[u64; 4]>,
    thread: Box<[u64; 11]>,
    page: usize,
}

impl Stage {
    pub fn new(outside: &Path) -> Self {
        let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // It is there, before.
        drop(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        // SAFETY: zeros are an address of family 0.
        let mut address: sockaddr_in = unsafe { std::mem::zeroed() };
        address.sin_family = AF_INET as u16;
        address.sin_port = listener.local_addr().unwrap().port().to_be();
        address.sin_addr.s_addr = u32::from_be_bytes([127, 0, 0, 1]).to_be();
        let most = rlimit {
            rlim_cur: RLIM_INFINITY,
            rlim_max: RLIM_INFINITY,
        };
        let mut core = most;
        // SAFETY: both point to a limit; a core dump may be as large as it may get.
        unsafe {
            getrlimit(RLIMIT_CORE, &raw mut core);
            core.rlim_cur = core.rlim_max;
            setrlimit(RLIMIT_CORE, &raw const core);
        }
        // SAFETY: it has no preconditions.
        let parent_id = unsafe { getppid() };
        let parent = rustix::process::pidfd_open(
            rustix::process::Pid::from_raw(parent_id).unwrap(),
            rustix::process::PidfdFlags::empty(),
        );
        let mut word = Box::new(0_u64);
        let part = [(&raw mut *word) as usize, 8];
        // SAFETY: a new mapping, of nobody else.
        let page = unsafe {
            let (prot, flags) = (PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
            mmap(std::ptr::null_mut(), 4096, prot, flags, -1, 0)
        };
        let mut thread = Box::new([0_u64; 11]);
        thread[4] = SIGCHLD as u64;
        Self {
            file: text(&outside.join("file")),
            new: text(&outside.join("new")),
            shadow: c"/etc/shadow".to_owned(),
            program: c"/bin/true".to_owned(),
            root: c"/".to_owned(),
            none: c"lockgate-none".to_owned(),
            datagrams: UdpSocket::bind("127.0.0.1:0").unwrap(),
            _listener: listener,
            address,
            network: std::fs::File::open("/proc/self/ns/net").unwrap().into(),
            parent: parent.unwrap(),
            parent_id: parent_id as usize,
            word,
            part: Box::new(part),
            limit: Box::new(core),
            set: Box::new([0; 4]),
            thread,
            page: page as usize,
        }
    }

    fn part(&self) -> usize {
        (&raw const *self.part) as usize
    }

    fn socket(&self) -> usize {
        self.datagrams.as_raw_fd() as usize
    }

    fn address(&self) -> usize {
        (&raw const self.address) as usize
    }
}

pub struct Attempt {
    pub name: &'static str,
    /// Any of these may be the one that is refused.
    pub calls: &'static [i64],
    /// Errors that are refusals too, of this attempt.
    pub also: &'static [i32],
    how: How,
}

enum How {
    Call(fn(&Stage) -> [usize; 6]),
    Other(fn(&Stage) -> io::Result<()>),
}

impl Attempt {
    /// Makes it, says how it went, and ends the process.
    pub fn make(&self, stage: &Stage) -> ! {
        let done = match &self.how {
            How::Other(make) => make(stage),
            How::Call(arguments) => {
                let [a, b, c, d, e, f] = arguments(stage);
                // SAFETY: whatever it does, it does to this process, which ends; pointers
                // are of the stage.
                let done = unsafe { syscall(self.calls[0], a, b, c, d, e, f) };
                let is_process = [SYS_fork, SYS_clone, SYS_clone3].contains(&self.calls[0]);
                if is_process && done == 0 {
                    // The copy. SAFETY: it ends.
                    unsafe { _exit(0) };
                }
                match done {
                    -1 => Err(io::Error::last_os_error()),
                    _ => Ok(()),
                }
            }
        };
        let words = match done {
            Ok(()) => String::new(),
            Err(error) => format!("errno {}\n", error.raw_os_error().unwrap_or(-1)),
        };
        // SAFETY: the text is readable; the process ends.
        unsafe {
            write(1, words.as_ptr().cast(), words.len());
            _exit(0)
        }
    }
}

const fn call(name: &'static str, calls: &'static [i64], how: fn(&Stage) -> [usize; 6]) -> Attempt {
    Attempt {
        name,
        calls,
        also: &[],
        how: How::Call(how),
    }
}

const fn other(
    name: &'static str,
    calls: &'static [i64],
    also: &'static [i32],
    how: fn(&Stage) -> io::Result<()>,
) -> Attempt {
    Attempt {
        name,
        calls,
        also,
        how: How::Other(how),
    }
}

const HERE: usize = AT_FDCWD as usize;

fn text(text: &CString) -> usize {
    text.as_ptr() as usize
}

/// The arguments that are given, and zeros.
macro_rules! with {
    ($($argument:expr),*) => {{
        let mut all = [0_usize; 6];
        let given: &[usize] = &[$($argument as usize),*];
        all[..given.len()].copy_from_slice(given);
        all
    }};
}

pub const ATTEMPTS: &[Attempt] = &[
    // Files.
    call("open a file", &[SYS_openat], |s| {
        with![HERE, text(&s.file), O_RDWR]
    }),
    call("open as of old", &[SYS_open], |s| {
        with![text(&s.file), O_RDONLY]
    }),
    call("read /etc/shadow", &[SYS_openat], |s| {
        with![HERE, text(&s.shadow), O_RDONLY]
    }),
    call("open by openat2", &[SYS_openat2], |s| {
        with![HERE, text(&s.file), (&raw const *s.set), 24]
    }),
    call("create a file", &[SYS_openat], |s| {
        with![HERE, text(&s.new), O_CREAT | O_WRONLY, 0o600]
    }),
    call("create a folder", &[SYS_mkdirat], |s| {
        with![HERE, text(&s.new), 0o700]
    }),
    call("create a device", &[SYS_mknodat], |s| {
        with![HERE, text(&s.new), S_IFIFO, 0]
    }),
    call("make a symbolic link", &[SYS_symlinkat], |s| {
        with![text(&s.file), HERE, text(&s.new)]
    }),
    call("make a link", &[SYS_linkat], |s| {
        with![HERE, text(&s.file), HERE, text(&s.new), 0]
    }),
    call("rename", &[SYS_renameat], |s| {
        with![HERE, text(&s.file), HERE, text(&s.new)]
    }),
    call("remove a file elsewhere", &[SYS_unlinkat], |s| {
        with![HERE, text(&s.file), 0]
    }),
    call("remove as of old", &[SYS_unlink], |s| with![text(&s.file)]),
    call("change a mode", &[SYS_fchmodat], |s| {
        with![HERE, text(&s.file), 0o777]
    }),
    call("change an owner", &[SYS_fchownat], |s| {
        with![HERE, text(&s.file), 0, 0, 0]
    }),
    call("shorten a file", &[SYS_truncate], |s| {
        with![text(&s.file), 0]
    }),
    call("change the root", &[SYS_chroot], |s| with![text(&s.root)]),
    call("change the folder", &[SYS_chdir], |s| with![text(&s.root)]),
    call("mount", &[SYS_mount], |s| {
        with![text(&s.none), text(&s.root), text(&s.none), 0, 0]
    }),
    call("unmount", &[SYS_umount2], |s| with![text(&s.none), 0]),
    call("turn the root", &[SYS_pivot_root], |s| {
        with![text(&s.none), text(&s.none)]
    }),
    call("watch files", &[SYS_inotify_init1], |_| with![0]),
    call("watch a mount", &[SYS_fanotify_init], |_| with![0, 0]),
    call("ask a file's handle", &[SYS_name_to_handle_at], |s| {
        with![
            HERE,
            text(&s.file),
            (&raw const *s.set),
            (&raw const *s.word),
            0
        ]
    }),
    // Programs and processes.
    call("start a program", &[SYS_execve], |s| {
        with![text(&s.program), 0, 0]
    }),
    call("start one by its file", &[SYS_execveat], |s| {
        with![HERE, text(&s.program), 0, 0, 0]
    }),
    call("fork", &[SYS_fork], |_| with![]),
    call("clone a process", &[SYS_clone], |_| with![SIGCHLD]),
    Attempt {
        name: "clone a process anew",
        calls: &[SYS_clone3],
        also: &[ENOSYS],
        how: How::Call(|s| with![(&raw const *s.thread), 88]),
    },
    call("trace the parent", &[SYS_ptrace], |s| {
        with![PTRACE_SEIZE, s.parent_id, 0, 0]
    }),
    call("read the parent's memory", &[SYS_process_vm_readv], |s| {
        with![s.parent_id, s.part(), 1, s.part(), 1, 0]
    }),
    call("write the parent's memory", &[SYS_process_vm_writev], |s| {
        with![s.parent_id, s.part(), 1, s.part(), 1, 0]
    }),
    call("signal the parent", &[SYS_kill], |s| with![s.parent_id, 0]),
    call("signal the parent's thread", &[SYS_tgkill], |s| {
        with![s.parent_id, s.parent_id, 0]
    }),
    call("signal a thread", &[SYS_tkill], |s| with![s.parent_id, 0]),
    call("signal a process file", &[SYS_pidfd_send_signal], |s| {
        with![s.parent.as_raw_fd(), 0, 0, 0]
    }),
    call("open a process file", &[SYS_pidfd_open], |s| {
        with![s.parent_id, 0]
    }),
    call("take the parent's files", &[SYS_pidfd_getfd], |s| {
        with![s.parent.as_raw_fd(), 1, 0]
    }),
    call("compare processes", &[SYS_kcmp], |s| {
        with![s.parent_id, s.parent_id, 0, 0, 0]
    }),
    // Sockets.
    call("a socket of files", &[SYS_socket], |_| {
        with![AF_UNIX, SOCK_STREAM, 0]
    }),
    call("an IPv4 socket", &[SYS_socket], |_| {
        with![AF_INET, SOCK_STREAM, 0]
    }),
    call("an IPv6 socket", &[SYS_socket], |_| {
        with![AF_INET6, SOCK_STREAM, 0]
    }),
    call("a netlink socket", &[SYS_socket], |_| {
        with![AF_NETLINK, SOCK_RAW, 0]
    }),
    call("a packet socket", &[SYS_socket], |_| {
        with![AF_PACKET, SOCK_RAW, 0]
    }),
    call("a crypto socket", &[SYS_socket], |_| {
        with![AF_ALG, SOCK_SEQPACKET, 0]
    }),
    call("a socket to the host", &[SYS_socket], |_| {
        with![AF_VSOCK, SOCK_STREAM, 0]
    }),
    call("a pair of another family", &[SYS_socketpair], |s| {
        with![AF_INET, SOCK_STREAM, 0, (&raw const *s.word)]
    }),
    call("bind", &[SYS_bind], |s| with![s.socket(), s.address(), 16]),
    call("connect", &[SYS_connect], |s| {
        with![s.socket(), s.address(), 16]
    }),
    call("send to an address", &[SYS_sendto], |s| {
        with![s.socket(), (&raw const *s.word), 8, 0, s.address(), 16]
    }),
    call("listen", &[SYS_listen], |s| with![s.socket(), 1]),
    // Namespaces, users.
    call("a network of its own", &[SYS_unshare], |_| {
        with![CLONE_NEWNET]
    }),
    call("mounts of its own", &[SYS_unshare], |_| with![CLONE_NEWNS]),
    call("go back to the network", &[SYS_setns], |s| {
        with![s.network.as_raw_fd(), CLONE_NEWNET]
    }),
    call("become root", &[SYS_setuid], |_| with![0]),
    call("become root at once", &[SYS_setresuid], |_| with![0, 0, 0]),
    call("root's group", &[SYS_setgid], |_| with![0]),
    call("other groups", &[SYS_setgroups], |_| with![0, 0]),
    call("capabilities", &[SYS_capset], |s| {
        with![(&raw const *s.set), (&raw const *s.set)]
    }),
    call("keep capabilities", &[SYS_prctl], |_| {
        with![PR_SET_KEEPCAPS, 1]
    }),
    call("be dumpable", &[SYS_prctl], |_| with![PR_SET_DUMPABLE, 1]),
    call("raise a limit", &[SYS_prlimit64], |s| {
        with![0, RLIMIT_CORE, (&raw const *s.limit), 0]
    }),
    call("set a limit", &[SYS_setrlimit], |s| {
        with![RLIMIT_CORE, (&raw const *s.limit)]
    }),
    // The kernel.
    call("load a program of the kernel", &[SYS_bpf], |_| {
        with![0, 0, 0]
    }),
    call("count events", &[SYS_perf_event_open], |s| {
        with![(&raw const *s.set), 0, usize::MAX, usize::MAX, 0]
    }),
    call("serve page faults", &[SYS_userfaultfd], |_| {
        with![O_CLOEXEC]
    }),
    call("ask for keys", &[SYS_keyctl], |_| {
        with![0, usize::MAX - 2, 0]
    }),
    call("add a key", &[SYS_add_key], |s| {
        with![text(&s.none), text(&s.none), 0, 0, 0]
    }),
    call("another kernel", &[SYS_kexec_load], |_| with![0, 0, 0, 0]),
    call("another kernel's file", &[SYS_kexec_file_load], |_| {
        with![usize::MAX, usize::MAX, 0, 0, 0]
    }),
    call("load a module", &[SYS_init_module], |s| {
        with![(&raw const *s.word), 8, text(&s.none)]
    }),
    call("load a module's file", &[SYS_finit_module], |s| {
        with![usize::MAX, text(&s.none), 0]
    }),
    call("unload a module", &[SYS_delete_module], |s| {
        with![text(&s.none), O_NONBLOCK]
    }),
    call("restart", &[SYS_reboot], |_| with![0, 0, 0, 0]),
    call("swap", &[SYS_swapon], |s| with![text(&s.none), 0]),
    call("account", &[SYS_acct], |s| with![text(&s.none)]),
    call("set the clock", &[SYS_clock_settime], |_| {
        with![CLOCK_REALTIME, 0]
    }),
    call("name the host", &[SYS_sethostname], |_| {
        with![0, usize::MAX]
    }),
    call("read the kernel's log", &[SYS_syslog], |_| with![10, 0, 0]),
    call("ports of the machine", &[SYS_iopl], |_| with![0]),
    call("another personality", &[SYS_personality], |_| {
        with![u32::MAX]
    }),
    call("real time", &[SYS_sched_setscheduler], |s| {
        with![0, SCHED_FIFO, (&raw const *s.word)]
    }),
    call("mark of a terminal", &[SYS_ioctl], |_| with![0, TIOCSTI, 0]),
    // Memory.
    call("map code", &[SYS_mmap], |_| {
        with![
            0,
            4096,
            PROT_READ | PROT_EXEC,
            MAP_PRIVATE | MAP_ANONYMOUS,
            usize::MAX,
            0
        ]
    }),
    call("make memory code", &[SYS_mprotect], |s| {
        with![s.page, 4096, PROT_READ | PROT_EXEC]
    }),
    // A ring does what its owner may: its network is empty, its files are nobody's.
    other("open by a ring", &[SYS_io_uring_setup], &[], |s| {
        let open = opcode::OpenAt::new(types::Fd(AT_FDCWD), s.file.as_ptr());
        ring(&open.flags(O_RDWR).build())
    }),
    other("create by a ring", &[SYS_io_uring_setup], &[], |s| {
        let open = opcode::OpenAt::new(types::Fd(AT_FDCWD), s.new.as_ptr());
        ring(&open.flags(O_CREAT | O_RDWR).mode(0o600).build())
    }),
    other("remove by a ring", &[SYS_io_uring_setup], &[], |s| {
        ring(&opcode::UnlinkAt::new(types::Fd(AT_FDCWD), s.file.as_ptr()).build())
    }),
    other(
        "connect by a ring",
        &[SYS_io_uring_setup],
        &[ENETUNREACH],
        |s| {
            let socket = ring_result(&opcode::Socket::new(AF_INET, SOCK_STREAM, 0).build())?;
            let address = (&raw const s.address).cast();
            ring(&opcode::Connect::new(types::Fd(socket), address, 16).build())
        },
    ),
    other("core dump", &[], &[], |_| {
        // SAFETY: the default of that signal ends the process; that is what is tried.
        unsafe { abort() }
    }),
];

fn ring(entry: &io_uring::squeue::Entry) -> io::Result<()> {
    ring_result(entry).map(|_| ())
}

fn ring_result(entry: &io_uring::squeue::Entry) -> io::Result<i32> {
    let mut ring = IoUring::new(8)?;
    // SAFETY: what the entry names is of the stage, which outlives the process.
    unsafe { ring.submission().push(entry) }.map_err(io::Error::other)?;
    ring.submit_and_wait(1)?;
    let done = ring.completion().next().expect("one is done").result();
    // Its descriptors are the process's.
    match done {
        0.. => Ok(done),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}
