//! Front-ends of random manner that load two programs of devices, leave, and are killed,
//! while one of the two programs is killed too: every result is right, and the program
//! that lives holds no more at the end than at the beginning.

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lockgate_vhost::front::{FrontConfig, FrontEnd, FrontError, Interrupts, Manner};
use tempfile::TempDir;
use testing::Again;
use trial::stats::Random;
use wire::virtio_crypto::Status;

use crate::common::{LONG, Load, Rig, engine, everything, function};

/// How long, in seconds; a few in the ordinary tests.
const SECONDS: &str = "LOCKGATE_SOAK_S";
const SECONDS_USUAL: u64 = 3;

/// What the parts of this program are told: a folder; a socket, a seed and a file.
const DAEMON: &str = "LOCKGATE_TEST_SOAK_DAEMON";
const FRONT: &str = "LOCKGATE_TEST_SOAK_FRONT";

/// Devices of one program.
const DEVICES: usize = 2;

const RESET_OWNER: u32 = 4;

/// How much more memory the program may hold than at the first look: what an allocator
/// keeps differs from look to look.
const GROWTH_KB_MAX: u64 = 32 << 10;

/// Between two lines of the daemon's state.
const STATE: Duration = Duration::from_millis(20);

fn pick<T: Copy>(random: &mut Random, among: &[T]) -> T {
    among[random.below(among.len())]
}

fn ms(random: &mut Random, from: usize, to: usize) -> Duration {
    Duration::from_millis((from + random.below(to - from)) as u64)
}

/// What front-ends did, by name.
#[derive(Default)]
struct Counts(BTreeMap<String, u64>);

impl Counts {
    fn add(&mut self, name: &str, count: u64) {
        *self.0.entry(name.to_owned()).or_default() += count;
    }

    /// A file is there as a whole, or not at all.
    fn write(&self, path: &Path) {
        let lines: String = self
            .0
            .iter()
            .map(|(name, count)| format!("{name} {count}\n"))
            .collect();
        put(path, &lines);
    }

    fn add_file(&mut self, path: &Path) {
        for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
            let (name, count) = line.rsplit_once(' ').unwrap();
            self.add(name, count.parse().unwrap());
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self
            .0
            .iter()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        f.write_str(&parts.join(", "))
    }
}

fn put(path: &Path, text: &str) {
    let new = path.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(&new, path).unwrap();
}

/// The program of devices: says all the time what they hold.
#[test]
fn daemon() {
    let Some(folder) = std::env::var_os(DAEMON).map(PathBuf::from) else {
        return;
    };
    let engine = engine();
    let rig = |index| {
        Rig::with(Arc::clone(&engine), function(), |config| {
            config.socket.path = socket(&folder, index);
            config.allowed = everything();
        })
    };
    let rigs: Vec<_> = (0..DEVICES).map(rig).collect();
    println!("\nready");
    for look in 0_u64.. {
        let all = rigs.iter().map(|rig| rig.device().counters());
        let held = all.map(|now| now.sessions + usize::from(now.is_connected));
        let (held, panics) = (held.sum::<usize>(), engine.counters(0).panics);
        put(&folder.join("state"), &format!("{look} {held} {panics}"));
        std::thread::sleep(STATE);
    }
}

fn socket(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("{index}.sock"))
}

/// A front-end that lives until it is killed, or has had enough.
#[test]
fn front() {
    let Some(told) = std::env::var_os(FRONT) else {
        return;
    };
    let told = told.into_string().unwrap();
    let [socket, seed, report] = told.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{told}");
    };
    let mut player = Player {
        socket: socket.into(),
        random: Random::new(seed.parse().unwrap()),
        report: report.into(),
        counts: Counts::default(),
    };
    for _ in 0..1 + player.random.below(6) {
        if let Err(error) = player.live() {
            player.gone(&error);
        }
        player.counts.write(&player.report);
    }
}

