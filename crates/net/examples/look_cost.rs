//! Measures what an XDP router pays to look for what decides about its frames: the CPU
//! time of a look for what the kernel does not announce, and its share of a CPU at one
//! look in 15 ms. Nothing decides here. Needs root.
//!
//!   cargo run --release --package lockgate-net --example look_cost [LINKS]

use std::error::Error;

use lockgate_net::netlink::{VethEnd, add_veth};
use lockgate_net::{Deciders, Journal, Namespace, Tag};
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 9;
const LOOKS: u32 = 1_000;
/// `forward::router::xdp::watch::LOOK_EVERY`.
const EVERY_NS: f64 = 15e6;

fn main() -> Result<(), Box<dyn Error>> {
    let links: usize = std::env::args().nth(1).map_or(Ok(2), |text| text.parse())?;
    let (journal, tag) = (Journal::open()?, Tag::fresh());
    let namespace = Namespace::create(&journal, &tag.name("look")?)?;
    let mut netlink = namespace.netlink()?;
    let mut numbers = Vec::new();
    for _ in 0..links {
        let names = [Tag::fresh().interface("a")?, Tag::fresh().interface("b")?];
        let [one, other] = names.each_ref().map(|name| VethEnd::new(&namespace, name));
        add_veth(&one, &other)?;
        numbers.push(netlink.link(&names[0])?.index);
    }
    let measure = || -> Result<Vec<f64>, String> {
        let mut deciders = Deciders::open().map_err(|error| error.to_string())?;
        let found = deciders.find(&mut netlink, &numbers);
        let found = found.map_err(|error| error.to_string())?;
        if !found.is_empty() {
            return Err(format!("something decides: {found:?}"));
        }
        let mut look_ns = Vec::new();
        for _ in 0..ROUNDS {
            let began = cpu_ns();
            for _ in 0..LOOKS {
                deciders.have_changed().map_err(|error| error.to_string())?;
            }
            look_ns.push((cpu_ns() - began) as f64 / f64::from(LOOKS));
        }
        Ok(look_ns)
    };
    let mut look_ns = namespace.run(measure)??;
    look_ns.sort_by(f64::total_cmp);
    let [least, middle, most] = [0, ROUNDS / 2, ROUNDS - 1].map(|at| look_ns[at]);
    println!(
        "{links} links: a look takes {:.1} µs of CPU time ({:.1} to {:.1} in {ROUNDS} rounds), {:.3}% of a CPU",
        middle / 1e3,
        least / 1e3,
        most / 1e3,
        100.0 * middle / EVERY_NS
    );
    Ok(())
}

/// CPU time of this thread.
fn cpu_ns() -> i64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
