//! The equations as printed, to check the paper against its text.
//! Nothing else in Lockgate computes with them: where the units do not add
//! up, [`corrected`](super::corrected) says what does.

use super::Device;

/// (1), its left side: `T·I + t₀`, seconds of each second; the paper demands
/// at most 1.
pub fn used_s(device: &Device, interrupts_per_s: f64, computing_s: f64) -> f64 {
    device.interrupt_s * interrupts_per_s + computing_s
}

/// (2): `t₀ = n·t`, seconds of computing for `n` groups.
pub fn computing_s(device: &Device, groups: f64) -> f64 {
    groups * device.group_s
}

/// (3): `n = 1024·V·L/B`.
///
/// As printed. Its unit is not groups: those are `V·2^20/L`, and have nothing
/// to do with `B`. The paper's (4) to (10) inherit this.
pub fn groups(device: &Device, speed: f64, block_bytes: f64) -> f64 {
    1024.0 * speed * device.group_bytes / block_bytes
}

/// (4): `I ≤ 1/T − 1024·V·L·t/(T·B)`, interrupts/s at most.
///
/// As printed, hence with (3)'s units.
pub fn interrupts_per_s_max(device: &Device, speed: f64, block_bytes: f64) -> f64 {
    let computing = 1024.0 * speed * device.group_bytes * device.group_s / block_bytes;
    (1.0 - computing) / device.interrupt_s
}

/// (5): `dI/dB = 1024·V·L·t/(T·B²)`, interrupts/s per byte.
///
/// As printed. That interrupts rise with the request size follows from (3)'s
/// slip alone, and from holding `V` while `B` changes; with (3) corrected the
/// derivative is zero.
pub fn interrupts_by_block(device: &Device, speed: f64, block_bytes: f64) -> f64 {
    1024.0 * speed * device.group_bytes * device.group_s
        / (device.interrupt_s * block_bytes * block_bytes)
}

/// (6): `V ≤ B/(1024·L·t) − B·T·I/(1024·L)`.
///
/// As printed. The second term lacks a `t` below the line: it follows from
/// (1) to (3) as `B·T·I/(1024·L·t)`.
pub fn speed_max(device: &Device, block_bytes: f64, interrupts_per_s: f64) -> f64 {
    let per_group = block_bytes / (1024.0 * device.group_bytes);
    per_group / device.group_s - per_group * device.interrupt_s * interrupts_per_s
}

/// (7), first line: `∂V/∂B = (1 − T·I)/(1024·L·t)`, speed per byte.
///
/// As printed. It has the `t` that (6) lacks; it is never zero but at
/// `I = 1/T`, where the speed itself is zero, so that it proves no maximum.
pub fn speed_by_block(device: &Device, interrupts_per_s: f64) -> f64 {
    (1.0 - device.interrupt_s * interrupts_per_s) / (1024.0 * device.group_bytes * device.group_s)
}

/// (7), second line: `∂V/∂I = −T·B/(1024·L)`, speed per interrupt/s.
///
/// As printed: lacks the `t` below the line, as (6).
pub fn speed_by_interrupts(device: &Device, block_bytes: f64) -> f64 {
    -device.interrupt_s * block_bytes / (1024.0 * device.group_bytes)
}

/// (8): `T·I₀ + 1024·V_max·L·t/B₀ = 1`, solved for `I₀`, interrupts/s.
///
/// As printed. One relation in three unknowns (`I₀`, `V_max`, `B₀`): two must
/// be measured before it says the third, and the paper says itself that `I₀`
/// "needs to be measured". It is (4) with an equals sign.
pub fn ideal_interrupts_per_s(device: &Device, speed_max: f64, best_block_bytes: f64) -> f64 {
    interrupts_per_s_max(device, speed_max, best_block_bytes)
}

