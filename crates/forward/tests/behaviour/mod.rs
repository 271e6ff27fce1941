//! The fast paths behave as kernel routing does, packet by packet: the same
//! frame goes into two devices under test that differ in the path only, and all
//! that comes out of every port is compared byte for byte.

#![cfg(feature = "bpf")]

mod catalogue;
mod changes;
mod command;
mod deciders;
mod generated;
mod mutation;
mod normal;
mod plan;
mod probe;
mod raw;
mod rig;
mod settings;
mod subject;
mod suite;

use std::time::Duration;

use net::Journal;

use crate::behaviour::probe::Pair;
use crate::behaviour::rig::Rig;
use crate::behaviour::subject::Subject;

fn pair(subject: Subject) -> Option<Pair> {
    if !testing::is_root() {
        return None;
    }
    let journal = Journal::open().unwrap();
    let rig = |subject| Rig::new(&journal, subject);
    Some(Pair::new(rig(Subject::Kernel), rig(subject)))
}

fn on_pair(subject: Subject, test: fn(&mut Pair)) {
    testing::timed(|| {
        if let Some(mut pair) = pair(subject) {
            test(&mut pair);
        }
    });
}

macro_rules! behaves_as_the_kernel {
    ($name:ident, $subject:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn with_every_frame_of_the_catalogue() {
                on_pair($subject, suite::catalogue);
            }

            #[test]
            fn with_damaged_frames() {
                on_pair($subject, suite::mutations);
            }

            #[test]
            fn with_many_frames_at_once() {
                on_pair($subject, suite::bursts);
            }

            #[test]
            fn while_the_tables_change() {
                on_pair($subject, suite::changes);
            }

            #[test]
            fn with_unknown_neighbours() {
                on_pair($subject, suite::neighbours);
            }

            #[test]
            fn with_neighbours_that_do_not_answer() {
                on_pair($subject, suite::silence);
            }

            #[test]
            fn with_frames_that_go_back() {
                on_pair($subject, suite::redirects);
            }
        }
    };
}

/// For paths whose router hears of settings; a program alone does not.
macro_rules! follows_settings {
    ($name:ident, $subject:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn with_strict_sources() {
                on_pair($subject, settings::strict_sources);
            }

            #[test]
            fn with_ipv6_at_the_ports_only() {
                on_pair($subject, settings::ipv6_at_the_ports_only);
            }

            #[test]
            fn with_neighbours_that_fall_silent() {
                on_pair($subject, settings::stale_neighbours);
            }

            #[test]
            fn with_others_that_decide() {
                on_pair($subject, deciders::are_asked);
            }

            #[test]
            fn with_a_firewall_that_drops() {
                on_pair($subject, deciders::drop_what_they_drop);
            }

            #[test]
            fn with_routes_that_have_an_mtu() {
                on_pair($subject, settings::route_mtus);
            }

            #[test]
            fn with_routes_that_expire() {
                on_pair($subject, settings::expiring_routes);
            }

            #[test]
            fn with_several_next_hops() {
                on_pair($subject, settings::several_hops);
            }
        }
    };
}

// Two that are the same: the comparison itself holds.
behaves_as_the_kernel!(kernel, Subject::Kernel);
behaves_as_the_kernel!(xdp_fib, Subject::Fib);
behaves_as_the_kernel!(xdp_fib_cached, Subject::FibCached);
behaves_as_the_kernel!(xdp_cpumap, Subject::CpuMap);
behaves_as_the_kernel!(xdp_cpumap_fib, Subject::CpuMapFib);

follows_settings!(kernel_settings, Subject::Kernel);
follows_settings!(xdp_fib_settings, Subject::Fib);
follows_settings!(xdp_fib_cached_settings, Subject::FibCached);
follows_settings!(xdp_cpumap_settings, Subject::CpuMap);

mod any_settings {
    use super::*;

    fn with(subject: Subject, count: u32) {
        if testing::has_programs(&["ip"], "iproute2") {
            testing::timed_as_root(|| generated::any_settings(subject, count));
        }
    }

    #[test]
    fn kernel() {
        with(Subject::Kernel, 4);
    }

    #[test]
    fn xdp_fib() {
        with(Subject::Fib, 6);
    }

    #[test]
    fn xdp_fib_cached() {
        with(Subject::FibCached, 12);
    }
}

#[test]
fn every_path_that_routes_by_the_kernels_table_is_compared() {
    use lockgate_forward::router::path::Path;

    let paths = [
        Path::Kernel,
        Path::XdpFib,
        Path::XdpFibCached,
        Path::XdpCpumap,
    ];
    for path in paths {
        assert!(subject::of_bench(path).is_ok(), "{}", path.name());
    }
    for path in [
        Path::Bridge,
        Path::XdpDevmap,
        Path::AfXdp(Default::default()),
        Path::Testpmd,
    ] {
        let why = subject::of_bench(path).expect_err(path.name());
        println!("{} is not compared: {why}", path.name());
    }
}

mod seen {
    //! A difference that is there is found.

    use super::*;
    use crate::behaviour::catalogue::{plain4, plain6};

    fn differs(pair: &mut Pair, frame: &[u8]) -> bool {
        let difference = pair.compare(0, frame).err();
        difference.is_some_and(|difference| difference.0.contains("out of the subject's port"))
    }

    #[test]
    fn in_an_answer() {
        on_pair(Subject::Kernel, |pair| {
            let mut last = plain4(0);
            last = catalogue::edited4(last, |header| header[8] = 1);
            assert!(!differs(pair, &last));
            pair.subject
                .dut
                .set_sysctl("ipv4/ip_default_ttl", "77")
                .unwrap();
            assert!(differs(pair, &last));
        });
    }

    #[test]
    fn in_what_is_sent_on() {
        on_pair(Subject::Kernel, |pair| {
            assert!(!differs(pair, &plain6(0)));
            let mut netlink = pair.subject.dut.netlink().unwrap();
            let link = &pair.subject.links[1].0;
            netlink
                .set_neighbour(link, plan::TESTER_V6[1].into(), [2, 0, 0, 0, 9, 9])
                .unwrap();
            assert!(differs(pair, &plain6(0)));
            assert!(!differs(pair, &plain4(0)));
        });
    }

    #[test]
    fn in_what_is_dropped() {
        on_pair(Subject::Kernel, |pair| {
            let link = pair.subject.links[0].0.clone();
            let setting = format!("ipv4/conf/{link}/forwarding");
            pair.subject.dut.set_sysctl(&setting, "0").unwrap();
            assert!(differs(pair, &plain4(0)));
        });
    }

    #[test]
    fn in_a_path_that_takes_any_source() {
        on_pair(Subject::FibAnySource, |pair| {
            let mut spoofed = catalogue::across4(wire::protocol::UDP);
            let right = catalogue::udp4_with(&spoofed, b"data");
            assert!(!differs(pair, &right));
            spoofed.source = plan::DUT_V4[1];
            let frame = catalogue::udp4_with(&spoofed, b"data");
            // Frames are the kernel's while a watcher that gets no CPU is silent.
            let is_seen = (0..50).any(|_| {
                let differs = differs(pair, &frame);
                if !differs {
                    std::thread::sleep(Duration::from_millis(100));
                }
                differs
            });
            assert!(is_seen);
        });
    }

    #[test]
    fn in_a_dut_that_is_mute() {
        on_pair(Subject::Wire, |pair| {
            pair.mute_after = Duration::from_secs(2);
            let difference = pair.compare(0, &plain4(0)).err().unwrap().0;
            assert!(difference.contains("subject DUT is mute"), "{difference}");
        });
    }
}
