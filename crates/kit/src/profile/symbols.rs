//! Which part a function is of: this program's own by its symbol table, the C library's by
//! where it is, the kernel's by `/proc/kallsyms`.

use std::fs;
use std::io;
use std::ops::Range;

use object::{Object as _, ObjectSymbol as _, SymbolKind};

use super::Part;

/// A copying function and its like beside it in the C library.
const COPYING_BYTES: u64 = 4096;

#[derive(Debug)]
pub(super) struct Symbols {
    own: Functions,
    kernel: Functions,
    libraries: Vec<Range<u64>>,
    /// `memcpy`, `memmove` and `memset`, as the loader chose them for this CPU.
    copying: Vec<Range<u64>>,
}

impl Symbols {
    pub(super) fn of_this_process() -> io::Result<Self> {
        let maps = fs::read_to_string("/proc/self/maps")?;
        let program = fs::read_link("/proc/self/exe")?;
        let mapped = Mapped::all(&maps);
        let path = program.to_string_lossy();
        let base = mapped
            .iter()
            .find(|one| one.path == path && one.offset == 0);
        let base = base.map_or(0, |one| one.range.start);
        // Without it, kernel addresses are hidden: all of the kernel is one.
        let kernel = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        let chosen = [
            libc::memcpy as *const () as u64,
            libc::memmove as *const () as u64,
            libc::memset as *const () as u64,
        ];
        let is_library = |one: &&Mapped<'_>| {
            let name = one.path.rsplit('/').next().unwrap_or_default();
            name.starts_with("libc.") || name.starts_with("libc-") || name.starts_with("ld-musl")
        };
        let libraries = mapped.iter().filter(is_library);
        Ok(Self {
            own: Functions::of_program(&fs::read("/proc/self/exe")?, base)?,
            kernel: Functions::of_kernel(&kernel),
            libraries: libraries.map(|one| one.range.clone()).collect(),
            copying: chosen.map(|start| start..start + COPYING_BYTES).to_vec(),
        })
    }

    pub(super) fn part(&self, address: u64, is_kernel: bool) -> Part {
        let Self {
            own,
            kernel,
            libraries,
            copying,
        } = self;
        let is_in = |ranges: &[Range<u64>]| ranges.iter().any(|one| one.contains(&address));
        match is_kernel {
            true => kernel.part(address).unwrap_or(Part::Kernel),
            false if is_in(copying) => Part::Copies,
            false if is_in(libraries) => Part::Memory,
            false => own.part(address).unwrap_or(Part::Protocol),
        }
    }
}

/// A line of `/proc/self/maps`.
struct Mapped<'m> {
    range: Range<u64>,
    offset: u64,
    path: &'m str,
}

impl<'m> Mapped<'m> {
    fn all(maps: &'m str) -> Vec<Self> {
        maps.lines().filter_map(Self::of).collect()
    }

    /// `start-end perms offset dev inode path`.
    fn of(line: &'m str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let offset = hex(fields.nth(1)?)?;
        Some(Self {
            range: hex(start)?..hex(end)?,
            offset,
            path: fields.nth(2)?,
        })
    }
}

/// Where functions begin, in order, and what part each is of.
#[derive(Debug, Default)]
struct Functions(Vec<(u64, Part)>);

impl Functions {
    fn new(all: impl Iterator<Item = (u64, Part)>) -> Self {
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(start, _)| *start);
        Self(all)
    }

    fn of_program(program: &[u8], base: u64) -> io::Result<Self> {
        let file = object::File::parse(program).map_err(io::Error::other)?;
        // One that is not moved says its addresses as they are.
        let base = if file.kind() == object::ObjectKind::Dynamic {
            base
        } else {
            0
        };
        let functions = file.symbols().filter(|one| one.kind() == SymbolKind::Text);
        Ok(Self::new(functions.filter_map(|one| {
            Some((base + one.address(), of_name(one.name().ok()?)))
        })))
    }

    /// `address type name [module]` a line.
    fn of_kernel(text: &str) -> Self {
        Self::new(text.lines().filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let start = u64::from_str_radix(fields.next()?, 16).ok()?;
            let name = fields.nth(1)?;
            // Hidden ones are all 0.
            (start != 0).then(|| (start, of_kernel_name(name)))
        }))
    }

    /// Of the last function that begins no later.
    fn part(&self, address: u64) -> Option<Part> {
        let after = self.0.partition_point(|(start, _)| *start <= address);
        Some(self.0[after.checked_sub(1)?].1)
    }
}

