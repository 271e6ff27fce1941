//! A router between two cables, in a namespace of its own: `t0 = d0 … d1 = t1`.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use lockgate_xdp::path::{Control, Decided, RouterPort};

use super::wires::{Elsewhere, ifindex, shell};

/// Ethernet addresses of the router's ports; the tester's end in 10 and 11.
pub const ROUTER: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 0x20], [2, 0, 0, 0, 0, 0x21]];

pub struct Bench {
    pub router: Elsewhere,
    pub ports: [RouterPort; 2],
    pub tester: [u32; 2],
}

impl Bench {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("lg{}x{number}", std::process::id() % 100_000);
        let router = Elsewhere::new();
        let netns = router.id;
        for side in 0..2 {
            let [t, d] = ["t", "d"].map(|kind| format!("{prefix}{kind}{side}"));
            shell(&format!(
                "ip link add {t} address 02:00:00:00:00:1{side} type veth \
                     peer name {d} address 02:00:00:00:00:2{side}
                 ip link set {d} netns {netns}
                 echo 1 > /proc/sys/net/ipv6/conf/{t}/disable_ipv6
                 ip link set {t} up"
            ));
        }
        let tester = [0, 1].map(|side| ifindex(&format!("{prefix}t{side}")));
        let ports = router.run(move || set_up_router(&prefix));
        Self {
            router,
            ports,
            tester,
        }
    }
}

fn set_up_router(prefix: &str) -> [RouterPort; 2] {
    shell(
        "echo 1 > /proc/sys/net/ipv4/ip_forward
         echo 1 > /proc/sys/net/ipv6/conf/all/forwarding",
    );
    [0_u8, 1].map(|side| {
        let link = format!("{prefix}d{side}");
        let (own, peer) = (1 + 4 * side, 2 + 4 * side);
        shell(&format!(
            "ip link set {link} up
             echo 0 > /proc/sys/net/ipv6/conf/{link}/accept_dad
             ip addr add 192.0.2.{own}/30 dev {link}
             ip addr add 2001:2:0:ff0{side}::1/126 dev {link} nodad
             ip neigh add 192.0.2.{peer} lladdr 02:00:00:00:00:1{side} dev {link} nud permanent
             ip neigh add 2001:2:0:ff0{side}::2 lladdr 02:00:00:00:00:1{side} dev {link} nud permanent
             ip route add 198.1{}.0.0/16 via 192.0.2.{peer}
             ip -6 route add 2001:2:0:{side}::/64 via 2001:2:0:ff0{side}::2",
            8 + side
        ));
        RouterPort {
            ifindex: ifindex(&link),
            address: ROUTER[usize::from(side)],
            vlan: None,
            strict_source: false,
                no_ipv6: false,
                decided: Decided::default(),
        }
    })
}

pub fn renew(control: &Control) {
    let look = control.look().unwrap();
    control.renew(look).unwrap();
}

pub fn while_watched<T>(control: &Control, body: impl FnOnce() -> T) -> T {
    struct Stop<'s>(&'s AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                renew(control);
                thread::sleep(Duration::from_millis(5));
            }
        });
        let _stop = Stop(&is_over);
        body()
    })
}
