//! What a hostile front-end may say: the device hangs up and says why, keeps no file and
//! no memory of it, and serves whoever comes next.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use engine::{FunctionConfig, KeyLimit};
use lockgate_vhost::front::{FrontConfig, FrontError, SessionSpec};
use sys::memory::sealed;

use crate::common::raw::{
    ADD_MEM_REG, CLOSE_SESSION, CREATE_SESSION, GET_FEATURES, GET_INFLIGHT_FD, GET_VRING_BASE, Raw,
    SET_INFLIGHT_FD, SET_LOG_BASE, SET_MEM_TABLE, SET_VRING_ADDR, SET_VRING_BASE, SET_VRING_CALL,
    SET_VRING_ENABLE, SET_VRING_ERR, SET_VRING_KICK, SET_VRING_NUM, event, holders, is_let_go,
    longs, words,
};
use crate::common::{Rig, engine, function, pattern, serves};

const MIB: usize = 1 << 20;
const USER: u64 = 0x7000_0000_0000;

#[test]
fn streams_that_are_no_messages() {
    let rig = Rig::new();
    let whole = |code: u32, flags: u32, bytes: u32| words(&[code, flags, bytes]);
    let all = [
        (whole(1, 1, 0)[..5].to_vec(), "ends too early"),
        ([whole(5, 1, 100), vec![0; 7]].concat(), "ends too early"),
        (whole(5, 1, 4097), "a message of 4097 bytes"),
        (whole(26, 1, u32::MAX), "a message of 4294967295 bytes"),
        (whole(1, 0, 0), "version 0"),
        (whole(1, 3, 0), "version 3"),
        // An answer to nothing, and messages that there are not.
        (whole(1, 1 | 1 << 2, 0), "message 1 is refused"),
        (whole(0, 1, 0), "message 0 is refused"),
        (whole(9999, 1, 0), "message 9999 is refused"),
        (
            [whole(1, 1, 8), vec![0; 8]].concat(),
            "message 1 is refused",
        ),
    ];
    for (bytes, why) in all {
        let raw = Raw::connect(&rig);
        raw.half(&bytes);
        raw.0.shutdown(std::net::Shutdown::Write).unwrap();
        raw.ends_in(&rig, why);
    }
}

/// Half a message, and answers that nobody reads: neither keeps the device from ending.
#[test]
fn a_front_end_that_stalls_does_not_hold_the_device() {
    for is_reading in [true, false] {
        let mut rig = Rig::new();
        let raw = Raw::connect(&rig);
        if is_reading {
            raw.half(&words(&[SET_MEM_TABLE, 1])[..5]);
        } else {
            raw.0.set_nonblocking(true).unwrap();
            // Until the device waits for room to answer.
            let ask = words(&[GET_FEATURES, 1, 0]);
            while raw.bytes(&ask, &[]).is_ok() {}
        }
        testing::until(|| rig.device().counters().is_connected, |is| *is);
        drop(rig.device.take());
    }
}

#[test]
fn queues_that_do_not_exist() {
    let rig = Rig::new();
    for index in [2, 3, 255, 256, u32::MAX] {
        let state = words(&[index, 1]);
        let address = [words(&[index, 0]), longs(&[0; 4])].concat();
        let all = [
            (SET_VRING_NUM, state.clone()),
            (SET_VRING_BASE, state.clone()),
            (GET_VRING_BASE, state.clone()),
            (SET_VRING_ENABLE, state),
            (SET_VRING_ADDR, address),
        ];
        for (code, body) in all {
            let raw = Raw::negotiated(&rig);
            raw.say(code, &body, &[]);
            raw.ends_in(
                &rig,
                &format!("message {code} is refused: queue {index} does not"),
            );
        }
    }
    for index in [2_u64, 255] {
        for code in [SET_VRING_KICK, SET_VRING_CALL, SET_VRING_ERR] {
            let (raw, file) = (Raw::negotiated(&rig), event());
            raw.say(code, &index.to_le_bytes(), &[file.as_fd()]);
            raw.ends_in(
                &rig,
                &format!("message {code} is refused: queue {index} does not"),
            );
            is_let_go(&file);
        }
    }
}

#[test]
fn notifiers_that_are_none() {
    let rig = Rig::new();
    let open = |path| OwnedFd::from(std::fs::File::open(path).unwrap());
    let (socket, _end) = std::os::unix::net::UnixStream::pair().unwrap();
    let timer = rustix::time::timerfd_create(
        rustix::time::TimerfdClockId::Monotonic,
        rustix::time::TimerfdFlags::empty(),
    );
    let files = [
        open("/dev/null"),
        socket.into(),
        timer.unwrap(),
        sealed(4096).unwrap(),
        open("/proc"),
    ];
    for file in files {
        for code in [SET_VRING_KICK, SET_VRING_CALL] {
            let raw = Raw::negotiated(&rig);
            raw.say(code, &[0; 8], &[file.as_fd()]);
            raw.ends_in(&rig, "must be an eventfd");
        }
    }
    let raw = Raw::negotiated(&rig);
    raw.say(SET_VRING_KICK, &longs(&[1 << 8]), &[]);
    raw.ends_in(&rig, "queue 0 has no kick");
}

