//! Interrupt coalescing, as `ethtool -c` prints it.

use serde_json::{Map, Value};
use trial::Fact;

use crate::Host;
use crate::command::Outcome;
use crate::fact::{Judge, fact as new, refused};

/// The settings shown, where the driver has them.
const SHOWN: [&str; 6] = [
    "rx-usecs",
    "rx-frames",
    "tx-usecs",
    "tx-frames",
    "Adaptive RX",
    "TX",
];

pub(super) fn fact(host: &Host, name: &str) -> Fact {
    let (key, label) = (
        format!("nic.{name}.coalescing"),
        format!("{name} coalescing"),
    );
    match host.command("ethtool", &["-c", name]) {
        Outcome::Missing => new(key, label, Value::Null, "not readable without ethtool")
            .absent("install ethtool"),
        Outcome::Refused(why) => refused(key, label, &why),
        Outcome::Failed(_) => new(key, label, Value::Null, "the driver does not offer it").absent(
            "nothing to do on this driver: each packet may interrupt; NAPI settings (napi_defer_hard_irqs, gro_flush_timeout) defer instead",
        ),
        Outcome::Printed(text) => judge(key, label, &settings(&text)),
    }
}

fn judge(key: String, label: String, settings: &Map<String, Value>) -> Fact {
    let pairs: Vec<String> = settings
        .iter()
        .map(|(name, value)| format!("{name} {}", value.as_str().unwrap_or_default()))
        .collect();
    if pairs.is_empty() {
        return new(key, label, Value::Null, "the driver states no setting").degraded(
            "settings may be taken and ignored by such a driver: verify with interrupts per second in /proc/interrupts",
        );
    }
    new(
        key,
        label,
        Value::Object(settings.clone()),
        pairs.join(", "),
    )
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
            let short: String = value.chars().filter(|c| !c.is_control()).take(20).collect();
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
        let fact = judge("k".into(), "l".into(), &settings(text));
        assert_eq!(
            fact.text,
            "Adaptive RX on, Adaptive TX off, rx-usecs 50, tx-usecs 50"
        );
        assert_eq!(
            judge("k".into(), "l".into(), &settings("")).state,
            trial::State::Degraded
        );
    }
}