struct Player {
    socket: PathBuf,
    random: Random,
    report: PathBuf,
    counts: Counts,
}

impl Player {
    /// Only a back-end that is killed may end what a front-end does.
    fn gone(&mut self, error: &FrontError) {
        let is_gone = matches!(error, FrontError::HungUp | FrontError::Connect(_));
        assert!(is_gone, "{error:?}");
        self.counts.add("lives cut off", 1);
        std::thread::sleep(Duration::from_millis(20));
    }

    /// One guest, from its set-up to its end.
    fn live(&mut self) -> Result<(), FrontError> {
        let random = &mut self.random;
        let depth = pick(random, &[1, 4, 16, 31]);
        let len = pick(random, &[16, 256, 4096, 60_000]);
        let config = FrontConfig {
            manner: pick(random, &[Manner::Qemu7, Manner::Qemu8, Manner::Strict]),
            queue_size: 32,
            data_bytes: Load::data_bytes(len, depth),
            regions: pick(random, &[1, 2, 5]),
            interrupts: pick(random, &[Interrupts::EventIndex, Interrupts::Flag]),
            keeps_log: random.below(2) == 0,
            ..FrontConfig::default()
        };
        let mut front = FrontEnd::connect(&self.socket, config)?;
        self.counts.add("connects", 1);
        let driver = front.start(0)?;
        let session = Load::open(&mut front, 0)?;
        let mut load = Load::with(&front, driver, len, depth, session);
        for _ in 0..self.random.below(400) {
            match self.step(&mut front, &mut load) {
                Err(FrontError::HungUp) => front = self.come_back(front, &mut load)?,
                other => other?,
            }
            if self.random.below(100) == 0 {
                front = self.come_back(front, &mut load)?;
            }
        }
        let ended = Self::finish(&front, &mut load);
        self.counts = self.counts_with(&load);
        ended?;
        load.is_complete();
        Ok(())
    }

    fn step(&mut self, front: &mut FrontEnd, load: &mut Load) -> Result<(), FrontError> {
        let count = 1 + self.random.below(32);
        match self.random.below(64) {
            0 => {
                load.fill(count);
                front.stop(0)?;
                front.resume(0, &load.driver)?;
            }
            1 => {
                load.fill(count);
                front.hand_memory_over()?;
            }
            2 => {
                load.fill(count);
                front.close_session(load.session)?;
                load.session = Load::open(front, 0)?;
            }
            3 => {
                load.fill(count);
                front.send(RESET_OWNER, Vec::new(), Vec::new())?;
                load.session = Load::open(front, load.session)?;
                front.resume(0, &load.driver)?;
            }
            4 => std::thread::sleep(ms(&mut self.random, 0, 20)),
            _ => {
                load.fill(count);
                Self::wait(front, load)?;
            }
        }
        if self.random.below(32) == 0 {
            self.counts_with(load).write(&self.report);
        }
        Ok(())
    }

    /// Waits for some that end, as long as there is somebody to end them.
    fn wait(front: &FrontEnd, load: &mut Load) -> Result<(), FrontError> {
        let begin = Instant::now();
        while !load.driver.wait(Duration::from_millis(50)) {
            if front.is_hung_up(Duration::ZERO) {
                return Err(FrontError::HungUp);
            }
            assert!(begin.elapsed() < LONG, "{} hang", load.driver.in_flight());
        }
        load.reap();
        Ok(())
    }

    fn finish(front: &FrontEnd, load: &mut Load) -> Result<(), FrontError> {
        while load.driver.in_flight() > 0 {
            Self::wait(front, load)?;
        }
        Ok(())
    }

