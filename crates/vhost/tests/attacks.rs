//! What a front-end can do that is not QEMU, or a QEMU that its guest has taken over: it
//! owns the memory, the notifiers and the socket. Each attack beside a neighbour of the
//! same worker, every request of which is done, and right.
#![allow(unsafe_code, reason = "userfaultfd(2) has no safe wrapper here")]

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::{CryptoEngine, WorkerConfig};
use lockgate_vhost::front::{Attack, Driver, FrontConfig, FrontEnd, Request, SharedMemory};
use lockgate_vhost::{Failure, Limits, Refusal};
use sys::event::Event;

use crate::common::raw::{GET_FEATURES, Raw, SET_MEM_TABLE, SET_VRING_ERR, longs, words};
use crate::common::{
    LONG, Load, Rig, cipher, encrypts, engine, finish, function, open_aes, serves,
};

const PAGE: usize = 4096;

fn unsealed() -> FrontConfig {
    FrontConfig {
        is_sealed: false,
        queue_size: 32,
        ..FrontConfig::default()
    }
}

/// Two devices of one engine with a worker for all and one for the quarantine: the
/// attacked and the neighbour.
fn pair() -> (Rig, Rig) {
    let backend = crypto::by_name("auto").unwrap();
    let worker = WorkerConfig {
        is_core_shared: true,
        stand_ins: 2,
        ..WorkerConfig::default()
    };
    let engine = Arc::new(CryptoEngine::start(backend, &[worker, worker]).unwrap());
    let rig = |engine| Rig::with(engine, function(), |config| config.quarantine = vec![1]);
    (rig(Arc::clone(&engine)), rig(engine))
}

/// The neighbour's load, for as long as the attack lasts.
fn beside(good: &Rig, attack: impl FnOnce()) {
    const LEN: usize = 4096;
    const DEPTH: usize = 8;
    let mut front = good.front(FrontConfig {
        data_bytes: Load::data_bytes(LEN, DEPTH),
        queue_size: 32,
        ..FrontConfig::default()
    });
    let driver = front.start(0).unwrap();
    let mut load = Load::new(&mut front, driver, LEN, DEPTH).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                load.turn().unwrap();
            }
            load.finish().unwrap();
        });
        let _over = crate::isolation::Over(&is_over);
        attack();
    });
    load.is_complete();
    assert!(load.right > 0);
    assert_eq!(load.failures(), 0);
    assert_eq!(good.complaints(), [""; 0]);
    assert_eq!(good.supervisor.failure(), None);
}

/// Requests of a page each from there on, as many as there are places.
fn ask(front: &FrontEnd, driver: &mut Driver, session: u64, pages: std::ops::Range<usize>) {
    let at = front.data_at();
    for page in pages {
        let place = [(at + page * PAGE, PAGE)];
        let request = Request {
            header: cipher(session, true, PAGE),
            iv: [0; 16],
            source: &place,
            destination: &place,
        };
        driver.submit(&request, page as u64).unwrap();
    }
    driver.kick();
}

/// What the device says of it, and what it counts as refused.
fn told(attack: Attack) -> (Option<&'static str>, Option<Refusal>) {
    match attack {
        Attack::HalfMessage => (Some("did not end it within"), None),
        Attack::UnreadReplies => (Some("does not read what it asked for"), None),
        Attack::FullPipe => (Some("threads wait for notifiers"), None),
        Attack::TruncatedMemory => (Some("was taken away"), None),
        Attack::SparseMemory => (Some("may be mapped"), None),
        Attack::UnwrittenPages => (None, Some(Refusal::Unwritten)),
        Attack::BrokenQueue => (Some("queue 0 broke: entry 65535 does not exist"), None),
        Attack::Sessions => (Some("sessions, which is the most"), None),
        Attack::LogStorm => (Some("an AES key of bytes: 5 is not offered"), None),
        Attack::BlockingNotifier
        | Attack::LongChains
        | Attack::Holes
        | Attack::WaitingPages
        | Attack::MessageStorm
        | Attack::ConnectionStorm => (None, None),
    }
}

#[test]
fn every_attack_harms_its_owner_alone() {
    let usual = Duration::from_millis(testing::cases(300, 10_000).into());
    for attack in Attack::ALL {
        let (bad, good) = pair();
        let (words, refusal) = told(attack);
        let idle = bad.device().counters();
        // Of a busy host the first look may come late: one turn is made in any case.
        let begin = OnceLock::new();
        beside(&good, || {
            let is_told = || {
                let is_said = |words| bad.complaints().iter().any(|one| one.contains(words));
                words.is_none_or(is_said) && refusal.is_none_or(|why| bad.refused(why) > 0)
            };
            let lasts = |within| begin.get_or_init(Instant::now).elapsed() < within;
            let go_on = || lasts(usual) || (!is_told() && lasts(LONG));
            let turns = attack.play(&bad.socket(), &go_on).unwrap();
            let said: BTreeSet<_> = bad.complaints().into_iter().collect();
            assert!(is_told(), "{attack:?}: {said:?}");
            assert!(turns.turns > 0, "{attack:?}");
            serves(&bad);
        });
        assert_eq!(bad.supervisor.failure(), None, "{attack:?}");
        let counters = bad.device().counters();
        assert_eq!(counters.panics, 0, "{attack:?}");
        // What it had made is its own account, and bounded.
        assert!(counters.made_bytes <= Limits::default().made_bytes_max);
        testing::until(
            || bad.device().counters(),
            |now| now.memory_bytes == idle.memory_bytes && now.sessions == 0,
        );
        if attack == Attack::BlockingNotifier {
            assert_eq!(bad.complaints(), [""; 0]);
        }
    }
}

