//! Which BPF programs of others stand where frames pass: bpf(2), `linux/bpf.h`.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

/// Where programs of traffic control stand at a link without a queueing discipline
/// (tcx, Linux 6.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tcx {
    Ingress = 46,
    Egress = 47,
}

/// What a BPF link holds, as far as it can decide about frames that are forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A program at a hook of netfilter, by `NFPROTO_…`; the kernel does not say in which
    /// namespace.
    Netfilter {
        family: u32,
    },
    /// An XDP program at a link of this number, in a namespace that is not said either.
    Xdp {
        interface: u32,
    },
    Other,
}

/// `BPF_OBJ_GET_INFO_BY_FD` and its like.
const INFO: libc::c_long = 15;
const QUERY: libc::c_long = 16;
const OPEN_LINK: libc::c_long = 30;
const NEXT_LINK: libc::c_long = 31;

/// `BPF_LINK_TYPE_…`.
const XDP: u32 = 6;
const NETFILTER: u32 = 10;

/// As much of `union bpf_attr` as is used here, which is more than each command reads.
type Attributes = [u64; 8];

/// As much of `struct bpf_link_info`: type 4, number 4, program 4, hole 4, and what
/// the type has.
type LinkInfo = [u32; 8];

fn two(low: u32, high: u32) -> u64 {
    let [a, b, c, d] = low.to_ne_bytes();
    let [e, f, g, h] = high.to_ne_bytes();
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

fn first_of(word: u64) -> u32 {
    let [a, b, c, d, ..] = word.to_ne_bytes();
    u32::from_ne_bytes([a, b, c, d])
}

fn call(command: libc::c_long, attributes: &mut Attributes) -> io::Result<libc::c_long> {
    // SAFETY: the attributes live through the call and have the size that is said; the
    // pointers in them are put there by the callers below, to memory that lives as long.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            attributes.as_mut_ptr(),
            size_of::<Attributes>(),
        )
    };
    match answer {
        -1 => Err(io::Error::last_os_error()),
        answer => Ok(answer),
    }
}

/// How many programs stand there, at a link of the calling thread's namespace; none where
/// the kernel has no such place, or the link is gone.
///
/// # Errors
/// E.g. without `CAP_NET_ADMIN`.
pub fn programs_at(interface: u32, place: Tcx) -> io::Result<u32> {
    let mut attributes = Attributes::default();
    attributes[0] = two(interface, place as u32);
    match call(QUERY, &mut attributes) {
        Ok(_) => Ok(first_of(attributes[3])),
        Err(error) if is_one_of(&error, &[Errno::INVAL, Errno::NODEV, Errno::NOSYS]) => Ok(0),
        Err(error) => Err(error),
    }
}

/// The number of the host's next BPF link after this one, if there is one.
///
/// # Errors
/// E.g. without `CAP_SYS_ADMIN`.
pub fn link_after(number: u32) -> io::Result<Option<u32>> {
    let mut attributes = Attributes::default();
    attributes[0] = two(number, 0);
    match call(NEXT_LINK, &mut attributes) {
        Ok(_) => {
            let [_, _, _, _, a, b, c, d] = attributes[0].to_ne_bytes();
            Ok(Some(u32::from_ne_bytes([a, b, c, d])))
        }
        Err(error) if is_one_of(&error, &[Errno::NOENT, Errno::INVAL, Errno::NOSYS]) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What a BPF link of this host holds; `None` if it is gone.
///
/// # Errors
/// E.g. `EAGAIN` for one that is just being made.
pub fn link(number: u32) -> io::Result<Option<Holds>> {
    let mut attributes = Attributes::default();
    attributes[0] = two(number, 0);
    let file = match call(OPEN_LINK, &mut attributes) {
        Ok(file) => file,
        Err(error) if is_one_of(&error, &[Errno::NOENT]) => return Ok(None),
        Err(error) => return Err(error),
    };
    let file = i32::try_from(file).map_err(|_| Errno::BADF)?;
    // SAFETY: the kernel has just made it, for this call alone.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    let mut info = LinkInfo::default();
    let mut attributes = Attributes::default();
    attributes[0] = two(
        file.as_raw_fd().cast_unsigned(),
        u32::try_from(size_of::<LinkInfo>()).unwrap_or(0),
    );
    attributes[1] = info.as_mut_ptr().expose_provenance() as u64;
    call(INFO, &mut attributes)?;
    Ok(Some(match info[0] {
        XDP => Holds::Xdp { interface: info[4] },
        NETFILTER => Holds::Netfilter { family: info[4] },
        _ => Holds::Other,
    }))
}

fn is_one_of(error: &io::Error, ones: &[Errno]) -> bool {
    let code = error.raw_os_error();
    ones.iter().any(|one| code == Some(one.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_word_are_as_the_kernel_lays_them() {
        let word = two(7, 9);
        assert_eq!(first_of(word), 7);
        let bytes = word.to_ne_bytes();
        assert_eq!(bytes[4..], 9_u32.to_ne_bytes());
    }

    #[test]
    fn links_are_told_one_after_the_other_to_their_end() {
        if !rustix::process::geteuid().is_root() {
            return testing::skipped("not root; run the tests as root");
        }
        let mut number = 0;
        // As many as a busy host may have; each number is greater than the one before.
        for _ in 0..1_000_000 {
            let Some(next) = link_after(number).unwrap() else {
                assert_eq!(programs_at(1, Tcx::Ingress).unwrap(), 0);
                return;
            };
            assert!(next > number);
            assert_ne!(link(next).ok(), Some(Some(Holds::Netfilter { family: 0 })));
            number = next;
        }
        panic!("it has no end");
    }
}
