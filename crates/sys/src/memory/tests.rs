use std::os::fd::AsFd;

use super::*;

#[test]
fn each_page_is_touched_once_and_none_beyond() {
    let (mapping, _file) = unsealed(8 * PAGE_BYTES);
    let there = || 8 * PAGE_BYTES - mapping.absent_bytes(0, 8 * PAGE_BYTES) as usize;
    for (offset, len, pages) in [
        (PAGE_BYTES, 0, 0),
        (PAGE_BYTES, 1, 1),
        (2 * PAGE_BYTES - 1, 1, 1),
        (2 * PAGE_BYTES - 1, 2, 2),
        (4 * PAGE_BYTES - 1, PAGE_BYTES + 2, 5),
    ] {
        mapping.touch(offset, len).unwrap();
        assert_eq!(there(), pages * PAGE_BYTES, "{offset} {len}");
        let begin = mapping.pages(0, 1).start + (offset / PAGE_BYTES) as u64;
        let end = begin + (offset % PAGE_BYTES + len).div_ceil(PAGE_BYTES) as u64;
        assert_eq!(mapping.pages(offset, len), begin..end);
    }
    assert!(mapping.touch(8 * PAGE_BYTES - 1, 2).is_err());
}

#[test]
fn copies_every_alignment_and_length() {
    let mapping = Mapping::new(4096).unwrap();
    for offset in 0..17 {
        for len in 0..40 {
            let bytes: Vec<u8> = (0..len).map(|index| (index * 7 + offset) as u8).collect();
            mapping.write(offset, &[0xee; 64]).unwrap();
            mapping.write(offset, &bytes).unwrap();
            let mut got = vec![0; len + 1];
            mapping.read(offset, &mut got).unwrap();
            assert_eq!(
                (&got[..len], got[len]),
                (&bytes[..], 0xee),
                "{len} at {offset}"
            );
        }
    }
}

#[test]
fn files_that_are_not_memory_and_short_ones_are_refused() {
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let refused = Mapping::shared(file.as_fd(), 4096);
    testing::assert_matches!(refused, Err(ShareError::NoMemory));
    for seals in [SealFlags::empty(), SealFlags::SHRINK] {
        let memory = memory(8192, seals).unwrap();
        let refused = Mapping::shared(memory.as_fd(), 8193);
        testing::assert_matches!(
            refused,
            Err(ShareError::TooShort {
                file_bytes: 8192,
                ..
            })
        );
        let (one, other) = [4096, 8192]
            .map(|len| Mapping::shared(memory.as_fd(), len))
            .into();
        let (one, other) = (one.unwrap(), other.unwrap());
        assert!(one.is_shared() && !Mapping::new(1).unwrap().is_shared());
        one.write(100, b"seen").unwrap();
        let mut seen = [0; 4];
        other.read(100, &mut seen).unwrap();
        assert_eq!(&seen, b"seen");
    }
}

/// Memory without one seal, and its file.
fn unsealed(len: usize) -> (Mapping, OwnedFd) {
    let memory = super::unsealed(len).expect("a file in memory");
    let mapping = Mapping::shared(memory.as_fd(), len).expect("it is mapped");
    (mapping, memory)
}

#[test]
fn memory_that_is_taken_away_is_lost_and_nothing_else_is() {
    let pages = 8;
    let (lost, file) = unsealed(pages * PAGE_BYTES);
    let (kept, _kept_file) = unsealed(pages * PAGE_BYTES);
    kept.write(0, b"kept").unwrap();
    lost.write(0, b"gone").unwrap();
    let told = crate::event::Event::new().unwrap();
    crate::fault::tell(Some(told.as_fd()));
    rustix::fs::ftruncate(&file, 0).unwrap();
    std::thread::scope(|scope| {
        for page in 0..pages {
            let lost = &lost;
            scope.spawn(move || {
                let mut bytes = [1; 4];
                lost.read(page * PAGE_BYTES + 8, &mut bytes).unwrap();
                assert_eq!(bytes, [0; 4]);
                lost.write(page * PAGE_BYTES, b"mine").unwrap();
            });
        }
    });
    assert!(told.clear());
    crate::fault::tell(None);
    let mut bytes = [0; 4];
    kept.read(0, &mut bytes).unwrap();
    assert_eq!(
        (&bytes, lost.is_lost(), kept.is_lost()),
        (b"kept", true, false)
    );
    // Its place in the list is another's now, which is whole.
    drop(lost);
    let (next, _next_file) = unsealed(PAGE_BYTES);
    next.write(0, b"next").unwrap();
    assert!(!next.is_lost());
}