/// (9): `B` below `B₀`, from there on `⌈B/B₀⌉·B₀`, bytes.
///
/// As printed: a request that is no multiple of `B₀` grows. See
/// [`split_pieces`](super::split_pieces) for what splitting does.
pub fn processed_bytes(block_bytes: f64, best_block_bytes: f64) -> f64 {
    if block_bytes < best_block_bytes {
        block_bytes
    } else {
        (block_bytes / best_block_bytes).ceil() * best_block_bytes
    }
}

/// (10): (6) while `I < I₀` and `B < B₀`, and (6) at `B₀` and `I₀` from `B₀`
/// on.
///
/// As printed, hence without (6)'s `t`. It says nothing of `B < B₀` with
/// `I ≥ I₀`: `None`.
pub fn speed(
    device: &Device,
    block_bytes: f64,
    interrupts_per_s: f64,
    best_block_bytes: f64,
    ideal_interrupts_per_s: f64,
) -> Option<f64> {
    if block_bytes >= best_block_bytes {
        Some(speed_max(device, best_block_bytes, ideal_interrupts_per_s))
    } else if interrupts_per_s < ideal_interrupts_per_s {
        Some(speed_max(device, block_bytes, interrupts_per_s))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close;

    fn device() -> Device {
        Device::new(1e-5, 2e-8, 16.0).unwrap()
    }

    /// Worked by hand with B = 16,384, V = 100, I = 6450.
    #[test]
    fn each_equation_gives_what_it_says() {
        let device = device();
        close(used_s(&device, 6450.0, 0.5), 0.5645);
        close(computing_s(&device, 1e6), 0.02);
        // 1024 · 100 · 16 / 16384
        close(groups(&device, 100.0, 16_384.0), 100.0);
        // 10^5 - 1024 · 100 · 16 · 2e-8 / (1e-5 · 16384) = 10^5 - 0.2
        close(interrupts_per_s_max(&device, 100.0, 16_384.0), 99_999.8);
        close(
            interrupts_by_block(&device, 100.0, 16_384.0),
            0.2 / 16_384.0,
        );
        // 16384 / (1024 · 16 · 2e-8) - 16384 · 1e-5 · 6450 / (1024 · 16)
        close(speed_max(&device, 16_384.0, 6450.0), 5e7 - 0.0645);
        // (1 - 0.0645) / (1024 · 16 · 2e-8)
        close(speed_by_block(&device, 6450.0), 0.9355 / 3.2768e-4);
        close(speed_by_interrupts(&device, 16_384.0), -1e-5);
        close(ideal_interrupts_per_s(&device, 100.0, 16_384.0), 99_999.8);
    }

    #[test]
    fn requests_from_the_best_size_on_are_rounded_up() {
        close(processed_bytes(16_383.0, 16_384.0), 16_383.0);
        close(processed_bytes(16_384.0, 16_384.0), 16_384.0);
        close(processed_bytes(40_000.0, 16_384.0), 49_152.0);
    }

    #[test]
    fn the_last_equation_has_a_gap() {
        let device = device();
        let at = |block, interrupts| speed(&device, block, interrupts, 16_384.0, 6450.0);
        assert_eq!(at(65_536.0, 9000.0), Some(5e7 - 0.0645));
        assert_eq!(at(1024.0, 100.0), Some(speed_max(&device, 1024.0, 100.0)));
        assert_eq!(at(1024.0, 6450.0), None);
    }

    /// The derivatives are not all those of (6): what the remarks rest on.
    #[test]
    fn the_slips_are_there() {
        let device = device();
        let slope = (speed_max(&device, 16_384.0, 6451.0) - speed_max(&device, 16_384.0, 6450.0))
            / speed_by_interrupts(&device, 16_384.0);
        assert!(
            (slope - 1.0).abs() < 1e-2,
            "(7), second line, is (6)'s: {slope}"
        );
        let by_block = (speed_max(&device, 16_385.0, 6450.0)
            - speed_max(&device, 16_384.0, 6450.0))
            / speed_by_block(&device, 6450.0);
        assert!(by_block > 1.05, "(7), first line, is not: {by_block}");
    }
}
