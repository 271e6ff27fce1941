//! `BPF_PROG_TEST_RUN` with live frames: one call that lasts until a signal.
#![allow(
    unsafe_code,
    reason = "a system call that libbpf-rs does not offer whole"
)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::OnceLock;

/// Frames of one call: nearly as many as its counter holds, and a multiple of every
/// batch.
const REPEAT: u32 = 0xffff_0000;

/// Runs the program on this thread, again and again, until it has run
/// [`REPEAT`] times or [`Thread::interrupt`] is called. Whatever the program
/// redirects leaves by the port; `batch` runs are flushed together.
///
/// # Errors
/// From `bpf(2)`; an interrupt is none.
pub(super) fn run(program: BorrowedFd<'_>, frame: &[u8], batch: u32) -> io::Result<()> {
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as u64,
        data_in: frame.as_ptr().cast(),
        data_size_in: u32::try_from(frame.len()).unwrap_or(u32::MAX),
        repeat: REPEAT.cast_signed(),
        flags: libbpf_sys::BPF_F_TEST_XDP_LIVE_FRAMES,
        batch_size: batch,
        ..Default::default()
    };
    // SAFETY: `options` and the frame it points to outlive the call, the kernel
    // only reads the frame, and no output buffer is named.
    let result =
        unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &raw mut options) };
    match io::Error::from_raw_os_error(-result) {
        _ if result >= 0 => Ok(()),
        error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        error => Err(error),
    }
}

#[derive(Clone, Copy)]
pub(super) struct Thread {
    process: libc::pid_t,
    thread: libc::pid_t,
}

impl Thread {
    /// The calling thread, made interruptible.
    ///
    /// # Errors
    /// From `sigaction(2)` and `pthread_sigmask(3)`.
    pub fn this() -> io::Result<Self> {
        static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
        INSTALLED
            .get_or_init(|| install().map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL)))
            .map_err(io::Error::from_raw_os_error)?;
        unblock()?;
        // SAFETY: neither call touches memory, neither fails.
        let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
        Ok(Self { process, thread })
    }

    /// Ends the call that the thread is in, if any; to be repeated until the thread
    /// says that it is out.
    pub fn interrupt(self) {
        // SAFETY: no memory is passed; a thread that is gone is an error, and
        // the process is this one, so no other can be meant.
        unsafe { libc::syscall(libc::SYS_tgkill, self.process, self.thread, signal()) };
    }
}

fn signal() -> libc::c_int {
    libc::SIGRTMAX() - 3
}

extern "C" fn ignore(_: libc::c_int) {}

/// A handler that does nothing, and no restart of system calls: so the call
/// ends with EINTR.
fn install() -> io::Result<()> {
    // SAFETY: sigaction is integers and a pointer, for which all zeroes is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = ignore as extern "C" fn(libc::c_int) as usize;
    // SAFETY: a readable sigaction whose handler touches nothing.
    let failed = unsafe { libc::sigaction(signal(), &raw const action, std::ptr::null_mut()) };
    if failed == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn unblock() -> io::Result<()> {
    // SAFETY: sigset_t is integers, for which all zeroes is a value.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: a writable set, and a signal that exists.
    unsafe { libc::sigemptyset(&raw mut set) };
    // SAFETY: as above.
    unsafe { libc::sigaddset(&raw mut set, signal()) };
    // SAFETY: a readable set; the old mask is not asked for.
    let error =
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
    if error == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(error))
    }
}