/// Of a function of this program, by its mangled name. An implementation of a trait is its
/// type's: what is named anywhere counts, the most telling first.
pub(super) fn of_name(mangled: &str) -> Part {
    let name = format!("{:#}", rustc_demangle::demangle(mangled));
    let has = |any: &[&str]| any.iter().any(|one| has_word(&name, one));
    if has(&["lockgate_crypto", "ring::", "ring_core", "aws_lc"]) {
        Part::Crypto
    } else if has(&["lockgate_offload", "lockgate_quic"]) {
        Part::Offload
    } else if has(&["memcpy", "memmove", "memset"]) {
        Part::Copies
    } else if has(&[
        "__rust_alloc",
        "__rust_dealloc",
        "__rust_realloc",
        "__rdl_",
        "alloc::raw_vec",
    ]) {
        Part::Memory
    } else {
        Part::Protocol
    }
}

/// Whether a word begins so: `ring::` is in `ring::aead`, and not in `string::String`.
fn has_word(name: &str, start: &str) -> bool {
    let is_inner = |before: char| before.is_alphanumeric() || before == '_';
    let mut all = name.match_indices(start);
    all.any(|(at, _)| !name[..at].ends_with(is_inner))
}

/// Of one of the kernel's.
fn of_kernel_name(name: &str) -> Part {
    const COPYING: [&str; 7] = [
        "copy_from_iter",
        "copy_to_iter",
        "copy_user",
        "rep_movs",
        "memcpy",
        "memmove",
        "csum_partial_copy",
    ];
    match COPYING.iter().any(|one| name.contains(one)) {
        true => Part::Copies,
        false => Part::Kernel,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_of_the_part_that_their_names_say() {
        let of = [
            (
                "_ZN15lockgate_crypto7kernels4seal17h0123456789abcdefE",
                Part::Crypto,
            ),
            (
                "ring_core_0_17_14__aes_gcm_enc_update_vaes_avx2",
                Part::Crypto,
            ),
            (
                "_ZN11quinn_proto10connection10Connection13poll_transmit17h0123456789abcdefE",
                Part::Protocol,
            ),
            (
                "_ZN16lockgate_offload6outbox6Outbox4take17h0123456789abcdefE",
                Part::Offload,
            ),
            (
                "_ZN4ring4aead7aes_gcm4seal17h0123456789abcdefE",
                Part::Crypto,
            ),
            (
                "_ZN5alloc6string6String4push17h0123456789abcdefE",
                Part::Protocol,
            ),
            (
                "_ZN8io_uring6submit9Submitter6submit17h0123456789abcdefE",
                Part::Protocol,
            ),
            (
                "<rustls::crypto::ring::quic::PacketKey>::encrypt",
                Part::Crypto,
            ),
            ("__rdl_alloc", Part::Memory),
            ("", Part::Protocol),
        ];
        for (name, part) in of {
            assert_eq!(of_name(name), part, "{name}");
        }
        let kernel = [
            ("_copy_from_iter", Part::Copies),
            ("rep_movs_alternative", Part::Copies),
            ("tcp_sendmsg_locked", Part::Kernel),
        ];
        for (name, part) in kernel {
            assert_eq!(of_kernel_name(name), part, "{name}");
        }
    }

    #[test]
    fn an_address_is_of_the_function_that_begins_before_it() {
        let functions = Functions::of_kernel(
            "ffffffff81000100 T tcp_v4_rcv\nffffffff81000000 t _copy_to_iter\t[udp]\nbroken\n",
        );
        assert_eq!(functions.part(0xffff_ffff_8100_00ff), Some(Part::Copies));
        assert_eq!(functions.part(0xffff_ffff_8100_0100), Some(Part::Kernel));
        assert_eq!(functions.part(0), None);
        let hidden = Functions::of_kernel("0000000000000000 T _copy_to_iter\n");
        assert_eq!(hidden.part(5), None);
    }

    #[test]
    fn this_process_s_functions_are_found() {
        let symbols = Symbols::of_this_process().unwrap();
        let copying = libc::memcpy as *const () as u64;
        assert_eq!(symbols.part(copying + 16, false), Part::Copies);
        let allocating = libc::malloc as *const () as u64;
        assert_eq!(symbols.part(allocating + 4, false), Part::Memory);
        let own = of_name as *const () as u64;
        assert_eq!(symbols.part(own, false), Part::Protocol);
        let crypto = crypto::by_name as *const () as u64;
        assert_eq!(symbols.part(crypto, false), Part::Crypto);
    }
}