/// Regions as guest, bytes, user, offset.
fn table(regions: &[[u64; 4]]) -> Vec<u8> {
    let begin = words(&[regions.len() as u32, 0]);
    [begin, longs(regions.as_flattened())].concat()
}

/// CVE-2020-10725 and -10726: what is mapped is what the file has, once and for good.
#[test]
fn memory_that_cannot_be_had() {
    let rig = Rig::new();
    let bytes = MIB as u64;
    let file = sealed(MIB).unwrap();
    // Everybody may write there, and it outlives a boot (hier(7)): it is on a disk.
    let on_disk = tempfile::tempfile_in("/var/tmp").unwrap();
    on_disk.set_len(bytes).unwrap();
    let on_disk = OwnedFd::from(on_disk);
    let one = [0, bytes, USER, 0];
    let all: [(&OwnedFd, Vec<[u64; 4]>, &str); 9] = [
        (&on_disk, vec![one], "neither in memory nor on hugetlbfs"),
        (
            &file,
            vec![[0, bytes * 2, USER, 0]],
            "1048576 bytes, which is less",
        ),
        (&file, vec![[0, bytes, USER, 4096]], "which is less than"),
        (
            &file,
            vec![[0, bytes, USER, 1 << 63]],
            "message 5 is refused",
        ),
        (&file, vec![[0, 4096, USER, 1]], "cannot be mapped"),
        (
            &file,
            vec![one, [bytes - 1, bytes, USER + bytes, 0]],
            "overlap",
        ),
        (
            &file,
            vec![one, [bytes, bytes, USER + bytes - 1, 0]],
            "overlap",
        ),
        (
            &file,
            vec![[u64::MAX, bytes, USER, 0]],
            "message 5 is refused",
        ),
        (&file, vec![[0, 0, USER, 0]], "message 5 is refused"),
    ];
    for (file, regions, why) in &all {
        let raw = Raw::negotiated(&rig);
        let files = vec![file.as_fd(); regions.len()];
        raw.say(SET_MEM_TABLE, &table(regions), &files);
        raw.ends_in(&rig, why);
        is_let_go(file);
    }
    // More or fewer files than regions, and regions than there may be.
    for (regions, files) in [(1, 0), (1, 2), (2, 1), (0, 0), (33, 32)] {
        let raw = Raw::negotiated(&rig);
        let apart = |index: u64| [index * bytes, bytes, USER + index * bytes, 0];
        let regions: Vec<_> = (0..regions).map(apart).collect();
        raw.say(SET_MEM_TABLE, &table(&regions), &vec![file.as_fd(); files]);
        raw.ends_in(&rig, "message 5 is refused");
        is_let_go(&file);
    }
    let raw = Raw::negotiated(&rig);
    let add = |index: u64| longs(&[0, index * bytes, bytes, USER + index * bytes, 0]);
    for index in 0..33 {
        raw.say(ADD_MEM_REG, &add(index), &[file.as_fd()]);
    }
    raw.ends_in(&rig, "33 regions of memory");
    is_let_go(&file);
}

/// CVE-2020-10723: a ring's address is translated as a whole, and of any size.
#[test]
fn queues_that_lie_nowhere() {
    let rig = Rig::new();
    let bytes = MIB as u64;
    let file = sealed(MIB).unwrap();
    let right = (16, [0, 0x2000, 0x1000]);
    let end = bytes - 16;
    let all: [(u32, [u64; 3], &str); 14] = [
        (0, right.1, "a queue of 0 entries"),
        (3, right.1, "a queue of 3 entries"),
        (2048, right.1, "a queue of 2048 entries"),
        (65_535, right.1, "a queue of 65535 entries"),
        (65_536, right.1, "a queue of 65535 entries"),
        (u32::MAX, right.1, "a queue of 65535 entries"),
        (16, [end, 0x2000, 0x1000], "descriptors at"),
        (16, [0, end, 0x1000], "used ring at"),
        (16, [0, 0x2000, end], "available ring at"),
        (16, [bytes, 0x2000, 0x1000], "is not within one region"),
        (
            16,
            [u64::MAX - USER - 15, 0x2000, 0x1000],
            "is not within one region",
        ),
        (16, [8, 0x2000, 0x1000], "message 9 is refused"),
        (16, [0, 0x2002, 0x1000], "message 9 is refused"),
        (16, [0, 0x2000, 0x1001], "message 9 is refused"),
    ];
    for (size, [descriptors, used, available], why) in all {
        let (raw, kick) = (Raw::negotiated(&rig), event());
        raw.say(
            SET_MEM_TABLE,
            &table(&[[0, bytes, USER, 0]]),
            &[file.as_fd()],
        );
        raw.say(SET_VRING_NUM, &words(&[0, size]), &[]);
        let at = [descriptors, used, available, 0].map(|at| at.wrapping_add(USER));
        raw.say(SET_VRING_ADDR, &[words(&[0, 0]), longs(&at)].concat(), &[]);
        raw.say(SET_VRING_KICK, &[0; 8], &[kick.as_fd()]);
        raw.ends_in(&rig, why);
        is_let_go(&file);
        is_let_go(&kick);
    }
}