/// Pages that nobody wrote are made for the device's process: up to a limit.
#[test]
fn memory_that_nobody_wrote_is_made_up_to_a_limit() {
    let limit = 1 << 20;
    let (pages, at_once) = (8192, 64);
    let bad = Rig::with(engine(), function(), |config| {
        config.limits.made_bytes_max = limit;
    });
    let mut front = bad.front(FrontConfig {
        data_bytes: (pages + 1) * PAGE,
        queue_size: 256,
        ..unsealed()
    });
    let mut driver = front.start(0).unwrap();
    let session = open_aes(&mut front, true);
    let mut page = 1;
    // It is counted from when its worker is seen to fault.
    while bad.refused(Refusal::Unwritten) == 0 {
        assert!(page + at_once < pages, "{:?}", bad.device().counters());
        ask(&front, &mut driver, session, page..page + at_once);
        finish(&mut driver);
        page += at_once;
        std::thread::sleep(Duration::from_millis(1));
    }
    let counters = bad.device().counters();
    assert!(counters.made_bytes <= limit, "{counters:?}");
    // Whoever writes its memory itself goes on.
    encrypts(&mut front, &mut driver);
    // Whoever holds the file may come again with it: its pages are counted still.
    drop(front);
    serves(&bad);
    assert!(bad.device().counters().made_bytes > limit / 2);
}

#[test]
fn sparse_memory_is_mapped_up_to_a_limit() {
    let bad = Rig::with(engine(), function(), |config| {
        config.limits.memory_bytes_max = 1 << 30;
    });
    let file = sys::memory::unsealed(1 << 46).unwrap();
    for bytes in [1 << 46, (1 << 30) + 4096] {
        let raw = Raw::negotiated(&bad);
        let table = [words(&[1, 0]), longs(&[0, bytes, 1 << 46, 0])].concat();
        raw.say(SET_MEM_TABLE, &table, &[file.as_fd()]);
        raw.ends_in(&bad, "at most 1073741824 may be mapped");
    }
    let raw = Raw::negotiated(&bad);
    let table = [words(&[1, 0]), longs(&[0, 1 << 30, 1 << 46, 0])].concat();
    raw.say(SET_MEM_TABLE, &table, &[file.as_fd()]);
    let mapped = || bad.device().counters().memory_bytes;
    testing::until(mapped, |bytes| *bytes == 1 << 30);
    drop(raw);
    testing::until(mapped, |bytes| *bytes == 0);
}

#[test]
fn half_a_message_and_unread_answers_end_a_connection() {
    let (bad, good) = pair();
    beside(&good, || {
        for bytes in [4, 11, 12] {
            let raw = Raw::negotiated(&bad);
            let head = [GET_FEATURES, 1, 8].map(u32::to_le_bytes);
            raw.half(&head.as_flattened()[..bytes]);
            raw.ends_in(&bad, "did not end it within");
        }
        let raw = Raw::negotiated(&bad);
        let begin = Instant::now();
        // Until it is cut off.
        while raw.bytes(&words(&[GET_FEATURES, 1, 0]), &[]).is_ok() {
            assert!(begin.elapsed() < LONG);
        }
        bad.complains("does not read what it asked for");
        serves(&bad);
    });
}

#[test]
fn a_queue_that_breaks_is_told_and_a_reset_brings_it_back() {
    let rig = Rig::new();
    let mut front = rig.front(unsealed());
    let mut driver = front.start(0).unwrap();
    encrypts(&mut front, &mut driver);
    let error = Event::new().unwrap();
    let file = error.as_fd().try_clone_to_owned().unwrap();
    front.send(SET_VRING_ERR, vec![0; 8], vec![file]).unwrap();
    for round in 1..4 {
        let (index, head) = (driver.used_index(), driver.next_head().unwrap());
        driver.enter(head, 0);
        driver.put_available(index, 999);
        driver.kick_anyway();
        assert!(error.wait(LONG), "round {round}");
        rig.complains("queue 0 broke: entry 999 does not exist in a queue of 32");
        let counters = rig.device().counters();
        assert_eq!(
            (counters.broken_queues, counters.is_connected),
            (round, true)
        );
        // As a driver that resets its device does: stopped, and set up anew.
        front.stop(0).unwrap();
        driver = front.start(0).unwrap();
        encrypts(&mut front, &mut driver);
    }
}

