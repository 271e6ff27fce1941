//! What the bench is asked for.

use std::time::Duration;

use vhost::front::Attack;

pub const USAGE: &str = "\
usage: cargo bench --package lockgate --bench tenants -- [OPTIONS]

  --seconds-per-attack N  both neighbours together, 1 to 3600 [default: 18]
  --only NAME             this attack; repeatable [default: all]
  --guest                 a guest in QEMU beside all attacks in turn, instead
  --for TIME              with --guest: how long, as 90s or 10m [default: 10m]";

const SECONDS_MAX: u64 = 3600;
const GUEST: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub struct Arguments {
    pub seconds_per_attack: u64,
    pub attacks: Vec<Attack>,
    pub guest: Option<Duration>,
}

#[derive(Debug)]
pub enum Task {
    Help,
    Measure(Arguments),
    /// As a process that a bench started.
    Play {
        is_nice: bool,
    },
}

/// # Errors
/// A sentence that names the word, what is right and the remedy.
pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Task, String> {
    let mut arguments = Arguments {
        seconds_per_attack: 18,
        attacks: Vec::new(),
        guest: None,
    };
    let (mut is_guest, mut length) = (false, None);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--help" | "-h" => return Ok(Task::Help),
            "--play" => {
                let is_nice = value()? == "nice";
                return Ok(Task::Play { is_nice });
            }
            "--seconds-per-attack" => {
                let text = value()?;
                let seconds = text.parse().ok();
                let seconds = seconds.filter(|seconds| (1..=SECONDS_MAX).contains(seconds));
                arguments.seconds_per_attack =
                    seconds.ok_or(format!("{word} {text}: give 1 to {SECONDS_MAX}"))?;
            }
            "--only" => {
                let name = value()?;
                let names = Attack::ALL.map(Attack::name).join(", ");
                let attack = Attack::by_name(&name);
                let attack = attack.ok_or(format!("{word} {name}: give one of {names}"))?;
                arguments.attacks.push(attack);
            }
            "--guest" => is_guest = true,
            "--for" => length = Some(time(&word, &value()?)?),
            _ => return Err(format!("{word} is no option")),
        }
    }
    if length.is_some() && !is_guest {
        return Err("--for goes with --guest; give --seconds-per-attack otherwise".to_owned());
    }
    arguments.guest = is_guest.then(|| length.unwrap_or(GUEST));
    if arguments.attacks.is_empty() {
        arguments.attacks = Attack::ALL.to_vec();
    }
    Ok(Task::Measure(arguments))
}

fn time(word: &str, text: &str) -> Result<Duration, String> {
    let (number, factor) = match (text.strip_suffix('s'), text.strip_suffix('m')) {
        (Some(number), _) => (number, 1),
        (_, Some(number)) => (number, 60),
        _ => ("", 1),
    };
    let seconds = number.parse::<u64>().ok().map(|number| number * factor);
    let seconds = seconds.filter(|seconds| (10..=86_400).contains(seconds));
    seconds
        .map(Duration::from_secs)
        .ok_or(format!("{word} {text}: give 10s to 1440m"))
}
