//! `lockgate rfc2544`, as data.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sections::rfc2544::{Network, Size};

use super::ExportArguments;
use crate::units;

pub const EXAMPLES: &str = "\
Examples:
  lockgate rfc2544 --ports eth1,eth2 --calibrate     first: a cable from eth1 to eth2
  lockgate rfc2544 --ports eth1,eth2                 a router between them
  lockgate rfc2544 --ports eth1,eth2 --check         what it will do, and what the router needs
  lockgate rfc2544 --ports eth1,eth2 --layer 2       a switch or a bridge
  lockgate rfc2544 --ports tap0,tap1 --tests all --sizes 64,512,imix
  lockgate rfc2544 --ports eth1,eth2 --rfc --two-way --export json=report.json
  lockgate rfc2544 --ports eth1,eth2 --tester 10.1.0.2/24,10.2.0.2/24 \\
    --device 10.1.0.1,10.2.0.1 --behind 10.3.0.0/16,10.4.0.0/16

Ports are network cards, virtual functions, taps or veths that carry no address. They
are moved to network namespaces for the test, and come back with their settings, also
after a crash. A router needs the addresses of RFC 2544, C.2.2, or those of --tester,
--device and --behind: --check says which. It is asked for by ARP or neighbour discovery.

Who calibrates knows what the tester itself carries: a loss is then the device's.

Exit codes: 0 measured; 2 wrong usage, or ports that cannot be taken; 3 the ports or the
device failed; 4 a capability is missing; 130 interrupted, with what was measured until then.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceLayer {
    /// A bridge or a switch: frames go to the other port's Ethernet address
    #[value(name = "2")]
    Two,
    /// A router: frames go to its address
    #[value(name = "3")]
    Three,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceTest {
    All,
    /// The highest rate without loss (26.1)
    Throughput,
    /// At 10, 50, 90 and 100% of it (26.2)
    Latency,
    /// From the most down by tenths (26.3)
    Loss,
    /// The longest burst without loss (26.4)
    BackToBack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FrameMaker {
    /// XDP where the ports take its frames, else packet sockets
    Auto,
    /// XDP programs in the kernel
    Live,
    /// Packet sockets
    Packet,
}

#[derive(Debug, Args)]
pub struct Rfc2544Arguments {
    /// The two ports that the device is between; the first sends
    #[arg(long, value_name = "A,B", required = true, value_delimiter = ',')]
    pub ports: Vec<String>,

    /// The ports are joined by a cable: measure what the tester itself carries, and keep it
    #[arg(long, conflicts_with_all = ["layer", "tests", "tester", "device", "behind"])]
    pub calibrate: bool,

    /// The device: 2 a bridge, 3 a router
    #[arg(long, value_enum, default_value = "3", hide_possible_values = true)]
    pub layer: DeviceLayer,

    /// IPv6 instead of IPv4
    #[arg(long)]
    pub ipv6: bool,

    /// Both ports send at the same time
    #[arg(long)]
    pub two_way: bool,

    /// Frame sizes in bytes, and imix (7 × 64, 4 × 570, 1 × 1518) [default: 64,128,256,512,1024,1280,1518; IPv6 from 84]
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = parse_size)]
    pub sizes: Vec<Size>,

    /// What is tested: throughput, latency, loss, back-to-back; all
    #[arg(
        long,
        value_name = "NAMES",
        value_enum,
        value_delimiter = ',',
        default_value = "throughput,latency",
        hide_possible_values = true
    )]
    pub tests: Vec<DeviceTest>,

    /// Find the rate with at most this loss, too: 0.1%
    #[arg(long, value_name = "PERCENT", value_parser = parse_loss)]
    pub loss: Option<f64>,

    /// Seconds of a trial
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = parse_trial)]
    pub trial: f64,

    /// Trials as long and as many as RFC 2544 says: hours
    #[arg(long, conflicts_with = "trial")]
    pub rfc: bool,

    /// Speed of the links, where their drivers do not say it: 1G, 2.5G, 100M
    #[arg(long, value_name = "BITS_PER_S", value_parser = parse_speed)]
    pub speed: Option<f64>,

    /// The tester's own addresses, one a side [default: RFC 2544's 192.0.2.2/30,192.0.2.6/30]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub tester: Vec<Network>,

    /// The router's addresses at both ports [default: 192.0.2.1,192.0.2.5]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub device: Vec<IpAddr>,

    /// Networks behind the tester, to which frames go [default: 198.18.0.0/16,198.19.0.0/16]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub behind: Vec<Network>,

    /// Different destinations: a power of two
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub destinations: u32,

    /// What sends and counts
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        value_name = "KIND",
        hide_possible_values = true
    )]
    pub frames: FrameMaker,

    /// Processes of a device on this host, whose CPU time is the device's; that of a guest behind a tap is found
    #[arg(long, value_name = "PIDS", value_delimiter = ',')]
    pub device_pid: Vec<i32>,

    /// CPUs to use: the first sends, the third counts, of two the second [default: all that it may use]
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    pub cpus: Vec<usize>,

    /// Print what it will do and what the device needs, and touch no port
    #[arg(long)]
    pub check: bool,

    /// Folder that runs are stored in
    #[arg(long, value_name = "DIR", env = "LOCKGATE_RUNS", default_value = lab::store::RUNS)]
    pub out: PathBuf,

    #[command(flatten)]
    pub export: ExportArguments,
}