#[test]
fn more_mappings_than_a_block_of_the_list_are_each_guarded() {
    let mut all: Vec<_> = (0..200).map(|_| unsealed(PAGE_BYTES)).collect();
    // Every second place is given back and taken anew.
    all = all.into_iter().step_by(2).collect();
    all.extend((0..100).map(|_| unsealed(2 * PAGE_BYTES)));
    for (index, (mapping, file)) in all.iter().enumerate() {
        if index % 3 == 0 {
            rustix::fs::ftruncate(file, 0).unwrap();
        }
        mapping.read(0, &mut [0; 8]).unwrap();
    }
    let lost = all.iter().enumerate();
    assert!(
        lost.into_iter()
            .all(|(index, one)| one.0.is_lost() == (index % 3 == 0))
    );
}

#[test]
fn huge_pages_that_are_not_there_are_lost() {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB;
    let huge = match rustix::fs::memfd_create(c"lockgate-huge", flags) {
        Ok(huge) => huge,
        Err(error) => return testing::skipped(format!("no huge pages: {error}")),
    };
    let bytes = 64 << 30;
    rustix::fs::ftruncate(&huge, bytes as u64).unwrap();
    // The end is not that of a huge page: the whole is given back all the same.
    let mapping = Mapping::shared(huge.as_fd(), bytes - 5).unwrap();
    let last = mapping.mapped_bytes - (2 << 20);
    assert_eq!(mapping.mapped_bytes, bytes);
    // Where the machine has some, the first may be there.
    for at in [0, last, last - 123] {
        mapping.write(at, &[1; 100]).unwrap();
    }
    let pool = std::fs::read_to_string("/proc/sys/vm/nr_hugepages").unwrap();
    assert!(mapping.is_lost() || pool.trim() != "0");
}

/// A mapping ends where it ends, also on a file system that likes huge pages.
#[test]
fn a_mapping_that_goes_takes_no_neighbour_with_it() {
    if !rustix::process::geteuid().is_root() {
        return testing::skipped("a mount needs root");
    }
    let own = std::thread::spawn(|| {
        let folder = tempfile::tempdir().unwrap();
        let Some(path) = mounted(folder.path(), c"size=8m,huge=always") else {
            return;
        };
        let file = std::fs::File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(folder.path().join("memory"))
            .unwrap();
        let bytes = 3 * PAGE_BYTES;
        file.set_len(bytes as u64).unwrap();
        let mapping = Mapping::shared(file.as_fd(), bytes).unwrap();
        assert_eq!(mapping.mapped_bytes, bytes);
        let huge = rustix::fs::fstat(&file).unwrap().st_blksize;
        if huge <= PAGE_BYTES as i64 {
            testing::left_out("this kernel's tmpfs has no huge pages");
        }
        drop((mapping, file));
        // SAFETY: unmounted once its users are gone, as a path that ends.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
    });
    own.join().unwrap();
}

/// A tmpfs of this thread alone, there; skips visibly where it cannot be.
fn mounted(folder: &std::path::Path, options: &std::ffi::CStr) -> Option<std::ffi::CString> {
    let folder = folder.to_str().expect("a temporary folder's name is text");
    let path = std::ffi::CString::new(folder).expect("a path has no zero");
    let none = std::ptr::null();
    // SAFETY: strings that end; what is mounted goes with the thread's namespace.
    let is_mounted = unsafe {
        libc::unshare(libc::CLONE_NEWNS | libc::CLONE_FS) == 0
            && libc::mount(
                none,
                c"/".as_ptr(),
                none,
                libc::MS_REC | libc::MS_PRIVATE,
                none.cast(),
            ) == 0
            && libc::mount(
                c"none".as_ptr(),
                path.as_ptr(),
                c"tmpfs".as_ptr(),
                0,
                options.as_ptr().cast(),
            ) == 0
    };
    if !is_mounted {
        let error = io::Error::last_os_error();
        testing::skipped(format!("no mount here: {error}"));
    }
    is_mounted.then_some(path)
}

