//! One attack: pairs of rounds, with a fair neighbour and with the attacker.

use std::time::{Duration, Instant};

use anyhow::Context;
use sys::affinity::pin_to;
use vhost::front::Attack;

use crate::Stop;
use crate::daemon::{ATTACKER, Daemon, Held, NEIGHBOUR, VICTIM};
use crate::player::{FAIR, Player, Tenant, cpus};
use crate::table::Row;

/// Each sees a first offence.
const DAEMONS: u32 = 3;
/// Pairs of rounds of each.
const PAIRS: u32 = 3;
/// What all attackers may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);
const WARM_UP: Duration = Duration::from_millis(50);

/// What the victim saw in one.
#[derive(Clone, Copy, Debug)]
struct Round {
    rate: f64,
    longest_ms: f64,
}

/// The attack beside a victim, `seconds` in all.
pub fn attack(attack: Attack, seconds: u64, stop: &Stop) -> anyhow::Result<Row> {
    let [_, own, _] = cpus()?;
    let length = Duration::from_secs(seconds) / (2 * DAEMONS * PAIRS);
    let mut row = Row::new(attack.name());
    let mut turn = 0;
    for _ in 0..DAEMONS {
        let mut daemon = Daemon::start()?;
        let (mut fair, mut hostile) = (Player::start(false)?, Player::start(true)?);
        // Threads that were started before go where they like.
        pin_to(own)?;
        let mut victim = Tenant::connect(&daemon.socket(VICTIM))?;
        let mut sides = Sides {
            daemon: &mut daemon,
            victim: &mut victim,
            stop,
        };
        // What is opened for the first guest and kept is not opened again for the next.
        for name in [ATTACKER, NEIGHBOUR] {
            sides.round(&mut fair, FAIR, WARM_UP, name)?;
        }
        let idle = sides.daemon.settled(None);
        let files = sides.daemon.files();
        for pair in 0..PAIRS {
            let mut seen = [None; 2];
            for arm in [turn % 2, 1 - turn % 2] {
                let said = sides.daemon.lines().len();
                sides.daemon.take_largest();
                let round = match arm {
                    0 => sides.round(&mut fair, FAIR, length, NEIGHBOUR)?,
                    _ => sides.round(&mut hostile, attack.name(), length, ATTACKER)?,
                };
                if arm == 1 {
                    let above = sides
                        .daemon
                        .take_largest()
                        .saturating_sub(idle.resident_bytes);
                    row.resident_bytes = row.resident_bytes.max(above);
                    row.say(&sides.daemon.lines()[said..]);
                }
                seen[arm] = Some(round);
            }
            turn += 1;
            let [Some(beside_fair), Some(beside_attack)] = seen else {
                continue;
            };
            row.ratios.push(beside_attack.rate / beside_fair.rate);
            let beyond_ms = beside_attack.longest_ms - beside_fair.longest_ms;
            match pair {
                0 => row.first_ms.push(beyond_ms),
                _ => row.later_ms.push(beyond_ms),
            }
        }
        let after = sides.daemon.settled(Some(idle));
        if after.descriptors > idle.descriptors {
            let left = beyond(sides.daemon.files(), &files);
            eprintln!("{}: left open: {}", attack.name(), left.join(", "));
        }
        let more = |after: Option<u64>, idle: Option<u64>| {
            Some(after?.cast_signed() - idle?.cast_signed())
        };
        row.descriptors = row
            .descriptors
            .max(more(after.descriptors, idle.descriptors));
        row.mappings = row.mappings.max(more(after.mappings, idle.mappings));
        row.wrong += victim.load.wrong.len() as u64 + victim.load.failures();
        row.answers += victim.load.right;
        row.deaths += u64::from(!daemon.is_alive());
        drop(victim);
        let _ = daemon.end().context("the daemon's end")?;
    }
    Ok(row)
}

/// What is there now and was not before; sockets and pipes have other numbers then.
fn beyond(mut now: Vec<String>, before: &[String]) -> Vec<String> {
    for one in before {
        if let Some(place) = now.iter().position(|other| other == one) {
            now.swap_remove(place);
        }
    }
    now
}

struct Sides<'a> {
    daemon: &'a mut Daemon,
    victim: &'a mut Tenant,
    stop: &'a Stop,
}

impl Sides<'_> {
    /// The victim's rate and longest wait while the other plays; what is in flight at its
    /// end counts.
    fn round(
        &mut self,
        player: &mut Player,
        name: &str,
        length: Duration,
        device: &str,
    ) -> anyhow::Result<Round> {
        player.begin(name, length, &self.daemon.socket(device))?;
        self.until_said(player)?;
        self.victim.load.take_longest();
        let (begin, before) = (Instant::now(), self.victim.load.right);
        self.until_said(player)?;
        let seconds = begin.elapsed().as_secs_f64();
        let requests = self.victim.load.right - before;
        self.victim.load.finish()?;
        Ok(Round {
            // One that stands still has a rate, too: a ratio of it is one.
            rate: (requests as f64).max(0.5) / seconds,
            longest_ms: self.victim.load.take_longest().as_secs_f64() * 1000.0,
        })
    }

    /// The victim goes on until the other says its next line.
    fn until_said(&mut self, player: &Player) -> anyhow::Result<()> {
        while player.said()?.is_none() {
            self.stop.check()?;
            let turned = self.victim.load.turn();
            if turned.is_err() && !self.daemon.is_alive() {
                anyhow::bail!("the daemon died:\n{}", self.daemon.lines().join("\n"));
            }
            turned?;
        }
        Ok(())
    }
}

impl Daemon {
    /// What it holds once it holds no more than before, or when it had the time.
    fn settled(&self, before: Option<Held>) -> Held {
        let begin = Instant::now();
        loop {
            let held = self.held();
            let is_back = |now: Option<u64>, before: Option<u64>| now <= before;
            let is_settled = match before {
                // An idle one is looked at when the last front-end has long gone.
                None => begin.elapsed() > 4 * WARM_UP,
                Some(before) => {
                    is_back(held.descriptors, before.descriptors)
                        && is_back(held.mappings, before.mappings)
                }
            };
            if is_settled || begin.elapsed() > GONE_WITHIN {
                return held;
            }
            std::thread::sleep(WARM_UP);
        }
    }
}
