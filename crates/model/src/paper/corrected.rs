//! The equations with the units put right: a group is `L` of the `V·2^20`
//! bytes of each second, whatever the size of a request.
//!
//! What is then left of the paper's argument: interrupts cost speed, but
//! nothing here makes a speed *fall* as requests grow. With a fixed number of
//! interrupts a request the speed rises towards `L/t` for ever. A fall needs
//! a cause that these equations do not have, and [`cause`](crate::cause) is
//! how to find it.

use super::Device;

const MIB: f64 = 1_048_576.0;

/// (3): `n = V·2^20/L`, groups/s.
pub fn groups_per_s(device: &Device, speed_mib_per_s: f64) -> f64 {
    speed_mib_per_s * MIB / device.group_bytes
}

/// (4): `I ≤ (1 − V·2^20·t/L)/T`, interrupts/s at most. `B` has gone, and with
/// it (5): at a given speed, requests of any size leave as much time for
/// interrupts.
pub fn interrupts_per_s_max(device: &Device, speed_mib_per_s: f64) -> f64 {
    (1.0 - groups_per_s(device, speed_mib_per_s) * device.group_s) / device.interrupt_s
}

/// (6): `V ≤ (1 − T·I)·L/(2^20·t)`, MiB/s; 0 where interrupts take all time.
pub fn speed_mib_per_s_max(device: &Device, interrupts_per_s: f64) -> f64 {
    let left = 1.0 - device.interrupt_s * interrupts_per_s;
    left.max(0.0) * speed_limit_mib_per_s(device)
}

/// `L/(2^20·t)`, MiB/s: the speed without interrupts.
pub fn speed_limit_mib_per_s(device: &Device) -> f64 {
    device.group_bytes / (MIB * device.group_s)
}

/// (7), second line: `∂V/∂I = −T·L/(2^20·t)`, MiB/s per interrupt/s. The
/// first, `∂V/∂B` at a given `I`, is zero.
pub fn speed_by_interrupts(device: &Device) -> f64 {
    -device.interrupt_s * speed_limit_mib_per_s(device)
}

/// What (6) becomes when interrupts follow requests, `interrupts_per_request`
/// of them each (1 without moderation, less with it, more on a device that
/// cuts requests up): `V = 1/(2^20·(t/L + r·T/B))`, MiB/s. Rises with `B`
/// wherever `r` does not grow faster than `B` does.
pub fn speed_mib_per_s(device: &Device, block_bytes: f64, interrupts_per_request: f64) -> f64 {
    let byte_s = device.group_s / device.group_bytes
        + interrupts_per_request * device.interrupt_s / block_bytes;
    1.0 / (MIB * byte_s)
}

/// (8): `T·I₀ + 2^20·V_max·t/L = 1`, solved for `T`, s: what an interrupt
/// costs if `V_max` was reached at `I₀` on a core with nothing else to do.
///
/// Still one relation for three unknowns; `t/L` has to be known, from a polled
/// measurement for one.
pub fn interrupt_s(device: &Device, speed_max_mib_per_s: f64, ideal_interrupts_per_s: f64) -> f64 {
    (1.0 - groups_per_s(device, speed_max_mib_per_s) * device.group_s) / ideal_interrupts_per_s
}

/// (10): the speed under a cap, MiB/s, where enough requests are in flight
/// that the cap does not starve the client (the paper has no depth;
/// [`capacity`](crate::capacity) has).
pub fn capped_speed_mib_per_s(
    device: &Device,
    block_bytes: f64,
    interrupts_per_request: f64,
    cap_per_s: f64,
) -> f64 {
    let uncapped = speed_mib_per_s(device, block_bytes, interrupts_per_request);
    let interrupts_per_s = interrupts_per_request * uncapped * MIB / block_bytes;
    speed_mib_per_s_max(device, interrupts_per_s.min(cap_per_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::Load;
    use crate::close;

    /// T = 10 µs, t = 20 ns, L = 16 bytes: at most 800 MB/s.
    fn device() -> Device {
        Device::new(1e-5, 2e-8, 16.0).unwrap()
    }

    #[test]
    fn each_equation_gives_what_it_says() {
        let device = device();
        close(groups_per_s(&device, 100.0), 6_553_600.0);
        // (1 - 6553600 · 20 ns) / 10 µs
        close(interrupts_per_s_max(&device, 100.0), 86_892.8);
        close(speed_limit_mib_per_s(&device), 762.939_453_125);
        // 1 - 0.0645 of it
        close(speed_mib_per_s_max(&device, 6450.0), 713.729_858_398_437_5);
        close(speed_by_interrupts(&device), -0.007_629_394_531_25);
        assert_eq!(speed_mib_per_s_max(&device, 2e5), 0.0);
        close(interrupt_s(&device, 713.729_858_398_437_5, 6450.0), 1e-5);
    }

    #[test]
    fn a_speed_rises_with_the_request_size_for_ever() {
        let device = device();
        let mut last = 0.0;
        for power in 9..24 {
            let speed = speed_mib_per_s(&device, f64::from(1 << power), 1.0);
            assert!(speed > last && speed < speed_limit_mib_per_s(&device));
            last = speed;
        }
    }

    #[test]
    fn interrupts_that_grow_faster_than_requests_make_it_fall() {
        let device = device();
        let at = |block: f64| speed_mib_per_s(&device, block, (block / 16_384.0).powi(2));
        assert!(at(65_536.0) < at(32_768.0) && at(32_768.0) < at(16_384.0));
    }

    #[test]
    fn it_is_the_capacity_equation_without_a_price_of_a_request() {
        let device = device();
        let costs = device.costs().unwrap();
        for block in [512.0, 16_384.0, 65_536.0] {
            let load = Load::new(block, 64.0).unwrap();
            let uncapped = costs.predict(&load);
            close(
                speed_mib_per_s(&device, block, 1.0),
                uncapped.bytes_per_s / MIB,
            );
            let cap = costs.best_cap_per_s(&load) * 2.0;
            let capped = costs.predict(&load.capped(cap).unwrap());
            close(
                capped_speed_mib_per_s(&device, block, 1.0, cap),
                capped.bytes_per_s / MIB,
            );
        }
    }
}
