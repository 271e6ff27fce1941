//! BIRD's two configurations, and what it is asked.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use sys::failure::Failure;
use trial::PlanError;

/// Of a table of /28 networks.
const STRIDE: u32 = 16;
const FIRST: [u8; 4] = [10, 0, 0, 0];
/// Both ends of the cable between the routers, and their numbers (RFC 6996).
const NEAR: (&str, u32) = ("198.51.100.0", 64_512);
const FAR: (&str, u32) = ("198.51.100.1", 64_513);

/// Servers are in folders that a user's path often leaves out.
const FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// Protocols of the one that announces, by name: most of the table, and what flaps.
pub(super) const BASE: &str = "bulk";
pub(super) const FLAP: &str = "flap";

/// # Errors
/// [`PlanError::NotSupported`] without BIRD.
pub(super) fn needs() -> Result<(), PlanError> {
    for program in ["bird", "birdc"] {
        let found = sys::program::find(program, &FOLDERS);
        let lacks = |reason: String| PlanError::NotSupported {
            reason,
            remedy: "install BIRD 2 (apt-get install bird2)".to_owned(),
        };
        match found {
            Ok(Some(_)) => {}
            Ok(None) => return Err(lacks(format!("no '{program}' here"))),
            Err(error) => return Err(lacks(error.to_string())),
        }
    }
    Ok(())
}

fn session(own: (&str, u32), other: (&str, u32)) -> String {
    format!(
        "protocol device {{ }}
protocol bgp core {{
    local {} as {};
    neighbor {} as {};
    connect retry time 1;
    connect delay time 1;
    error wait time 1, 5;
    ipv4 {{ import all; export all; }};
}}
",
        own.0, own.1, other.0, other.1
    )
}

/// Of the router that learns: what comes by BGP goes to the kernel.
pub(super) fn learns() -> String {
    format!(
        "router id 192.0.2.1;
protocol kernel {{ ipv4 {{ import none; export where source = RTS_BGP; }}; }}
{}",
        session(NEAR, FAR)
    )
}

/// Of the router that announces so many routes, of which the last `flapping` are apart.
/// None is in its own kernel's table.
pub(super) fn announces(routes: u64, flapping: u64) -> String {
    let mut text = format!("router id 192.0.2.5;\n{}", session(FAR, NEAR));
    let first = u32::from_be_bytes(FIRST);
    let mut protocol = |name: &str, range: std::ops::Range<u64>| {
        let _ = writeln!(text, "protocol static {name} {{\n    disabled;\n    ipv4;");
        for index in range {
            let address = first + u32::try_from(index).unwrap_or(0) * STRIDE;
            let [a, b, c, d] = address.to_be_bytes();
            let _ = writeln!(text, "    route {a}.{b}.{c}.{d}/28 blackhole;");
        }
        text.push_str("}\n");
    };
    protocol(BASE, flapping..routes);
    // The first: frames go there.
    protocol(FLAP, 0..flapping);
    text
}

/// What `birdc` answers.
pub(super) fn ask(socket: &Path, words: &[&str]) -> Result<String, Failure> {
    let found = sys::program::find("birdc", &FOLDERS).map_err(Failure::as_is)?;
    let program = found.ok_or_else(|| Failure::new("no 'birdc' here; install bird2"))?;
    let mut command = Command::new(program);
    command.arg("-s").arg(socket).args(words);
    let asked = command.output().map_err(Failure::of("cannot run birdc"))?;
    let text = String::from_utf8_lossy(&asked.stdout).into_owned();
    match asked.status.success() {
        true => Ok(text),
        false => Err(Failure::new(format!(
            "birdc {}: {}",
            words.join(" "),
            sys::plain::plain(&asked.stderr)
        ))),
    }
}

/// Of `show route count`: `1000000 of 1000000 routes for 1000000 networks in table
/// master4`.
pub(super) fn count(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("table master4"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read() {
        let text = "BIRD 2.0.12 ready.\n12 of 14 routes for 12 networks in table master4\n0 of 0 routes for 0 networks in table master6\n";
        assert_eq!(count(text), Some(12));
        assert_eq!(count("BIRD 2.0.12 ready.\n"), None);
    }

    #[test]
    fn all_routes_are_announced_once() {
        let text = announces(5_000, 50);
        let mut routes: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("route "))
            .collect();
        assert_eq!(routes.len(), 5_000);
        routes.sort_unstable();
        routes.dedup();
        assert_eq!(routes.len(), 5_000);
        assert!(text.contains("route 10.1.56.112/28"), "the last one");
    }
}