    /// Connects again, to the same back-end or to the one after it, with requests in
    /// flight, by the session's number that those name.
    fn come_back(&mut self, front: FrontEnd, load: &mut Load) -> Result<FrontEnd, FrontError> {
        let begin = Instant::now();
        // Killed perhaps, and the next is not there yet.
        while UnixStream::connect(&self.socket).is_err() {
            assert!(begin.elapsed() < LONG, "nobody listens");
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut front = front.reconnect(&self.socket)?;
        load.session = Load::open(&mut front, load.session)?;
        front.resume(0, &load.driver)?;
        self.counts.add("connects", 1);
        self.counts.add("returns", 1);
        Ok(front)
    }

    /// All until now, those of this life among them.
    fn counts_with(&self, load: &Load) -> Counts {
        let mut all = Counts(self.counts.0.clone());
        all.add("right", load.right);
        for (&(status, _), &count) in &load.failed {
            let status = Status::from_byte(status).unwrap();
            let is_known = matches!(status, Status::Failed | Status::InvalidSession);
            assert!(is_known, "{:?}", load.failed);
            all.add(&format!("{status:?}"), count);
        }
        all
    }
}

/// What a program of devices says of itself, and what the system says of it.
#[derive(Clone, Copy, Debug)]
struct Holdings {
    look: u64,
    /// Sessions and connections.
    held: u64,
    panics: u64,
    files: u64,
    threads: u64,
    rss_kb: u64,
}

struct Daemon {
    folder: TempDir,
    process: Option<Again>,
}

impl Daemon {
    fn start() -> Self {
        let mut daemon = Self {
            folder: TempDir::new().unwrap(),
            process: None,
        };
        daemon.restart();
        daemon
    }

    fn restart(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
        let mut process = Again::start("soak::daemon", DAEMON, self.folder.path());
        process.says("ready");
        self.process = Some(process);
    }

    /// The system describes the process in this folder.
    fn process_folder(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.process.as_ref().unwrap().id()))
    }

    /// Lists the files that it has open.
    fn files(&self) -> Vec<PathBuf> {
        let all = std::fs::read_dir(self.process_folder().join("fd")).unwrap();
        let opened = all.filter_map(|file| file.unwrap().path().read_link().ok());
        // Its state is written again and again: open now and then.
        opened
            .filter(|file| !file.starts_with(self.folder.path()))
            .collect()
    }

    fn holdings(&self) -> Holdings {
        let folder = self.process_folder();
        let files = self.files().len() as u64;
        let status = std::fs::read_to_string(folder.join("status")).unwrap();
        let rss = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        let state = std::fs::read_to_string(self.folder.path().join("state"));
        let state = state.unwrap_or_default();
        let state: Vec<u64> = state.split(' ').flat_map(str::parse).collect();
        Holdings {
            look: state.first().copied().unwrap_or(0),
            held: state.get(1).copied().unwrap_or(u64::MAX),
            panics: state.get(2).copied().unwrap_or(0),
            files,
            threads: std::fs::read_dir(folder.join("task")).unwrap().count() as u64,
            rss_kb: rss.trim().trim_end_matches(" kB").parse().unwrap(),
        }
    }

    /// What it holds when nobody is there, and no more than at first: what it has open for
    /// a moment goes.
    fn holdings_alone(&self, first: Option<&Holdings>) -> Holdings {
        // What it said a moment ago may be of before.
        let look = self.holdings().look + 2;
        let begin = Instant::now();
        loop {
            let now = self.holdings();
            let is_less = first.is_none_or(|first| grew_little(first, &now));
            if now.held == 0 && now.look >= look && is_less {
                return now;
            }
            if begin.elapsed() > LONG {
                panic!("{now:?} is left, of {first:?}: {:?}", self.files());
            }
            std::thread::sleep(STATE);
        }
    }
}

/// The place of a front-end: as one ends, another begins.
struct Seat {
    daemon: usize,
    socket: PathBuf,
    report: PathBuf,
    process: Option<Again>,
    until: Instant,
}