/// CVE-2020-10722, CVE-2022-0669: files come with every message, and all are closed.
#[test]
fn files_that_nobody_asked_for() {
    let rig = Rig::new();
    let file = sealed(4096).unwrap();
    let inflight = [longs(&[64, 0]), vec![0; 8]].concat();
    let bodies = [
        (GET_FEATURES, vec![]),
        (SET_VRING_NUM, words(&[0, 16])),
        (GET_INFLIGHT_FD, inflight.clone()),
        (SET_INFLIGHT_FD, inflight),
        (SET_VRING_ERR, vec![0; 8]),
        (CLOSE_SESSION, vec![0; 7]),
        (CREATE_SESSION, vec![0; 99]),
        (SET_LOG_BASE, longs(&[4096, 0])),
    ];
    for (code, body) in &bodies {
        for count in [0, 2, 31, 32, 33, 60] {
            if count == 0 && *code != SET_INFLIGHT_FD {
                continue;
            }
            let raw = Raw::negotiated(&rig);
            let files: Vec<BorrowedFd<'_>> = vec![file.as_fd(); count];
            raw.say(*code, body, &files);
            let why = if count > 32 {
                "more than 32 files"
            } else {
                "message"
            };
            raw.ends_in(&rig, why);
            is_let_go(&file);
        }
    }
    // Those that are taken are closed, too: with a new one, and at the end.
    let (raw, first, second) = (Raw::negotiated(&rig), event(), event());
    for code in [SET_VRING_CALL, SET_VRING_KICK] {
        raw.say(code, &[0; 8], &[first.as_fd()]);
        raw.say(code, &[0; 8], &[second.as_fd()]);
    }
    is_let_go(&first);
    testing::until(|| holders(&second), |count| *count > 1);
    drop(raw);
    is_let_go(&second);
}

/// CVE-2020-10726: what a front-end keeps for the next device is mapped as far as it is
/// needed, and only if it stays there.
#[test]
fn logs_that_cannot_be_had() {
    let rig = Rig::new();
    let file = sealed(4096).unwrap();
    let plain = OwnedFd::from(tempfile::tempfile().unwrap());
    rustix::fs::ftruncate(&plain, 4096).unwrap();
    let all = [
        (&file, [0, 0], "has 0 bytes: 128 are needed"),
        (&file, [127, 0], "has 127 bytes: 128 are"),
        (&file, [u64::MAX, 4096], "which is less than"),
        (&file, [4096, 1], "cannot be mapped"),
        (&file, [4096, u64::MAX - 127], "is refused"),
        (&plain, [4096, 0], "neither in memory"),
    ];
    for (file, fields, why) in all {
        let raw = Raw::negotiated(&rig);
        let body = [longs(&fields), vec![1, 0, 16, 0, 0, 0, 0, 0]].concat();
        raw.say(SET_INFLIGHT_FD, &body, &[file.as_fd()]);
        raw.ends_in(&rig, why);
        is_let_go(file);
    }
    let raw = Raw::negotiated(&rig);
    raw.say(SET_LOG_BASE, &longs(&[u64::MAX, 4096]), &[file.as_fd()]);
    raw.ends_in(&rig, "message 6 is refused");
    is_let_go(&file);
}

/// A message of QEMU 8's that asks for AES-CBC with a key of so many bytes.
fn aes(key_bytes: u32) -> Vec<u8> {
    let mut body = vec![0; 1072];
    body[..8].copy_from_slice(&2_u64.to_le_bytes());
    body[8..16].copy_from_slice(&words(&[3, key_bytes]));
    body[32..34].copy_from_slice(&[1, 1]);
    body
}

fn session_of(answer: &[u8]) -> i64 {
    i64::from_le_bytes(*answer.last_chunk().unwrap())
}

