//! Devices that are not ours, between two ports of a host: those with known faults, and
//! the kernel's router. A namespace plays the host, veths its cards.

use std::time::Duration;

use crate::as_before::AsBefore;
use lockgate_forward::bench::{Directions, PortKind};
use lockgate_forward::external::{Addressing, Ask, External, ExternalError, Setup, Tried};
use lockgate_forward::tester::stream::FrameSize;
use lockgate_forward::topology::{Cpus, Family};
use net::netlink::{Route, VethEnd, add_veth};
use net::{Journal, Namespace, Tag};

/// The host's cards, and the box that their cables lead to.
pub struct Cabled {
    pub host: Namespace,
    pub inside: Namespace,
    pub cards: [String; 2],
    pub ports: [String; 2],
    _journal: Journal,
}

impl Cabled {
    pub fn new() -> Self {
        let (journal, tag) = (Journal::open().unwrap(), Tag::fresh());
        let [host, inside] = ["host", "box"]
            .map(|role| Namespace::create(&journal, &tag.name(role).unwrap()).unwrap());
        let cards = ["c0", "c1"].map(|role| tag.interface(role).unwrap());
        let ports = ["p0", "p1"].map(|role| tag.interface(role).unwrap());
        for (card, port) in cards.iter().zip(&ports) {
            add_veth(&VethEnd::new(&host, card), &VethEnd::new(&inside, port)).unwrap();
            let mut netlink = inside.netlink().unwrap();
            inside
                .set_sysctl("ipv6/conf/all/disable_ipv6", "0")
                .unwrap();
            inside
                .set_sysctl("ipv6/conf/default/accept_dad", "0")
                .unwrap();
            netlink.set_up(port).unwrap();
            // Without NAPI it would forward in the sender's time.
            netlink.set_offloads(port, &[("rx-gro", true)]).unwrap();
            net::napi::set_threaded(&inside, port, true).unwrap();
            let threads = net::napi::threads(&mut netlink, port, 1).unwrap();
            let cpu = Cpus::of_host().unwrap().router[0];
            threads
                .iter()
                .for_each(|thread| thread.pin(&[cpu]).unwrap());
        }
        Self {
            host,
            inside,
            cards,
            ports,
            _journal: journal,
        }
    }

    pub fn setup(&self) -> Setup {
        Setup::new(self.cards.clone(), Cpus::of_host().unwrap())
    }

    fn as_it_is(&self) -> AsBefore<'_> {
        AsBefore::of(&self.host, &self.cards)
    }

    /// The kernel routes between both ports, with the standards' addresses.
    fn routes(&self) {
        let mut netlink = self.inside.netlink().unwrap();
        for family in [Family::V4, Family::V6] {
            let Addressing(ends) = Addressing::of_standard(family);
            for (end, port) in ends.iter().zip(&self.ports) {
                netlink
                    .add_address(port, end.device, end.tester.bits)
                    .unwrap();
                let index = netlink.link(port).unwrap().index;
                let (to, by) = (end.behind, end.tester.address);
                let route = Route::via(to.address, to.bits, by, index);
                netlink.add_route(&route).unwrap();
            }
        }
        self.inside.set_sysctl("ipv4/ip_forward", "1").unwrap();
        self.inside
            .set_sysctl("ipv6/conf/all/forwarding", "1")
            .unwrap();
    }

    /// The kernel's threads that receive for the box.
    fn threads(&self) -> Vec<i32> {
        let mut netlink = self.inside.netlink().unwrap();
        let ports = self.ports.iter();
        ports
            .flat_map(|port| net::napi::threads_now(&mut netlink, port))
            .map(|thread| thread.pid)
            .collect()
    }

    /// Tests it where it was connected from: there the ports go back to, whatever the
    /// test says.
    fn connected(&self, setup: &Setup, test: impl FnOnce(&mut External) + Send) {
        let inside = || test(&mut External::connect(setup, &|| true).unwrap());
        self.host.run(inside).unwrap();
    }

    fn connect(&self, setup: &Setup) -> Result<External, ExternalError> {
        let connect = || External::connect(setup, &|| true);
        self.host.run(connect).unwrap()
    }
}

fn ask(rate_pps: f64, duration_ms: u64) -> Ask {
    Ask {
        size: FrameSize::Fixed(84),
        rate_pps: Some(rate_pps),
        duration: Duration::from_millis(duration_ms),
        frames: None,
    }
}

fn trial(device: &mut External, ask: &Ask) -> Tried {
    device.trial(ask, &|| true).unwrap()
}