fn parse_size(text: &str) -> Result<Size, String> {
    if text.eq_ignore_ascii_case("imix") {
        return Ok(Size::Imix);
    }
    text.parse()
        .map(Size::Fixed)
        .map_err(|_| "not a size; write bytes, e.g. 64, or imix".to_owned())
}

fn parse_loss(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|text| text.parse().ok());
    number
        .filter(|percent: &f64| *percent > 0.0 && *percent < 100.0)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "not a loss; write a percentage above 0 and below 100, e.g. 0.1%".to_owned())
}

/// Fewer frames than a hundred decide nothing.
const TRIAL_S_MIN: f64 = 0.1;

fn parse_trial(text: &str) -> Result<f64, String> {
    let seconds = units::parse_seconds(text)?;
    if seconds < TRIAL_S_MIN {
        return Err(format!(
            "out of range; {TRIAL_S_MIN} s or more: one pause of the host would decide"
        ));
    }
    Ok(seconds)
}

/// A hundred times what there is: 10^14 bits/s.
const SPEED_MAX: f64 = 1e14;

fn parse_speed(text: &str) -> Result<f64, String> {
    let wrong = || "not a speed; write bits/s with M or G, e.g. 100M, 2.5G".to_owned();
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 'M' | 'm')) => (&text[..at], 1e6),
        Some((at, 'G' | 'g')) => (&text[..at], 1e9),
        _ => return Err(wrong()),
    };
    let speed = digits.parse::<f64>().map_err(|_| wrong())? * unit;
    if speed > 0.0 && speed <= SPEED_MAX {
        Ok(speed)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_people_type_them() {
        assert_eq!(parse_size("64"), Ok(Size::Fixed(64)));
        assert_eq!(parse_size("IMIX"), Ok(Size::Imix));
        assert_eq!(parse_loss("0.1%"), Ok(0.001));
        assert_eq!(parse_speed("2.5G"), Ok(2.5e9));
        assert_eq!(parse_speed("100M"), Ok(1e8));
        assert_eq!(parse_trial("0.5s"), Ok(0.5));
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in ["", "x", "-1", "6é"] {
            assert!(parse_size(text).is_err(), "{text}");
            assert!(parse_speed(text).is_err(), "{text}");
        }
        for text in ["0.1", "0%", "100%", "NaN%", "%", "-1%"] {
            assert!(parse_loss(text).is_err(), "{text}");
        }
        for text in ["0G", "infG", "NaNM", "1e99G", "10"] {
            assert!(parse_speed(text).is_err(), "{text}");
        }
        for text in ["0.01", "0", "4000"] {
            assert!(parse_trial(text).is_err(), "{text}");
        }
    }
}