/// A panic of the device's thread, here of who is told, ends a connection and no more.
#[test]
fn a_device_whose_thread_panics_goes_on() {
    let rig = Rig::with(engine(), function(), |config| {
        config.limits.connections_per_s = 1000;
    });
    for round in 1..4 {
        rig.panics.store(true, Ordering::Relaxed);
        let front = FrontEnd::connect(&rig.socket(), FrontConfig::default());
        assert!(front.is_err(), "it was cut off");
        rig.complains("panicked");
        serves(&rig);
        assert_eq!(rig.device().counters().panics, round);
    }
    assert_eq!(rig.supervisor.failure(), None);
    // Again and again is no chance: whoever runs it is told.
    testing::until(
        || {
            rig.panics.store(true, Ordering::Relaxed);
            let _ = FrontEnd::connect(&rig.socket(), FrontConfig::default());
            rig.supervisor.failure()
        },
        |failure| *failure == Some(Failure::Device(rig.socket())),
    );
}

/// Memory whose pages wait for somebody, as those of a swapped guest wait for a disk:
/// userfaultfd(2) on the device's own mapping.
struct Waiting(OwnedFd);

const UFFDIO_API: u64 = 0xc018_aa3f;
const UFFDIO_REGISTER: u64 = 0xc020_aa00;

impl Waiting {
    /// On the device's mapping of that memory, which is this process's other one.
    fn on(memory: &SharedMemory) -> io::Result<Self> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
        // SAFETY: no memory is passed.
        let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just made it.
        let own = Self(unsafe { OwnedFd::from_raw_fd(fd as i32) });
        own.ask(UFFDIO_API, &mut [0xaa, 0, 0])?;
        let inode = rustix::fs::fstat(memory.file())?.st_ino.to_string();
        let maps = std::fs::read_to_string("/proc/self/maps")?;
        let of_it = |line: &&str| line.split_whitespace().nth(4) == Some(&inode);
        let range = |line: &str| {
            let (begin, end) = line.split_whitespace().next()?.split_once('-')?;
            let number = |text| u64::from_str_radix(text, 16).ok();
            Some((number(begin)?, number(end)?))
        };
        let mut others = maps.lines().filter(of_it).filter_map(range);
        let other = others.find(|(begin, _)| *begin != memory.address() as u64);
        let (begin, end) = other.expect("the device has mapped it");
        // Missing pages only.
        own.ask(UFFDIO_REGISTER, &mut [begin, end - begin, 1, 0])?;
        Ok(own)
    }

    fn ask(&self, what: u64, fields: &mut [u64]) -> io::Result<()> {
        // SAFETY: each request reads and writes as many fields as are passed.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), what, fields.as_mut_ptr()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[test]
fn memory_that_waits_moves_its_owner_to_another_worker_and_back() {
    let (bad, good) = pair();
    let mut front = bad.front(FrontConfig {
        data_bytes: 1 << 20,
        ..unsealed()
    });
    let mut driver = front.start(0).unwrap();
    encrypts(&mut front, &mut driver);
    let session = open_aes(&mut front, true);
    let waiting = match Waiting::on(front.memory()) {
        Ok(waiting) => waiting,
        Err(error) => return testing::skipped(format!("no userfaultfd(2): {error}")),
    };
    ask(&front, &mut driver, session, 64..68);
    testing::until(
        || bad.device().counters(),
        |counters| counters.is_quarantined,
    );
    assert!(bad.device().counters().stalls >= 1);
    // It is where it was as long as its pages are awaited, and holds up nobody else.
    for _ in 0..20 {
        serves(&good);
    }
    // Its pages come.
    drop(waiting);
    finish(&mut driver);
    bad.complains("moved to worker 1");
    encrypts(&mut front, &mut driver);
    serves(&good);
    assert_eq!(good.device().counters().stalls, 0);
    // There it holds up nobody else.
    let waiting = Waiting::on(front.memory()).unwrap();
    ask(&front, &mut driver, session, 128..132);
    for _ in 0..20 {
        serves(&good);
    }
    drop(waiting);
    finish(&mut driver);
    assert_eq!(good.complaints(), [""; 0]);
}

/// Its first offence: its requests come among those of a neighbour who always has some.
#[test]
fn a_neighbour_under_load_goes_on_while_memory_waits() {
    let (bad, good) = pair();
    let mut front = bad.front(FrontConfig {
        data_bytes: 1 << 20,
        ..unsealed()
    });
    let mut driver = front.start(0).unwrap();
    encrypts(&mut front, &mut driver);
    let session = open_aes(&mut front, true);
    let waiting = match Waiting::on(front.memory()) {
        Ok(waiting) => waiting,
        Err(error) => return testing::skipped(format!("no userfaultfd(2): {error}")),
    };
    beside(&good, || {
        let done = || good.device().counters().function.requests;
        testing::until(done, |done| *done > 100);
        ask(&front, &mut driver, session, 64..68);
        testing::until(|| bad.device().counters().stalls, |stalls| *stalls > 0);
        let before = done();
        testing::until(done, |done| *done > before + 1000);
        drop(waiting);
        finish(&mut driver);
    });
}