#[test]
fn a_router_is_asked_for_its_addresses_and_forwards() {
    testing::timed_as_root(|| {
        let cabled = Cabled::new();
        cabled.routes();
        let before = cabled.as_it_is();
        for family in [Family::V4, Family::V6] {
            for frames in [None, Some(PortKind::AfPacket)] {
                let setup = Setup {
                    addressing: Addressing::of_standard(family),
                    directions: Directions::TwoWay,
                    destinations: 16,
                    frames,
                    tasks: cabled.threads(),
                    ..cabled.setup()
                };
                cabled.connected(&setup, |device| {
                    println!("{family:?}: {:?} {:?}", device.kind(), device.facts());
                    // A burst that no ring is too short for, however busy the host is.
                    let burst = Ask {
                        frames: Some(200),
                        ..ask(20_000.0, 5_000)
                    };
                    for one in &trial(device, &burst).directions {
                        let came = &one.received;
                        assert_eq!((one.sent.offered, came.received), (100, 100), "{one:?}");
                        assert_eq!((came.duplicates, came.reordered, came.late), (0, 0, 0));
                    }
                });
                before.check();
            }
        }
    });
}

#[test]
fn ports_that_cannot_be_used_say_why_and_come_back() {
    testing::timed_as_root(|| {
        let cabled = Cabled::new();
        let before = cabled.as_it_is();
        let refused = |setup: &Setup| cabled.connect(setup).err().unwrap();
        let absent = Setup {
            ports: ["lg-none".to_owned(), cabled.cards[1].clone()],
            ..cabled.setup()
        };
        let error = refused(&absent).to_string();
        assert!(error.contains("no device 'lg-none'"), "{error}");
        let twice = Setup {
            ports: [cabled.cards[0].clone(), cabled.cards[0].clone()],
            ..cabled.setup()
        };
        assert!(refused(&twice).to_string().contains("twice"));
        for absent in [0, -1, i32::MAX] {
            let nobody = Setup {
                tasks: vec![absent],
                ..cabled.setup()
            };
            let error = refused(&nobody).to_string();
            assert!(error.contains(&format!("no process {absent}")), "{error}");
        }
        before.check();
        // Nobody has the address that is asked for.
        let error = refused(&cabled.setup());
        let told = error.to_string();
        assert!(
            matches!(error, ExternalError::NoNeighbour { .. }),
            "{error:?}"
        );
        assert!(
            told.contains("192.0.2.1") && told.contains(&cabled.cards[0]),
            "{told}"
        );
        before.check();
        // The box is there, and forwards nothing.
        cabled.routes();
        cabled.inside.set_sysctl("ipv4/ip_forward", "0").unwrap();
        let error = refused(&cabled.setup()).to_string();
        for part in ["no frames pass", "198.19.0.0/16 by 192.0.2.6"] {
            assert!(error.contains(part), "{error}");
        }
        before.check();
        // A cable that leads nowhere.
        let mut netlink = cabled.inside.netlink().unwrap();
        netlink.set_down(&cabled.ports[1]).unwrap();
        let error = refused(&cabled.setup()).to_string();
        assert!(
            error.contains("no carrier") && error.contains(&cabled.cards[1]),
            "{error}"
        );
        before.check();
        // A port in use.
        let mut netlink = cabled.host.netlink().unwrap();
        let address = "192.0.2.77".parse().unwrap();
        netlink.add_address(&cabled.cards[0], address, 24).unwrap();
        let error = cabled.connect(&cabled.setup()).err().unwrap();
        let causes = sys::failure::with_causes(&error);
        assert!(causes.contains("has the address 192.0.2.77/24"), "{causes}");
    });
}

#[cfg(feature = "bpf")]
mod planted {
    use super::*;
    use lockgate_forward::router::Router;
    use lockgate_forward::router::planted::{Device, Plant, PlantedPort};
    use lockgate_forward::tester::procedure::{Ceiling, Throughput, ThroughputGoal, drive};
    use lockgate_forward::tester::validity::Claim;
    use lockgate_forward::topology::address::Layer;
    use lockgate_forward::topology::plan::Side;
    use trial::Validity;

    /// `SCHED_FIFO`: sched(7).
    const FIFO: i32 = 1;

    /// The box is the planted one, on its own CPU.
    fn planted(cabled: &Cabled, plant: Plant) -> Device {
        let links = Side::BOTH.map(|side| {
            let link = |namespace: &Namespace, name: &str| {
                namespace.netlink().unwrap().link(name).unwrap()
            };
            let own = link(&cabled.inside, &cabled.ports[side.index()]);
            let card = link(&cabled.host, &cabled.cards[side.index()]);
            PlantedPort {
                index: own.index,
                source: own.address,
                destination: card.address,
            }
        });
        let cpu = Cpus::of_host().unwrap().router[0];
        Device::between(&cabled.inside, links, Some(cpu), plant).unwrap()
    }

    fn with(plant: Plant, test: impl Fn(&mut External, &mut Device) + Sync) {
        let cabled = Cabled::new();
        let mut box_ = planted(&cabled, plant);
        // Its program changes what the cards can.
        let before = cabled.as_it_is();
        let mut tasks = cabled.threads();
        tasks.push(box_.thread());
        for &task in &tasks {
            // A box has CPUs of its own: nobody keeps it waiting.
            sys::schedule::set(task, FIFO, 10).unwrap();
        }
        let setup = Setup {
            layer: Layer::Two,
            tasks,
            ..cabled.setup()
        };
        cabled.connected(&setup, |device| {
            assert_eq!(device.kind(), PortKind::LiveFrame);
            test(device, &mut box_);
        });
        before.check();
    }

