//! Interrupt coalescing, as `ethtool -c` prints it.

use serde_json::{Map, Value};
use sys::plain::is_shown;

use crate::Host;
use crate::command::Outcome;
use crate::fact::{Found, absent, ok, refused};

/// The settings shown, where the driver has them.
const SHOWN: [&str; 6] = [
    "rx-usecs",
    "rx-frames",
    "tx-usecs",
    "tx-frames",
    "Adaptive RX",
    "TX",
];

pub(super) fn found(host: &Host, name: &str) -> Found {
    match host.command("ethtool", &["-c", name]) {
        Outcome::Missing => absent("not readable without ethtool", "install ethtool"),
        Outcome::Refused(why) => refused(&why),
        Outcome::Failed(_) => absent(
            "the driver does not offer it",
            "nothing to do on this driver: each packet may interrupt; NAPI settings (napi_defer_hard_irqs, gro_flush_timeout) defer instead",
        ),
        Outcome::Printed(text) => judge(settings(&text)),
    }
}

fn judge(settings: Map<String, Value>) -> Found {
    if settings.is_empty() {
        return ok(Value::Null, "the driver states no setting").degraded(
            "settings may be taken and ignored by such a driver: verify with interrupts per second in /proc/interrupts",
        );
    }
    let pair =
        |(name, value): (&String, &Value)| format!("{name} {}", value.as_str().unwrap_or_default());
    let pairs: Vec<String> = settings.iter().map(pair).collect();
    ok(settings, pairs.join(", "))
}

/// `rx-usecs: 3` and `Adaptive RX: off  TX: off`; `n/a` is no setting.
fn settings(text: &str) -> Map<String, Value> {
    let mut settings = Map::new();
    for line in text.lines() {
        for part in line.split("  ") {
            let Some((name, value)) = part.split_once(':') else {
                continue;
            };
            let (name, value) = (name.trim(), value.trim());
            if !SHOWN.contains(&name) || value.is_empty() || value == "n/a" {
                continue;
            }
            let name = if name == "TX" { "Adaptive TX" } else { name };
            let short: String = value.chars().filter(|c| is_shown(*c)).take(20).collect();
            settings.insert(name.to_owned(), Value::String(short));
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_real_driver() {
        let text = "Coalesce parameters for eth0:\nAdaptive RX: on  TX: off\nstats-block-usecs:\tn/a\n\nrx-usecs:\t50\nrx-frames:\tn/a\ntx-usecs:\t50\n";
        let expected = "Adaptive RX on, Adaptive TX off, rx-usecs 50, tx-usecs 50";
        assert_eq!(judge(settings(text)).text, expected);
        assert_eq!(judge(settings("")).state, trial::State::Degraded);
    }
}