/// CVE-2020-10724: a key is as long as it may be, whatever the message says.
#[test]
fn keys_of_any_length() {
    let rig = Rig::new();
    let raw = Raw::negotiated(&rig);
    let ask = |body: &[u8]| {
        raw.say(CREATE_SESSION, body, &[]);
        session_of(&raw.heard().unwrap())
    };
    for bytes in [0, 1, 15, 17, 31, 33, 64, 65, 1024, 1 << 31, u32::MAX] {
        assert_eq!(ask(&aes(bytes)), -1, "{bytes}");
    }
    for bytes in [513, u32::MAX] {
        let mut mac = aes(0);
        mac[..8].copy_from_slice(&0x202_u64.to_le_bytes());
        mac[8..28].copy_from_slice(&words(&[0, 0, 4, 32, bytes]));
        mac[34] = 2;
        assert_eq!(ask(&mac), -1, "{bytes}");
    }
    for bytes in [0, 1, 1024, 1025, u32::MAX] {
        let mut rsa = aes(0);
        rsa[..8].copy_from_slice(&0x404_u64.to_le_bytes());
        rsa[8..40].copy_from_slice(&words(&[1, 1, bytes, 0, 0, 0, 1, 6]));
        assert_eq!(ask(&rsa), -1, "{bytes}");
    }
    for why in [
        "a key of 65 bytes: at most 64",
        "a key of 513 bytes",
        "a key of 1025 bytes",
    ] {
        rig.complains(why);
    }
    assert_eq!(rig.device().counters().sessions, 0);
    // And goes on all the same.
    assert!(ask(&aes(16)) >= 0);
    drop(raw);
    serves(&rig);
}

#[test]
fn session_messages_of_every_size() {
    let rig = Rig::new();
    let near = [631, 632, 633, 1071, 1072, 1073, 4095, 4096];
    for bytes in (0..4096).step_by(131).chain(near) {
        let raw = Raw::negotiated(&rig);
        raw.say(CREATE_SESSION, &pattern(bytes, bytes as u64), &[]);
        if bytes == 632 || bytes == 1072 {
            assert_eq!(raw.heard().map(|body| body.len()), Some(bytes));
            drop(raw);
            serves(&rig);
        } else {
            raw.ends_in(&rig, &format!("a session message of {bytes} bytes"));
        }
        if bytes != 8 {
            let raw = Raw::negotiated(&rig);
            raw.say(CLOSE_SESSION, &pattern(bytes, 2), &[]);
            raw.ends_in(
                &rig,
                &format!("a message of {bytes} bytes closes a session"),
            );
        }
    }
}

/// Numbers of sessions that are another's, were closed, or never were.
#[test]
fn sessions_that_are_not_there_are_closed_by_nobody() {
    let rig = Rig::new();
    let raw = Raw::negotiated(&rig);
    let open = || {
        raw.say(CREATE_SESSION, &aes(16), &[]);
        session_of(&raw.heard().unwrap())
    };
    let close = |id: i64| {
        raw.flagged(CLOSE_SESSION, 1 | 1 << 3, &id.to_le_bytes(), &[]);
        u64::from_le_bytes(*raw.heard().unwrap().first_chunk().unwrap())
    };
    let (first, second) = (open(), open());
    assert_eq!(close(first), 0);
    let third = open();
    assert_ne!(first, third);
    for id in [
        first,
        second ^ 1 << 32,
        second + 1,
        -1,
        i64::MIN,
        0xffff_ffff,
        7,
    ] {
        assert_eq!(close(id), 1, "{id:#x}");
    }
    assert_eq!(rig.device().counters().sessions, 2);
    assert_eq!((close(second), close(third)), (0, 0));
    assert_eq!(rig.device().counters().sessions, 0);
}

#[test]
fn sessions_are_bounded() {
    const LIMIT: usize = 4;
    let keys_max = KeyLimit {
        sessions: LIMIT,
        bytes: 1 << 16,
    };
    let function = FunctionConfig {
        keys_max,
        ..function()
    };
    let rig = Rig::with(engine(), function, |_| {});
    for _ in 0..3 {
        let mut front = rig.front(FrontConfig::default());
        let key = pattern(16, 1);
        let mut open = || {
            front.open_session(&SessionSpec::Cipher {
                encrypts: true,
                key: &key,
            })
        };
        let all: Vec<u64> = (0..LIMIT).map(|_| open().unwrap()).collect();
        assert!(matches!(open(), Err(FrontError::Session)));
        rig.complains("4 sessions, which is the most");
        front.close_session(all[1]).unwrap();
        let session = SessionSpec::Cipher {
            encrypts: true,
            key: &key,
        };
        front.open_session(&session).unwrap();
        assert!(matches!(
            front.open_session(&session),
            Err(FrontError::Session)
        ));
        assert_eq!(rig.device().counters().sessions, LIMIT);
    }
    // With the front-end all have gone.
    testing::until(|| rig.device().counters().sessions, |count| *count == 0);
    serves(&rig);
}
