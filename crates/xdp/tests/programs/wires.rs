//! Veth pairs in network namespaces that end with their thread: nothing is left
//! whatever happens to a test.

use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lockgate_xdp::{Generator, Plan, Sent};
use nix::sched::{CloneFlags, unshare};

/// Fewer than a veth's ring holds.
pub const BURST: u64 = 200;

pub fn in_namespace<T: Send>(body: impl FnOnce() -> T + Send) -> Option<T> {
    if !testing::has_programs(&["ip", "mount"], "iproute2 mount") {
        return None;
    }
    thread::scope(|scope| {
        scope
            .spawn(|| {
                if let Err(error) = enter() {
                    testing::skipped(format!("no network namespace ({error}); run as root"));
                    return None;
                }
                Some(body())
            })
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

pub fn timed_in_namespace(body: impl Fn() + Sync) {
    testing::timed(|| {
        in_namespace(&body);
    });
}

/// Also its own mounts, for a /sys that shows this namespace.
fn enter() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)?;
    shell("mount --make-rprivate / && mount -t sysfs sysfs /sys && ip link set lo up");
    Ok(())
}

/// A thread in another namespace, as long as this lives.
pub struct Elsewhere {
    work: Option<mpsc::Sender<Box<dyn FnOnce() + Send>>>,
    thread: Option<thread::JoinHandle<()>>,
    /// Names the namespace for `ip link set … netns`.
    pub id: i32,
}

impl Elsewhere {
    pub fn new() -> Self {
        let (work, todo) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
        let (tell, told) = mpsc::channel();
        let thread = thread::spawn(move || {
            enter().unwrap();
            tell.send(nix::unistd::gettid().as_raw()).unwrap();
            todo.iter().for_each(|job| job());
        });
        Self {
            work: Some(work),
            thread: Some(thread),
            id: told.recv().unwrap(),
        }
    }

    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (tell, told) = mpsc::channel();
        let job = Box::new(move || tell.send(job()).unwrap_or(()));
        self.work.as_ref().unwrap().send(job).unwrap();
        told.recv().expect("the job ended without a panic")
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.work = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub fn shell(script: &str) -> String {
    let output = Command::new("sh").args(["-euc", script]).output().unwrap();
    assert!(
        output.status.success(),
        "{script}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

pub fn ifindex(name: &str) -> u32 {
    shell(&format!("cat /sys/class/net/{name}/ifindex"))
        .trim()
        .parse()
        .unwrap()
}

/// A UDP frame over IPv4 from t0 to 198.19.0.1, as long as said in memory.
pub fn frame_v4(bytes: usize, to: [u8; 6]) -> Vec<u8> {
    let mut frame = Vec::new();
    frame.extend(to);
    frame.extend([2, 0, 0, 0, 0, 0x10]);
    frame.extend([0x08, 0x00, 0x45, 0]);
    frame.extend(u16::try_from(bytes - 14).unwrap().to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    frame.extend([198, 18, 0, 2, 198, 19, 0, 1]);
    frame.extend([0xc0, 0, 0, 7]);
    frame.extend(u16::try_from(bytes - 34).unwrap().to_be_bytes());
    frame.resize(bytes, 0);
    frame
}

/// The same over IPv6, with a UDP checksum to be computed.
pub fn frame_v6(bytes: usize, to: [u8; 6]) -> Vec<u8> {
    let mut frame = Vec::new();
    frame.extend(to);
    frame.extend([2, 0, 0, 0, 0, 0x10]);
    frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
    frame.extend(u16::try_from(bytes - 54).unwrap().to_be_bytes());
    frame.extend([17, 64]);
    frame.extend([0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    frame.extend([0x20, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
    frame.extend([0xc0, 0, 0, 7]);
    frame.extend(u16::try_from(bytes - 54).unwrap().to_be_bytes());
    frame.extend([0xff, 0xff]);
    frame.resize(bytes, 0);
    frame
}

/// A burst of these sizes of frames, in this order, in trial 7 of stream 3.
pub fn plan(frames: Vec<Vec<u8>>, order: &[u8]) -> Plan {
    Plan {
        frames,
        order: order.to_vec(),
        destinations: 1,
        stride: 1,
        sources: 1,
        trial: 7,
        stream: 3,
        rate_pps: None,
        duration: Duration::from_secs(60),
        frames_max: Some(BURST),
        in_flight_max: None,
    }
}

/// The burst of one small IPv4 frame.
pub fn small() -> Plan {
    plan(vec![frame_v4(60, [2; 6])], &[0])
}

pub fn send(generator: &mut Generator, plan: &Plan) -> Sent {
    generator.send(plan, &AtomicBool::new(false)).unwrap()
}

/// Reads until `is_all`, for ten seconds at most; then once more, a little
/// later, so that too many show too.
pub fn settled<T>(read: impl Fn() -> T, is_all: impl Fn(&T) -> bool) -> T {
    for _ in 0..1000 {
        if is_all(&read()) {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(10));
    read()
}
