//! Devices that stop, go on, are cut off and are killed with requests in flight: each
//! request ends once, right or with an error, and nothing is left behind.

use std::io::Write;
use std::path::Path;

use engine::FunctionConfig;
use lockgate_vhost::Refusal;
use lockgate_vhost::front::{FrontConfig, FrontEnd};
use policy::Quota;
use testing::Again;
use wire::virtio_crypto::Status;

use crate::common::raw::Raw;
use crate::common::{LONG, Load, Rig, encrypts, engine, everything, function, serves};

const DEPTH: usize = 16;
/// So long that some are half done whenever one looks.
const LEN: usize = 64 << 10;

fn config(keeps_log: bool) -> FrontConfig {
    FrontConfig {
        queue_size: 32,
        data_bytes: Load::data_bytes(LEN, DEPTH),
        keeps_log,
        ..FrontConfig::default()
    }
}

fn load(rig: &Rig, keeps_log: bool) -> (FrontEnd, Load) {
    let mut front = rig.front(config(keeps_log));
    let driver = front.start(0).unwrap();
    let load = Load::new(&mut front, driver, LEN, DEPTH).unwrap();
    (front, load)
}

#[test]
fn a_queue_stops_and_goes_on_under_load() {
    let rig = Rig::new();
    let (mut front, mut load) = load(&rig, false);
    for _ in 0..testing::cases(30, 1000) {
        load.turn().unwrap();
        load.fill(DEPTH);
        let base = front.stop(0).unwrap();
        // What was taken is done, and what comes next is where the driver thinks.
        assert_eq!(base, load.driver.used_index());
        front.resume(0, &load.driver).unwrap();
    }
    load.finish().unwrap();
    load.is_complete();
    assert_eq!(load.failures(), 0);
    assert_eq!(rig.complaints(), [""; 0]);
}

/// More often than queues may be started: the front-end waits, and loses nothing.
#[test]
fn memory_is_handed_over_again_under_load() {
    let rig = Rig::new();
    let (mut front, mut load) = load(&rig, false);
    for _ in 0..testing::cases(400, 2000) {
        load.turn().unwrap();
        load.fill(DEPTH);
        front.hand_memory_over().unwrap();
    }
    load.finish().unwrap();
    load.is_complete();
    assert_eq!(load.failures(), 0);
    assert_eq!(rig.complaints(), [""; 0]);
}

/// A driver that sleeps may have missed the last notification of the queue's life before.
#[test]
fn a_queue_that_goes_on_tells_its_driver_once() {
    let rig = Rig::new();
    let mut front = rig.front(config(false));
    let mut driver = front.start(0).unwrap();
    encrypts(&mut front, &mut driver);
    for round in 0..3 {
        driver.interrupt().clear();
        match round {
            0 => front.hand_memory_over().unwrap(),
            1 => {
                front.stop(0).unwrap();
                front.resume(0, &driver).unwrap();
            }
            _ => {
                front = front.reconnect(&rig.socket()).unwrap();
                front.resume(0, &driver).unwrap();
            }
        }
        assert!(driver.interrupt().wait(LONG), "round {round}");
        encrypts(&mut front, &mut driver);
    }
}

/// The connection ends with requests in flight, and comes again: what was taken is done,
/// the rest is done when its session is there again.
#[test]
fn a_front_end_comes_again_with_requests_in_flight() {
    for keeps_log in [false, true] {
        let rig = Rig::new();
        let (mut front, mut load) = load(&rig, keeps_log);
        for _ in 0..testing::cases(10, 300) {
            load.turn().unwrap();
            load.fill(DEPTH);
            front = front.reconnect(&rig.socket()).unwrap();
            let session = Load::open(&mut front, load.session).unwrap();
            assert_eq!(session, load.session);
            front.resume(0, &load.driver).unwrap();
        }
        load.finish().unwrap();
        load.is_complete();
        // Of those that were in flight when their session ended.
        let ends = [Status::Failed as u8, Status::InvalidSession as u8];
        let is_known = |(status, _): &(u8, bool)| ends.contains(status);
        assert!(load.failed.keys().all(is_known), "{:?}", load.failed);
        assert!(load.right > 0);
        assert_eq!(rig.complaints(), [""; 0]);
    }
}