impl Seat {
    fn turn(&mut self, random: &mut Random, counts: &mut Counts) {
        let Some(process) = &mut self.process else {
            self.fill(random);
            return;
        };
        match process.ended() {
            Some(status) => {
                assert!(status.success(), "a front-end found something wrong");
                self.process = None;
                counts.add("left", 1);
                counts.add_file(&self.report);
            }
            None if Instant::now() > self.until => self.empty(counts),
            None => {}
        }
    }

    fn fill(&mut self, random: &mut Random) {
        // Of the one before nothing may be counted twice.
        let _ = std::fs::remove_file(&self.report);
        let (socket, report) = (self.socket.display(), self.report.display());
        let told = format!("{socket} {} {report}", random.next_u64());
        self.process = Some(Again::start("soak::front", FRONT, told));
        self.until = Instant::now() + ms(random, 50, 5000);
    }

    fn empty(&mut self, counts: &mut Counts) {
        if let Some(mut process) = self.process.take() {
            let failed = process.ended().is_some_and(|status| !status.success());
            assert!(!failed, "a front-end found something wrong");
            process.kill();
            counts.add("front-ends killed", 1);
            counts.add_file(&self.report);
        }
    }
}

#[test]
fn random_kills_leave_nothing_behind() {
    let seconds = std::env::var(SECONDS).map_or(SECONDS_USUAL, |text| text.parse().unwrap());
    let (begin, length) = (Instant::now(), Duration::from_secs(seconds));
    let seed = std::process::id() as u64;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    // One is killed; the other lives.
    let mut daemons = [Daemon::start(), Daemon::start()];
    let reports = TempDir::new().unwrap();
    let mut seats: Vec<_> = (0..2 * DEVICES)
        .map(|number| Seat {
            daemon: number % 2,
            socket: socket(daemons[number % 2].folder.path(), number / 2),
            report: reports.path().join(number.to_string()),
            process: None,
            until: begin,
        })
        .collect();
    let mut counts = Counts::default();
    let step = (length / 4).min(Duration::from_secs(10));
    let (mut look_at, mut kill_at) = (begin + step, begin + ms(&mut random, 500, 4000));
    let mut line_at = begin + Duration::from_secs(60);
    let mut first = None;
    while begin.elapsed() < length {
        for seat in &mut seats {
            seat.turn(&mut random, &mut counts);
        }
        let now = Instant::now();
        if now > kill_at {
            daemons[0].restart();
            counts.add("daemons killed", 1);
            kill_at = Instant::now() + ms(&mut random, 500, 8000);
        }
        if now > look_at {
            for seat in seats.iter_mut().filter(|seat| seat.daemon == 1) {
                seat.empty(&mut counts);
            }
            let now = daemons[1].holdings_alone(first.as_ref());
            first.get_or_insert(now);
            look_at = Instant::now() + step;
        }
        if now > line_at {
            println!(
                "{} s: {counts}; {:?}",
                begin.elapsed().as_secs(),
                daemons[1].holdings()
            );
            line_at += Duration::from_secs(60);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    for seat in &mut seats {
        seat.empty(&mut counts);
    }
    let first = first.expect("a look takes place");
    let ends = [
        daemons[0].holdings_alone(None),
        daemons[1].holdings_alone(Some(&first)),
    ];
    assert!(counts.0["right"] > 0);
    let [files, threads, kb] = [
        (first.files, ends[1].files),
        (first.threads, ends[1].threads),
        (first.rss_kb, ends[1].rss_kb),
    ];
    println!("PASS {seconds} s: {counts}, 0 wrong");
    println!("first and last: files {files:?}, threads {threads:?}, kB {kb:?}, sessions 0");
    for daemon in daemons {
        daemon.process.unwrap().kill();
    }
}

fn grew_little(first: &Holdings, now: &Holdings) -> bool {
    assert_eq!(now.panics, 0, "{first:?}, and then {now:?}");
    let is_same = now.files <= first.files && now.threads <= first.threads;
    is_same && now.rss_kb <= first.rss_kb + GROWTH_KB_MAX
}