    #[test]
    fn counts_are_exact() {
        testing::alone_as_root(|| {
            for plant in [
                Plant::Nothing,
                Plant::DropEvery(20),
                Plant::ReorderEvery(20),
                Plant::DuplicateEvery(20),
            ] {
                with(plant, |device, truth| {
                    // The warm-up is not counted.
                    trial(device, &ask(2_000.0, 50));
                    let before = truth.counters().unwrap();
                    let before_copies = truth.truth();
                    let tried = trial(device, &ask(2_000.0, 500));
                    let did = truth.counters().unwrap().since(before);
                    let (now, was) = (truth.truth(), before_copies);
                    let came = &tried.directions[0].received;
                    let lost = tried.directions[0].lost();
                    println!("{plant:?}: {lost} lost, {came:?}; {did:?}");
                    testing::certainly!(lost.abs_diff(did.dropped) == 0 || !valid(&tried));
                    testing::certainly!(
                        came.duplicates == now.duplicated - was.duplicated || !valid(&tried)
                    );
                    let reordered = now.reordered - was.reordered;
                    testing::certainly!(came.reordered == reordered || !valid(&tried));
                    if !valid(&tried) {
                        testing::noisy(&tried.outcome(Claim::Loss).verdict.reason);
                    }
                });
            }
        });
    }

    fn valid(tried: &Tried) -> bool {
        let verdict = tried.outcome(Claim::Loss).verdict;
        if verdict.validity == Validity::Noisy {
            println!("noisy: {}", verdict.reason);
        }
        verdict.is_valid()
    }

    #[test]
    fn losses_are_within_a_twentieth_of_the_truth() {
        testing::alone_as_root(|| {
            with(Plant::DropEvery(100), |device, _| {
                let tried = trial(device, &ask(20_000.0, 1_000));
                let verdict = tried.outcome(Claim::Loss).verdict;
                let found = tried.directions[0].loss_ratio();
                println!("planted a loss of 0.01: found {found:.6}; {verdict:?}");
                if !verdict.is_valid() {
                    testing::noisy(&verdict.reason);
                }
                // However busy the host is, what is valid is right.
                testing::certainly!((found / 0.01 - 1.0).abs() <= 0.05, "{found}");
            });
        });
    }

    #[test]
    fn the_throughput_of_a_cap_is_within_a_two_hundredth() {
        testing::alone_as_root(|| {
            const CAP_PPS: u32 = 20_000;
            // From further off the search takes as many trials more, each of 1.6 s.
            let (floor_pps, ceiling_pps) = match testing::is_thorough() {
                true => (1_000.0, 60_000.0),
                false => (19_000.0, 21_000.0),
            };
            with(Plant::CapPps(CAP_PPS), |device, _| {
                let mut search = Throughput::new(ThroughputGoal {
                    floor_pps,
                    ceiling_pps,
                    ceiling: Ceiling::Line,
                    resolution: 0.002,
                    // A bucket of 64 frames is full when a trial begins: the rate is so
                    // much above the cap at most.
                    loss_ratio_max: 0.0,
                    confirmations: 1,
                })
                .unwrap();
                let claim = Claim::WITHOUT_LOSS;
                let found = drive(&mut search, |request| {
                    // So long that the bucket of 64 frames is two thousandths.
                    let tried = device.trial(&ask(request.rate_pps, 1_600), &|| true)?;
                    let one = &tried.directions[0];
                    let outcome = tried.outcome(claim);
                    println!(
                        "{:.0} frames/s: {} lost; {}",
                        request.rate_pps,
                        one.lost(),
                        outcome.verdict.reason,
                    );
                    Ok::<_, ExternalError>(outcome)
                })
                .unwrap();
                if !found.verdict.is_valid() {
                    testing::noisy(&found.verdict.reason);
                }
                let rate = found.rate_pps.unwrap();
                let off = rate / f64::from(CAP_PPS) - 1.0;
                testing::certainly!(off.abs() <= 0.005, "{off:+.4}");
            });
        });
    }

    #[test]
    fn a_delay_is_the_shortest_latency() {
        testing::alone_as_root(|| {
            with(Plant::DelayUs(2_000), |device, _| {
                let tried = trial(device, &ask(2_000.0, 500));
                let mut latency = trial::Histogram::new();
                latency.merge(&tried.directions[0].received.latency);
                let quantile = |share| latency.quantile_ns(share).unwrap();
                let (least, median) = (quantile(0.0), quantile(0.5));
                println!("planted 2 ms: least {least} ns, median {median} ns");
                // A histogram's bucket is a hundredth wide.
                testing::certainly!(least >= 1_980_000, "{least}");
                if median > 2_200_000 {
                    testing::noisy(format!("a median latency of {median} ns"));
                }
            });
        });
    }
}