/// With a former number comes no other key: a session that is not there stays away.
#[test]
fn a_number_of_before_is_given_to_nobody_else() {
    let rig = Rig::new();
    let (mut front, load) = load(&rig, false);
    let mut other = Load::open(&mut front, load.session).unwrap();
    assert_ne!(other, load.session, "it is in use");
    front.close_session(other).unwrap();
    assert_ne!(
        Load::open(&mut front, other).unwrap(),
        other,
        "it was closed"
    );
    for _ in 0..3 {
        front = front.reconnect(&rig.socket()).unwrap();
        let first = Load::open(&mut front, 0).unwrap();
        assert!(first != load.session && first != other);
        other = first;
    }
    let again = Rig::new();
    let mut front = again.front(config(false));
    assert_ne!(
        Load::open(&mut front, 0).unwrap(),
        load.session,
        "another device begins elsewhere"
    );
}

const DAEMON: &str = "LOCKGATE_TEST_VHOST_DAEMON";

/// The process that is killed: a device at that socket.
#[test]
fn daemon() {
    let Some(socket) = std::env::var_os(DAEMON) else {
        return;
    };
    let rig = Rig::with(engine(), function(), |config| {
        config.socket.path = socket.into();
        config.allowed = everything();
    });
    println!("\nready");
    std::io::stdout().flush().unwrap();
    loop {
        std::thread::sleep(LONG);
        let _ = &rig;
    }
}

fn start(socket: &Path) -> Again {
    let mut daemon = Again::start("life::daemon", DAEMON, socket);
    daemon.says("ready");
    daemon
}

#[test]
fn a_device_is_killed_at_depth_16_and_another_goes_on() {
    for (keeps_log, brings_session) in [(false, true), (true, true), (false, false)] {
        let folder = tempfile::TempDir::new().unwrap();
        let socket = folder.path().join("killed.sock");
        let mut daemon = start(&socket);
        let mut front = FrontEnd::connect(&socket, config(keeps_log)).unwrap();
        let driver = front.start(0).unwrap();
        let mut load = Load::new(&mut front, driver, LEN, DEPTH).unwrap();
        for round in 0..testing::cases(6, 200) {
            for _ in 0..round % 3 {
                load.turn().unwrap();
            }
            load.fill(DEPTH);
            assert_eq!(load.driver.in_flight(), DEPTH);
            daemon.kill();
            daemon = start(&socket);
            front = front.reconnect(&socket).unwrap();
            let former = if brings_session { load.session } else { 0 };
            let session = Load::open(&mut front, former).unwrap();
            assert_eq!(session == load.session, brings_session);
            front.resume(0, &load.driver).unwrap();
            load.finish().unwrap();
            load.session = session;
        }
        load.turn().unwrap();
        load.finish().unwrap();
        load.is_complete();
        // In place what was begun has failed. Apart nothing has, if its key is there.
        let (failed, gone) = (Status::Failed as u8, Status::InvalidSession as u8);
        let is_known = |key: &(u8, bool)| match key {
            (status, true) if *status == failed => true,
            (status, _) => *status == gone && !brings_session,
        };
        assert!(load.failed.keys().all(is_known), "{:?}", load.failed);
        assert!(load.right > 0);
        daemon.kill();
    }
}

