//! What the kernel refuses a confined thread ends the process, with a word of what it was.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

/// `siginfo_t` of SIGSYS, sigaction(2): three integers, their padding, where the call was
/// made, and which it was.
#[repr(C)]
struct Refused {
    head: [libc::c_int; 4],
    address: *const libc::c_void,
    call: libc::c_int,
}

static EXIT: AtomicI32 = AtomicI32::new(3);

/// From now on SIGSYS of a filter (`SECCOMP_RET_TRAP`, seccomp(2)) ends the process with
/// `exit`, after a line on stderr that names the call and the thread.
///
/// # Errors
/// From `sigaction(2)`.
pub fn ends_with(exit: i32) -> io::Result<()> {
    EXIT.store(exit, Ordering::Relaxed);
    // SAFETY: for a sigaction, zeros are a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler makes async-signal-safe calls only; no old action is asked for.
    let set = unsafe { libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) };
    if set == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

extern "C" fn handler(_: libc::c_int, info: *const Refused, _: *const libc::c_void) {
    let mut name = [0_u8; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes, prctl(2); filters allow it.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    // SAFETY: the kernel gives a handler with SA_SIGINFO a siginfo_t, of which SIGSYS
    // fills these fields.
    let call = unsafe { (*info).call };
    let (mut digits, mut at, mut rest) = ([0_u8; 10], 10, call.unsigned_abs());
    while at == 10 || rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(16);
    for part in [
        b"lockgate: system call ".as_slice(),
        &digits[at..],
        b" is refused to the confined thread ",
        &name[..end],
        b", so this process ends. Somebody tries to get out, or the filter lacks what this host needs: report it; --no-confinement runs without.\n",
    ] {
        // SAFETY: the part is readable; a failed write is a word that nobody reads.
        unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    }
    // SAFETY: it ends the process at once, without anybody's destructors.
    unsafe { libc::_exit(EXIT.load(Ordering::Relaxed)) }
}
