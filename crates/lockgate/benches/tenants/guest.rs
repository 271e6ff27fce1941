//! A guest in QEMU that verifies what its device answers, beside all attacks in turn.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use vhost::front::Attack;

use crate::Stop;
use crate::daemon::{ATTACKER, Daemon, VICTIM, cache};
use crate::player::Player;

/// Shortest turn of an attack.
const TURN: Duration = Duration::from_secs(10);
/// What an emulated guest may take to boot and to end.
const BOOTS_WITHIN: Duration = Duration::from_secs(300);

/// Measurements of Lockgate's module, each verified against the kernel's C code, until the
/// time is over.
fn script(length: Duration) -> String {
    let seconds = length.as_secs();
    format!(
        "results=/sys/kernel/debug/lockgate_kspeed
now() {{ cut -d. -f1 /proc/uptime; }}
end=$(($(now) + {seconds}))
while [ $(now) -lt $end ]; do
for ask in 'mode=sync size=512 depth=1' 'mode=async size=16384 depth=16' 'mode=async size=4096 depth=8'; do
echo \"start type=skcipher driver=virtio_crypto_aes_cbc op=encrypt threads=1 ms=500 warmup_ms=1 latency=0 $ask\" > $results/control
grep -o '\"errors\":[0-9]*,\"verified\":[a-z]*' $results/result || echo no result
done
done
"
    )
}

/// Killed if it is left.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[derive(Default)]
struct Answers {
    right: AtomicU64,
    wrong: Mutex<Vec<String>>,
}

impl Answers {
    fn take(&self, line: &str) {
        match line {
            "\"errors\":0,\"verified\":true" => {
                self.right.fetch_add(1, Ordering::Relaxed);
            }
            _ if line.starts_with("\"errors\"") || line == "no result" => {
                let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
                wrong.push(line.to_owned());
            }
            _ => {}
        }
    }
}

fn boot(daemon: &Daemon, length: Duration) -> anyhow::Result<Guest> {
    let path = daemon.folder().join("guest.sh");
    std::fs::write(&path, script(length))?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    command.args(["vm", "run"]).arg(&path);
    command.arg("--crypto-socket").arg(daemon.socket(VICTIM));
    command.args(["--module", "virtio_crypto", "--module", "lockgate_kspeed"]);
    let limit = length + BOOTS_WITHIN;
    command.args(["--limit", &limit.as_secs().to_string()]);
    command.env("LOCKGATE_CACHE", cache());
    let guests = vm::Cache::open_default().context("no guests: make setup-guests")?;
    command.env("LOCKGATE_GUESTS", guests.folder());
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    Ok(Guest(sys::process::spawn_dying_with_us(command)?))
}

/// Whether the guest saw right answers and nothing else, and the daemon lives and keeps
/// nothing.
pub fn run(length: Duration, attacks: &[Attack], stop: &Stop) -> anyhow::Result<bool> {
    let mut daemon = Daemon::start()?;
    let mut player = Player::start(true)?;
    let mut guest = boot(&daemon, length)?;
    let output = guest.0.stdout.take().context("it was piped")?;
    let answers = Arc::new(Answers::default());
    let is_over = Arc::new(AtomicBool::new(false));
    let own = (Arc::clone(&answers), Arc::clone(&is_over));
    std::thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        lines.for_each(|line| own.0.take(&line));
        own.1.store(true, Ordering::Relaxed);
    });
    let begin = Instant::now();
    while answers.right.load(Ordering::Relaxed) == 0 {
        stop.check()?;
        if is_over.load(Ordering::Relaxed) || begin.elapsed() > BOOTS_WITHIN {
            bail!("the guest does not use its device within {BOOTS_WITHIN:?}");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let idle = daemon.held();
    let turn = TURN.max(length / attacks.len() as u32);
    println!(
        "| attack | s | log lines | right answers | RSS MB | fds | maps |\n| --- | --- | --- | --- | --- | --- | --- |"
    );
    for attack in attacks.iter().cycle() {
        let (said, right) = (daemon.lines().len(), answers.right.load(Ordering::Relaxed));
        daemon.take_largest();
        let begin = Instant::now();
        player.begin(attack.name(), turn, &daemon.socket(ATTACKER))?;
        let mut ends = 0;
        // `begun`, and how it ended; the guest may end before.
        while ends < 2 && !is_over.load(Ordering::Relaxed) {
            stop.check()?;
            ends += u32::from(player.said()?.is_some());
            std::thread::sleep(Duration::from_millis(20));
        }
        let held = daemon.held();
        let shown = |count: Option<u64>| count.map_or("not seen".to_owned(), |it| it.to_string());
        println!(
            "| {} | {:.0} | {} | {} | {:.1} | {} | {} |",
            attack.name(),
            begin.elapsed().as_secs_f64(),
            daemon.lines().len() - said,
            answers.right.load(Ordering::Relaxed) - right,
            daemon.take_largest() as f64 / 1e6,
            shown(held.descriptors),
            shown(held.mappings),
        );
        for line in daemon.lines().iter().skip(said) {
            eprintln!("{}: {line}", attack.name());
        }
        if is_over.load(Ordering::Relaxed) || !daemon.is_alive() {
            break;
        }
    }
    let is_alive = daemon.is_alive();
    let status = guest.0.wait()?;
    drop(player);
    let wrong = answers.wrong.lock().unwrap_or_else(PoisonError::into_inner);
    let right = answers.right.load(Ordering::Relaxed);
    println!(
        "\nguest: {right} measurements verified, {} wrong {wrong:?}; it ended with {status}; idle RSS {:.1} MB",
        wrong.len(),
        idle.resident_bytes as f64 / 1e6
    );
    println!("daemon alive: {is_alive}\n{}", daemon.end()?);
    Ok(is_alive && status.success() && right > 0 && wrong.is_empty())
}