/// What a device that was killed may have begun stays in doubt until it is passed: also
/// where its successor is stopped, left or killed before it got there.
#[test]
fn what_was_begun_stays_in_doubt_until_it_is_passed() {
    const LINE_BYTES: usize = 64;
    let rig = Rig::new();
    let mut path = rig.socket().into_os_string();
    path.push(".log");
    let line = || std::fs::read(&path).unwrap()[..LINE_BYTES].to_vec();
    let put_line = |line: &[u8]| {
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, line, 0).unwrap();
    };
    let depth = 31;
    for case in 0..testing::cases(40, 2000) {
        let mut random = trial::stats::Random::new(case as u64);
        let mut below = |limit| random.below(limit);
        let config = FrontConfig {
            data_bytes: Load::data_bytes(16, depth),
            ..config(false)
        };
        let mut front = rig.front(config);
        let driver = front.start(0).unwrap();
        let mut load = Load::new(&mut front, driver, 16, depth).unwrap();
        for _ in 0..below(4) {
            load.turn().unwrap();
        }
        load.finish().unwrap();
        let (before, first) = (load.right, load.driver.used_index());
        // A queue that runs, and what it leaves when it is killed with some begun.
        let mut left = line();
        front.stop(0).unwrap();
        load.fill(depth);
        let begun = below(depth + 1);
        let number = first.wrapping_add(begun as u16);
        left[8..10].copy_from_slice(&number.to_le_bytes());
        put_line(&left);
        let mut done = 0;
        while done < depth {
            done += 1 + below(depth - done);
            let until = first.wrapping_add(done as u16);
            // It gets as far as to an entry that there is not.
            let head = (done < depth).then(|| load.driver.put_available(until, u16::MAX));
            front.resume(0, &load.driver).unwrap();
            testing::until(|| load.driver.used_index(), |used| *used == until);
            left = line();
            match below(3) {
                0 => {
                    front.stop(0).unwrap();
                }
                1 => {
                    front = front.reconnect(&rig.socket()).unwrap();
                    load.session = Load::open(&mut front, load.session).unwrap();
                }
                _ => {
                    front.stop(0).unwrap();
                    put_line(&left);
                }
            }
            if let Some(head) = head {
                load.driver.put_available(until, head);
            }
        }
        load.finish().unwrap();
        let is_in_doubt = |at: &u64| (before + at) % 2 == 1;
        let doubted = (0..begun as u64).filter(is_in_doubt).count() as u64;
        let failed = load.failed.get(&(Status::Failed as u8, true)).copied();
        assert_eq!(failed.unwrap_or(0), doubted, "case {case}");
        assert_eq!(load.right, before + depth as u64 - doubted, "case {case}");
    }
}

/// A front-end that leaves a throttled queue: all that was taken ends within bounded time.
#[test]
fn a_front_end_leaves_a_throttled_queue() {
    let rig = Rig::with(engine(), throttled(), |_| {});
    let (front, mut load) = load(&rig, false);
    load.fill(DEPTH);
    // The first is done, and all are taken.
    assert!(load.driver.wait(LONG));
    drop(front);
    testing::until(|| rig.device().counters().is_connected, |is| !is);
    load.finish().unwrap();
    load.is_complete();
    assert_eq!(rig.device().counters().sessions, 0);
}

fn throttled() -> FunctionConfig {
    FunctionConfig {
        quota: Quota::UNLIMITED.and_requests(1).unwrap(),
        ..function()
    }
}

/// As by SIGTERM: what was taken is finished before the device is gone.
#[test]
fn a_device_that_ends_finishes_what_it_took() {
    let mut rig = Rig::new();
    let (front, mut load) = load(&rig, false);
    for _ in 0..5 {
        load.turn().unwrap();
    }
    load.fill(DEPTH);
    // Taken: the first of them is done.
    assert!(load.driver.wait(LONG));
    drop(rig.device.take());
    load.reap();
    // The rest was not taken, and is there for the next device.
    assert_eq!(load.failures(), 0);
    rig.restart();
    let mut front = front.reconnect(&rig.socket()).unwrap();
    load.session = Load::open(&mut front, load.session).unwrap();
    front.resume(0, &load.driver).unwrap();
    load.finish().unwrap();
    load.is_complete();
    assert_eq!(load.failures(), 0);
}

/// A quota that lets next to nothing through holds nobody: not a stop, not a change of
/// memory, not the end of a device.
#[test]
fn a_throttled_device_stops() {
    let quota = Quota::UNLIMITED.and_requests(1).unwrap();
    let throttled = FunctionConfig {
        quota,
        ..function()
    };
    let mut rig = Rig::with(engine(), throttled, |_| {});
    let (mut front, mut load) = load(&rig, false);
    load.fill(DEPTH);
    // The first is done, and all are taken.
    assert!(load.driver.wait(LONG));
    let base = front.stop(0).unwrap();
    assert_eq!(base, load.driver.used_index());
    load.reap();
    assert!(load.failures() > 0, "what was taken is cancelled");
    front.resume(0, &load.driver).unwrap();
    load.fill(DEPTH);
    front.hand_memory_over().unwrap();
    load.fill(DEPTH);
    drop(rig.device.take());
    load.reap();
    // A whole queue waits, and the worker sleeps.
    let sleeps = rig.engine.counters(0).sleeps;
    assert!(sleeps > 0);
}

