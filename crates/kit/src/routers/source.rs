//! What source 004 says ("Evaluating and Optimizing the Forwarding Performance
//! of Virtual Router Based on Commodity Hardware", 2014): the figures that it
//! prints. Its charts have no numbers; of those only what the text says of
//! them is used.

/// What it was measured on (its table 1 and section 2.1).
pub const TEST_BED: &str = "two Xeon L5420 (8 cores), two ports of an Intel 82571EB at 1 Gbit/s each, Spirent TestCenter, RFC 2544 throughput, Linux routing between bridged ports";

/// One row of its table 2: Linux without virtualisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Native {
    /// With the frame check sequence.
    pub frame_bytes: u32,
    /// Of the theoretical maximum, percent.
    pub share_percent: f64,
    /// Over both ports.
    pub frames_per_s: f64,
    /// What two ports of 1 Gbit/s can carry.
    pub frames_per_s_max: f64,
}

/// Table 2.
pub const NATIVE: [Native; 3] = [
    Native {
        frame_bytes: 64,
        share_percent: 26.171,
        frames_per_s: 778_898.0,
        frames_per_s_max: 2_976_190.0,
    },
    Native {
        frame_bytes: 512,
        share_percent: 100.0,
        frames_per_s: 469_924.0,
        frames_per_s_max: 469_924.0,
    },
    Native {
        frame_bytes: 1518,
        share_percent: 100.0,
        frames_per_s: 162_548.0,
        frames_per_s_max: 162_548.0,
    },
];

/// Speed of each of its ports, Mbit/s.
pub const LINK_MBIT_PER_S: f64 = 1000.0;
/// How many ports its figures add up.
pub const PORTS: u32 = 2;

/// One row of its table 3: `iperf` through a guest, Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tcp {
    /// The router.
    pub router: &'static str,
    /// One connection, one way.
    pub one_way_mbit_per_s: f64,
    /// Both ways at once, each.
    pub both_ways_mbit_per_s: (f64, f64),
}

/// Table 3.
pub const TCP: [Tcp; 2] = [
    Tcp {
        router: "KVM, emulated card",
        one_way_mbit_per_s: 210.0,
        both_ways_mbit_per_s: (117.0, 332.0),
    },
    Tcp {
        router: "KVM, virtio",
        one_way_mbit_per_s: 749.0,
        both_ways_mbit_per_s: (555.0, 517.0),
    },
];

/// What its text says of figure 3 and of that row of figure 6.
pub const OS_LEVEL: &str =
    "OpenVZ forwards like native Linux but for small frames, where it is slower";
/// What its text says of figures 7 and 8.
pub const SCALING: &str = "the number of virtual routers changes the total little";

/// The row of table 2 for that size.
pub fn native(frame_bytes: u32) -> Option<Native> {
    let of = |row: &&Native| row.frame_bytes == frame_bytes;
    NATIVE.iter().find(of).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_2_is_what_two_ports_of_1_gbit_per_s_carry() {
        for row in NATIVE {
            let wire_bits = f64::from(row.frame_bytes + 20) * 8.0;
            let most = f64::from(PORTS) * LINK_MBIT_PER_S * 1e6 / wire_bits;
            assert!((most - row.frames_per_s_max).abs() < 1.0, "{row:?}: {most}");
            let share = row.frames_per_s / row.frames_per_s_max * 100.0;
            assert!((share - row.share_percent).abs() < 0.01, "{row:?}");
        }
    }
}
