//! The flags of `lockgate speed` as the table of the section they ask for:
//! `[crypto-speed]`, or `[crypto-peers]` for all algorithms or named peers.

use toml::{Table, Value};

use crate::cli::SpeedPoints;

const SPEED: &str = "crypto-speed";
const PEERS: &str = "crypto-peers";

pub fn section(points: &SpeedPoints) -> &'static str {
    let is_all = |name: &String| name.eq_ignore_ascii_case("all");
    if points.algorithm.iter().any(is_all) || !points.peers.is_empty() {
        PEERS
    } else {
        SPEED
    }
}

/// Key of the section, flag, and what was given.
pub type Entry = (&'static str, &'static str, Option<Value>);

fn entries(points: &SpeedPoints) -> [Entry; 14] {
    let peers = match (section(points), points.no_peers) {
        (PEERS, true) => Some(Value::Array(Vec::new())),
        (PEERS, false) => texts(&points.peers),
        (_, no_peers) => no_peers.then_some(Value::Boolean(false)),
    };
    let pairs = points.pairs.map(|number| Value::Integer(number.into()));
    let backend = points.backend.clone().map(Value::String);
    [
        ("algorithms", "--algorithm", texts(&points.algorithm)),
        ("operations", "--operation", texts(&points.operation)),
        ("sizes_bytes", "--size", sizes(&points.size)),
        ("modes", "--mode", texts(&points.mode)),
        ("depths", "--depth", numbers(&points.depth)),
        ("lanes", "--lanes", numbers(&points.lanes)),
        ("backend", "--backend", backend),
        ("workers", "--workers", numbers(&points.workers)),
        ("placements", "--placement", texts(&points.placement)),
        ("policies", "--policy", texts(&points.policy)),
        ("seconds", "--seconds", points.seconds.map(Value::Float)),
        ("rate_per_s", "--rate", points.rate.map(Value::Float)),
        ("pairs", "--pairs", pairs),
        ("peers", "--peers", peers),
    ]
}

/// The flag that sets `key`; the key itself where none does.
pub fn flag_of(key: &str) -> &str {
    flag(&entries(&SpeedPoints::default()), key)
}

/// The same among some.
pub fn flag<'k>(entries: &[Entry], key: &'k str) -> &'k str {
    let known = entries.iter().map(|(name, flag, _)| (*name, *flag));
    // Of every measurement, and so none of the points.
    let mut known = known.chain([("precision", "--precision")]);
    let own = known.find(|(name, _)| *name == key);
    own.map_or(key, |(_, flag)| flag)
}

pub fn table(points: &SpeedPoints) -> Table {
    given(&entries(points))
}

pub fn given(entries: &[Entry]) -> Table {
    let given = |(key, _, value): &Entry| Some(((*key).to_owned(), value.clone()?));
    entries.iter().filter_map(given).collect()
}

pub fn texts(items: &[String]) -> Option<Value> {
    list(items.iter().cloned().map(Value::String))
}

pub fn numbers(items: &[u32]) -> Option<Value> {
    list(items.iter().map(|&number| Value::Integer(number.into())))
}

pub fn sizes(items: &[u64]) -> Option<Value> {
    let integer = |&bytes: &u64| Value::Integer(i64::try_from(bytes).unwrap_or(i64::MAX));
    list(items.iter().map(integer))
}

fn list(items: impl ExactSizeIterator<Item = Value>) -> Option<Value> {
    (items.len() > 0).then(|| Value::Array(items.collect()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn only_flags_that_were_given_are_in_the_table() {
        assert!(table(&SpeedPoints::default()).is_empty());
        let points = SpeedPoints {
            algorithm: vec!["aes-128-gcm".to_owned(), "sha256".to_owned()],
            size: vec![64, 16384],
            depth: vec![1, 16],
            workers: vec![2],
            no_peers: true,
            rate: Some(20_000.0),
            ..SpeedPoints::default()
        };
        let expected = "algorithms = ['aes-128-gcm', 'sha256']\nsizes_bytes = [64, 16384]\ndepths = [1, 16]\n\
                        workers = [2]\npeers = false\nrate_per_s = 20000.0";
        assert_eq!(table(&points), expected.parse().unwrap());
    }

    #[test]
    fn every_key_has_its_flag() {
        assert_eq!(flag_of("sizes_bytes"), "--size");
        assert_eq!(flag_of("seed"), "seed");
    }

    fn configured(arguments: &[&str]) -> Box<dyn trial::Section> {
        if let ["lockgate", "run", name, flags @ ..] = arguments {
            return by_flags(name, flags);
        }
        let cli = crate::cli::Cli::try_parse_from(arguments).unwrap();
        let crate::cli::Command::Speed(arguments) = cli.command else {
            panic!("speed")
        };
        let mut table = table(&arguments.points);
        if let Some(seed) = arguments.measuring.seed {
            table.insert("seed".to_owned(), Value::Integer(seed.try_into().unwrap()));
        }
        let name = section(&arguments.points);
        (sections::section(name).unwrap().parse)(table).unwrap()
    }

    /// The same of a section of the kit, as its command has them.
    fn by_flags(name: &str, flags: &[&str]) -> Box<dyn trial::Section> {
        let kind = sections::section(name).unwrap();
        let options = (kind.kit.as_ref().unwrap().options)();
        let given = flags.chunks(2).map(|pair| {
            let flag = pair[0].trim_start_matches("--");
            let key = options.iter().find(|key| key.flag() == flag).unwrap();
            (key.name.to_owned(), (key.value)(pair[1]))
        });
        (kind.parse)(given.collect()).unwrap()
    }

    #[test]
    fn the_command_that_a_section_gives_configures_it_again() {
        let everything = "lockgate speed --algorithm aes-256-gcm,rsa-2048 --operation decrypt,verify --size 32,16k \
                          --mode batch --depth 4,8 --lanes 1,2 --workers 1,2 --placement shared --policy each,spin \
                          --backend portable --seconds 0.5 --rate 1000 --pairs 9 --seed 7 --no-peers";
        for line in [
            "lockgate speed",
            "lockgate speed --algorithm sha256 --size 64",
            everything,
            "lockgate speed --algorithm all",
            "lockgate speed --algorithm all --size 64,4096 --backend portable --no-peers",
            "lockgate speed --algorithm sha256,aes-256-gcm --peers ring,openssl --pairs 9 --seconds 0.1",
            "lockgate speed --algorithm all --operation verify,sign --peers all --seed 3",
        ] {
            let line: Vec<_> = line.split_whitespace().collect();
            let first = configured(&line);
            let command = first.command();
            let again = configured(&command.split_whitespace().collect::<Vec<_>>());
            assert_eq!(first.resolved(), again.resolved(), "{command}");
        }
    }
}
