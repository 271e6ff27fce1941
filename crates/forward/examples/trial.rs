//! Trials on a bench: `trial [PATH [HOME [RATE_PPS [WAYS [CPU_LIMIT]]]]]`, as
//! root; `-` for what is usual. E.g. `trial kernel - - - 0.2`.

use lockgate_forward::bench::{Bench, Directions, Offer, Setup};
use lockgate_forward::home;
use lockgate_forward::router::path::{AfXdp, Path, Poll};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let word = |index: usize| arguments.get(index).map_or("", String::as_str);
    let mut setup = Setup::of_host()?;
    setup.path = path(word(1));
    setup.home = match word(2) {
        "lxc" => home::Kind::Lxc,
        "runc" => home::Kind::Runc,
        _ => home::Kind::Namespace,
    };
    setup.cpu_limit = word(5).parse().ok();
    let mut bench = Bench::start(&setup)?;
    println!(
        "{} in {} ready in {:?}",
        setup.path.name(),
        setup.home.name(),
        bench.ready()
    );
    let offer = Offer {
        rate_pps: word(3).parse().ok(),
        directions: match word(4) {
            "two-way" => Directions::TwoWay,
            _ => Directions::OneWay,
        },
        ..Offer::default()
    };
    println!("ceiling {:.0} frames/s", bench.ceiling_pps(&offer)?);
    for _ in 0..3 {
        let result = bench.trial(&offer)?;
        let router_cpus = result.router_cpu_ns() as f64 / offer.duration.as_nanos() as f64;
        println!(
            "router {router_cpus:.3} CPUs; offered {:.0}, received {:.0} frames/s, lost {} of {}; ns a frame: router {:?}, sink {:?}, generator {:?}; {:?} {:?}",
            result.offered_pps(),
            result.received_pps(),
            result.lost(),
            result.offered(),
            result.router_ns_per_frame(),
            result.sink_ns_per_frame(),
            result.generator_ns_per_frame(),
            result.router,
            result.verdict,
        );
    }
    Ok(())
}

fn path(name: &str) -> Path {
    let af_xdp = |poll| {
        Path::AfXdp(AfXdp {
            poll,
            ..AfXdp::default()
        })
    };
    match name {
        "bridge" => Path::Bridge,
        "xdp-devmap" => Path::XdpDevmap,
        "xdp-fib" => Path::XdpFib,
        "xdp-fib-cached" => Path::XdpFibCached,
        "xdp-cpumap" => Path::XdpCpumap,
        "testpmd" => Path::Testpmd,
        "af-xdp" => af_xdp(Poll::Polled),
        "af-xdp-interrupt" => af_xdp(Poll::Interrupt),
        "af-xdp-busy-poll" => af_xdp(Poll::BusyPoll),
        _ => Path::Kernel,
    }
}