#[test]
fn keys_go_with_their_session_and_with_the_front_end() {
    let rig = Rig::new();
    let (mut front, mut load) = load(&rig, false);
    load.turn().unwrap();
    load.fill(DEPTH);
    // With requests in flight: those end, and no other is taken.
    front.close_session(load.session).unwrap();
    testing::until(|| rig.device().counters().sessions, |count| *count == 0);
    load.finish().unwrap();
    let before = rig.refused(Refusal::Session);
    let right = load.right;
    load.fill(DEPTH);
    load.finish().unwrap();
    assert_eq!(load.right, right);
    assert_eq!(rig.refused(Refusal::Session), before + DEPTH as u64);
    let invalid = |in_place| load.failed.get(&(Status::InvalidSession as u8, in_place));
    assert!(invalid(false).is_some() && invalid(true).is_some());
    for _ in 0..5 {
        Load::open(&mut front, 0).unwrap();
    }
    assert_eq!(rig.device().counters().sessions, 5);
    drop(front);
    testing::until(|| rig.device().counters().sessions, |count| *count == 0);
    serves(&rig);
}

/// A reset of the function ends its sessions, and not its queues: what they left outside
/// is taken in.
#[test]
fn a_reset_and_a_drain_leave_the_queue_going() {
    let rig = Rig::with(engine(), function(), |config| config.depth = 4);
    let (mut front, mut load) = load(&rig, false);
    let function = rig.device().function();
    for _ in 0..testing::cases(20, 1000) {
        load.fill(DEPTH);
        function.reset(LONG).unwrap();
        load.finish().unwrap();
        load.session = Load::open(&mut front, 0).unwrap();
        function.drain(LONG).unwrap();
        load.fill(DEPTH);
        let sleeps = rig.engine.counters(0).sleeps;
        load.driver.kick_anyway();
        testing::until(|| rig.engine.counters(0).sleeps, |now| *now > sleeps);
        function.resume();
        load.finish().unwrap();
    }
    load.is_complete();
    assert!(load.right > 0);
}

const STORM: &str = "LOCKGATE_TEST_VHOST_STORM";

/// Connects and disconnects, at every stage of a set-up; in a process of its own, whose
/// files, threads and mappings can be counted.
#[test]
fn storm() {
    let Some(count) = std::env::var_os(STORM) else {
        return;
    };
    let count: u32 = count.to_str().unwrap().parse().unwrap();
    let rig = Rig::new();
    let small = FrontConfig {
        queue_size: 8,
        data_bytes: 1 << 16,
        ..FrontConfig::default()
    };
    let mut before = None;
    for round in 0..count {
        match round % 16 {
            0 => {
                let mut front = rig.front(small);
                let mut driver = front.start(0).unwrap();
                encrypts(&mut front, &mut driver);
                Load::open(&mut front, 0).unwrap();
            }
            1..5 => drop(rig.front(FrontConfig {
                keeps_log: true,
                ..small
            })),
            5..9 => {
                let mut front = rig.front(small);
                Load::open(&mut front, 0).unwrap();
            }
            9..12 => Raw::connect(&rig).half(&[5, 0, 0]),
            _ => drop(Raw::connect(&rig)),
        }
        if round == 47 {
            before = Some(holdings(&rig));
        }
    }
    let before = before.unwrap();
    testing::until(
        || holdings(&rig),
        |now| (0..4).all(|one| now[one] <= before[one]),
    );
    serves(&rig);
    println!("\nheld {before:?}");
}

/// Files, threads, mappings, sessions.
fn holdings(rig: &Rig) -> [usize; 4] {
    testing::until(
        || rig.device().counters(),
        |now| !now.is_connected && now.sessions == 0,
    );
    let entries = |path| std::fs::read_dir(path).unwrap().count();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    // Those of an allocator come and go.
    let shared = maps.lines().filter(|line| line.contains("memfd")).count();
    [
        entries("/proc/self/fd"),
        entries("/proc/self/task"),
        shared,
        rig.device().counters().sessions,
    ]
}

#[test]
fn a_reconnect_storm_leaves_nothing_behind() {
    let count = testing::cases(1000, 10_000).to_string();
    let mut storm = Again::start("life::storm", STORM, count);
    storm.says("held");
    storm.lines().for_each(drop);
}