#[test]
fn a_file_system_in_memory_that_is_full_and_a_poisoned_page_are_lost() {
    if !rustix::process::geteuid().is_root() {
        return testing::skipped("a mount and a poisoned page need root");
    }
    // Of this thread alone.
    let own = std::thread::spawn(|| {
        let folder = tempfile::tempdir().unwrap();
        let Some(path) = mounted(folder.path(), c"size=8k") else {
            return;
        };
        let file = std::fs::File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(folder.path().join("memory"))
            .unwrap();
        file.set_len(1 << 20).unwrap();
        let mapping = Mapping::shared(file.as_fd(), 1 << 20).unwrap();
        for page in 0..2 {
            mapping.write(page * PAGE_BYTES, &[7]).unwrap();
        }
        assert!(!mapping.is_lost());
        mapping.read(2 * PAGE_BYTES, &mut [0]).unwrap();
        assert!(mapping.is_lost());
        // SAFETY: unmounted once its users are gone, as a path that ends.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
    });
    own.join().unwrap();
    if std::env::var_os("LOCKGATE_THOROUGH").is_none() {
        return testing::left_out("a poisoned page, which this machine loses until it boots");
    }
    let (mapping, _file) = unsealed(PAGE_BYTES);
    mapping.write(0, b"poison").unwrap();
    let address = mapping.address.as_ptr().cast();
    // SAFETY: a page of this test's own.
    if unsafe { libc::madvise(address, PAGE_BYTES, libc::MADV_HWPOISON) } != 0 {
        let error = io::Error::last_os_error();
        return testing::left_out(format!("pages cannot be poisoned here: {error}"));
    }
    mapping.read(0, &mut [0; 8]).unwrap();
    assert!(mapping.is_lost());
}

#[test]
fn a_fault_elsewhere_ends_the_process_as_ever() {
    const VARIABLE: &str = "LOCKGATE_SYS_FAULTS_ELSEWHERE";
    if std::env::var_os(VARIABLE).is_some() {
        let (guarded, _file) = unsealed(PAGE_BYTES);
        guarded.write(0, &[1]).unwrap();
        let file = memory(PAGE_BYTES, SealFlags::empty()).unwrap();
        let raw = (file.as_raw_fd(), 0);
        let unguarded = Mapping::map_at(PAGE_BYTES, libc::MAP_SHARED, raw).unwrap();
        rustix::fs::ftruncate(&file, 0).unwrap();
        unguarded.read(0, &mut [0; 8]).unwrap();
        unreachable!("the touch ended the process");
    }
    let name = "memory::tests::a_fault_elsewhere_ends_the_process_as_ever";
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact"])
        .env(VARIABLE, "1")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    assert_eq!(signal, Some(libc::SIGBUS), "{status}");
}

#[test]
fn pages_that_are_not_there_are_told_and_not_made() {
    let pages = 3000;
    let (mapping, _file) = unsealed(pages * PAGE_BYTES);
    let all = pages * PAGE_BYTES;
    assert_eq!(mapping.absent_bytes(0, all), all as u64);
    assert_eq!(mapping.absent_bytes(0, all), all as u64);
    mapping.write(5 * PAGE_BYTES, &[1]).unwrap();
    assert_eq!(mapping.absent_bytes(1, all - 1), (all - PAGE_BYTES) as u64);
    assert_eq!(mapping.absent_bytes(5 * PAGE_BYTES + 9, 4000), 0);
    assert_eq!(mapping.absent_bytes(5 * PAGE_BYTES - 1, 2), 4096);
    assert_eq!(mapping.absent_bytes(all, 0), 0);
}

#[test]
fn pages_given_back_are_faults_and_zeros() {
    let pages = 16;
    let mapping = Mapping::untouched(pages * 4096).unwrap();
    for _ in 0..2 {
        let before = crate::usage::thread_usage().minor_faults;
        for page in 0..pages {
            let mut byte = [1];
            mapping.read(page * 4096, &mut byte).unwrap();
            assert_eq!(byte, [0]);
            mapping.write(page * 4096, &[7]).unwrap();
        }
        let faults = crate::usage::thread_usage().minor_faults - before;
        assert!(faults >= 16, "{faults}");
        mapping.give_pages_back().unwrap();
    }
    let shared = Mapping::shared(sealed(4096).unwrap().as_fd(), 4096).unwrap();
    assert!(shared.give_pages_back().is_err());
}

#[test]
fn copies_within_bounds_only() {
    let mapping = Mapping::new(10_000).unwrap();
    mapping.write(9_990, &[7; 10]).unwrap();
    let mut bytes = [0; 10];
    mapping.read(9_990, &mut bytes).unwrap();
    assert_eq!(bytes, [7; 10]);
    for (offset, len) in [(9_991, 10), (10_001, 0), (usize::MAX, 2)] {
        assert!(mapping.address(offset, len).is_err());
    }
    assert!(Mapping::new(0).is_err());
}
