//! A crypto device, its client and their cores, as formulas: what a lab would
//! measure of it, and the truth about why it slows.

use lockgate_model as model;
use model::cause::{Case, Cause, Effect, Experiments, Point};
use trial::stats::{Interval, Random};

/// What slows large requests, one of each kind; neutral where not planted.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// Notifications a request grow as (block / `interrupt_bytes`) to this
    /// power beyond that size.
    pub interrupt_power: f64,
    pub interrupt_growth: f64,
    pub interrupt_bytes: f64,
    pub miss_factor: f64,
    pub cache_bytes: f64,
    /// Fixed cost of each piece of a request above `piece_bytes`, times the
    /// number of pieces to `piece_power`.
    pub piece_ns: f64,
    pub piece_power: f64,
    pub piece_bytes: f64,
    /// Price of preparing a byte in requests beyond `prepare_bytes`, over that
    /// below.
    pub prepare_factor: f64,
    pub prepare_bytes: f64,
    pub window_bytes: f64,
}

pub const NOTHING: Planted = Planted {
    interrupt_power: 0.0,
    interrupt_growth: 0.0,
    interrupt_bytes: 16_384.0,
    miss_factor: 1.0,
    cache_bytes: 1e6,
    piece_ns: 0.0,
    piece_power: 1.0,
    piece_bytes: 16_384.0,
    prepare_factor: 1.0,
    prepare_bytes: 16_384.0,
    window_bytes: f64::INFINITY,
};

/// A host with what was planted in it.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    pub request_ns: f64,
    pub byte_ns: f64,
    pub notify_ns: f64,
    pub wake_ns: f64,
    pub latency_ns: f64,
    pub prepare_ns: f64,
    pub prepare_byte_ns: f64,
    pub depth: f64,
    pub together: f64,
    pub is_shared: bool,
    pub planted: Planted,
}

#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub block_bytes: f64,
    pub depth: f64,
    /// As many may share a notification; the depth, but to learn what a
    /// smaller depth costs by that.
    pub sharing: f64,
    pub is_polled: bool,
    pub is_moved: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Shown {
    pub bytes_per_s: f64,
    pub worker_share: f64,
    pub client_share: f64,
    pub in_flight: f64,
    pub notifications_per_s: f64,
}

pub const BLOCKS: [f64; 9] = [
    512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16_384.0, 32_768.0, 65_536.0, 131_072.0,
];

impl Load {
    fn at_depth(self, depth: f64) -> Self {
        Self {
            depth,
            sharing: depth,
            ..self
        }
    }
}

impl Device {
    /// The depth that the client reaches when it asks for `depth`.
    fn reached(&self, block: f64) -> f64 {
        (self.planted.window_bytes / block)
            .floor()
            .clamp(1.0, self.depth)
    }

    pub fn load(&self, block_bytes: f64) -> Load {
        let depth = self.reached(block_bytes);
        Load {
            block_bytes,
            depth,
            sharing: depth,
            is_polled: false,
            is_moved: false,
        }
    }

    fn generator_ns(&self, block: f64) -> f64 {
        let factor = if block > self.planted.prepare_bytes {
            self.planted.prepare_factor
        } else {
            1.0
        };
        self.prepare_ns + self.prepare_byte_ns * factor * block
    }

    fn service_ns(&self, load: &Load) -> f64 {
        let planted = &self.planted;
        let block = load.block_bytes;
        let over = (load.depth * block / planted.cache_bytes - 1.0).clamp(0.0, 1.0);
        let miss = 1.0 + (planted.miss_factor - 1.0) * over;
        let pieces = (block / planted.piece_bytes).ceil();
        let cut = if pieces > 1.0 {
            planted.piece_ns * pieces.powf(planted.piece_power)
        } else {
            0.0
        };
        self.request_ns + self.byte_ns * miss * block + cut
    }

    /// Notifications a request, and the price of each over that of a small one.
    fn notifications(&self, load: &Load) -> (f64, f64) {
        let planted = &self.planted;
        let beyond = (load.block_bytes / planted.interrupt_bytes).max(1.0);
        let together = self.together.min(load.sharing);
        (
            beyond.powf(planted.interrupt_power) / together,
            1.0 + planted.interrupt_growth * (beyond - 1.0),
        )
    }

    pub fn run(&self, load: &Load) -> Shown {
        let (each, price) = self.notifications(load);
        let paid = if load.is_polled { 0.0 } else { each * price };
        let worker = self.service_ns(load) + paid * self.notify_ns;
        let client = self.generator_ns(load.block_bytes) + 100.0 + paid * self.wake_ns;
        let latency = self.latency_ns * if load.is_polled { 0.05 } else { 1.0 };
        let round = (latency + worker + client) / load.depth;
        let request_ns = if self.is_shared && !load.is_moved {
            worker + client
        } else {
            worker.max(client).max(round)
        };
        let is_full = worker >= 0.95 * request_ns || round >= 0.95 * request_ns || self.is_shared;
        Shown {
            bytes_per_s: load.block_bytes / request_ns * 1e9,
            worker_share: worker / request_ns,
            client_share: client / request_ns,
            in_flight: load.depth * if is_full { 0.95 } else { 0.1 },
            notifications_per_s: if load.is_polled {
                0.0
            } else {
                each / request_ns * 1e9
            },
        }
    }

    fn generator_alone(&self, block: f64) -> f64 {
        block / self.generator_ns(block) * 1e9
    }

    /// Sizes of the highest speed, and of the lowest beyond it; none where
    /// nothing falls.
    pub fn fall(&self) -> Option<(f64, f64)> {
        let speed = |block: f64| self.run(&self.load(block)).bytes_per_s;
        let peak = BLOCKS
            .into_iter()
            .max_by(|left, right| speed(*left).total_cmp(&speed(*right)))?;
        let fallen = BLOCKS
            .into_iter()
            .filter(|block| *block > peak)
            .min_by(|left, right| speed(*left).total_cmp(&speed(*right)))?;
        (speed(fallen) < speed(peak)).then_some((peak, fallen))
    }

    /// Which share of the fall it restores (at most all) when one thing is
    /// taken away: a notification's growth, the cache's misses, half of the
    /// depth's limit, the pieces (by not making them), the generator's growth.
    pub fn worth(&self, peak: f64, fallen: f64, cause: Cause) -> f64 {
        let mut planted = self.planted;
        let mut load = self.load(fallen);
        match cause {
            Cause::Notifications => {
                planted.interrupt_power = 0.0;
                planted.interrupt_growth = 0.0;
                load.sharing = self.reached(peak);
            }
            Cause::WorkingSet => planted.miss_factor = 1.0,
            Cause::Depth => load = load.at_depth(2.0 * load.depth),
            Cause::Fragmentation => planted.piece_ns = 0.0,
            Cause::Generator => planted.prepare_factor = 1.0,
            Cause::None | Cause::Unknown => {}
        }
        let now = self.run(&self.load(fallen)).bytes_per_s;
        let loss = self.run(&self.load(peak)).bytes_per_s / now;
        let without = Self { planted, ..*self }.run(&load).bytes_per_s;
        let mut gain = (1.0 - now / without) / (1.0 - 1.0 / loss);
        if cause == Cause::Fragmentation {
            let split = Load {
                block_bytes: peak,
                ..load.at_depth(load.depth * fallen / peak)
            };
            gain = gain.min((1.0 - now / self.run(&split).bytes_per_s) / (1.0 - 1.0 / loss));
        }
        gain.min(1.0)
    }
}

pub struct Lab {
    pub sigma: f64,
    pub random: Random,
}

impl Lab {
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.random.unit()).sum::<f64>() - 6.0
    }

    /// A ratio as nine pairs give it, with a 95% interval.
    fn measured(&mut self, truth: f64) -> Interval {
        const PAIRS: f64 = 9.0;
        let error = self.sigma * 2.0_f64.sqrt() * 1.25 / PAIRS.sqrt();
        let estimate = truth * (error * self.normal()).exp();
        let reach = (2.3 * error).max(1e-4);
        Interval {
            estimate,
            low: estimate * (-reach).exp(),
            high: estimate * reach.exp(),
            confidence: 0.95,
        }
    }

    fn point(&mut self, device: &Device, block: f64) -> Point {
        let load = device.load(block);
        let shown = device.run(&load);
        let off = self.sigma * self.normal() / 3.0;
        Point {
            block_bytes: block,
            speed_mb_per_s: self.measured(shown.bytes_per_s / 1e6),
            depth: load.depth,
            in_flight: shown.in_flight,
            worker_share: (shown.worker_share * (1.0 + off)).clamp(0.0, 1.0),
            client_share: (shown.client_share * (1.0 - off)).clamp(0.0, 1.0),
            notifications_per_s: shown.notifications_per_s,
        }
    }

    pub fn case(&mut self, device: &Device, peak: f64, fallen: f64) -> Case {
        let at = device.load(fallen);
        let base = device.run(&at).bytes_per_s;
        let at_peak = device.load(peak);
        let base_at_peak = device.run(&at_peak).bytes_per_s;
        let small = at.at_depth((at_peak.depth * peak / fallen).max(1.0));
        let deeper = at.at_depth(at.depth * 2.0);
        let split = Load {
            block_bytes: peak,
            ..at.at_depth(at.depth * fallen / peak)
        };
        let polled = |load: Load| Load {
            is_polled: true,
            ..load
        };
        let moved = |load: Load| Load {
            is_moved: true,
            ..load
        };
        let mut ratio = |load: Load, base: f64| self.measured(device.run(&load).bytes_per_s / base);
        let experiments = Experiments {
            polled: Some(
                Effect::of(ratio(polled(at), base)).with_peak(ratio(polled(at_peak), base_at_peak)),
            ),
            small_footprint: Some(ratio(small, base)),
            deeper: Some(ratio(deeper, base)),
            other_placement: Some(
                Effect::of(ratio(moved(at), base)).with_peak(ratio(moved(at_peak), base_at_peak)),
            ),
            split: Some(ratio(split, base)),
            generator_only: Some(
                Effect::of(self.measured(device.generator_alone(fallen) / base))
                    .with_peak(self.measured(device.generator_alone(peak) / base_at_peak)),
            ),
        };
        Case {
            fall: Some(self.measured(base / base_at_peak)),
            experiments,
            ..Case::new(
                self.point(device, peak),
                self.point(device, fallen),
                device.is_shared,
            )
        }
    }
}

fn between(random: &mut Random, low: f64, high: f64) -> f64 {
    (low.ln() + (high / low).ln() * random.unit()).exp()
}

pub fn host(random: &mut Random) -> Device {
    let depths = [8.0, 16.0, 32.0, 64.0];
    let together = [1.0, 1.0, 4.0, 16.0];
    Device {
        request_ns: between(random, 50.0, 1000.0),
        byte_ns: between(random, 0.05, 1.0),
        notify_ns: between(random, 200.0, 3000.0),
        wake_ns: between(random, 200.0, 3000.0),
        latency_ns: between(random, 2000.0, 10_000.0),
        prepare_ns: between(random, 20.0, 200.0),
        prepare_byte_ns: between(random, 0.002, 0.03),
        depth: depths[random.below(4)],
        together: together[random.below(4)],
        is_shared: random.below(2) == 0,
        planted: NOTHING,
    }
}

/// Plants `cause` in `device`, stronger or weaker.
pub fn plant(device: &mut Device, cause: Cause, random: &mut Random) {
    let planted = &mut device.planted;
    let sizes = [8192.0, 16_384.0, 32_768.0];
    let size = sizes[random.below(3)];
    match cause {
        Cause::Notifications => {
            planted.interrupt_bytes = size;
            if random.below(2) == 0 {
                planted.interrupt_power = between(random, 1.5, 3.0);
            } else {
                planted.interrupt_growth = between(random, 3.0, 20.0);
            }
        }
        Cause::WorkingSet => {
            planted.miss_factor = between(random, 1.2, 4.0);
            planted.cache_bytes = size * device.depth;
        }
        Cause::Fragmentation => {
            planted.piece_bytes = size;
            planted.piece_ns = size * device.byte_ns * between(random, 0.2, 2.0);
            planted.piece_power = between(random, 1.0, 2.0);
        }
        Cause::Generator => {
            planted.prepare_bytes = size;
            planted.prepare_factor =
                device.byte_ns * between(random, 1.5, 6.0) / device.prepare_byte_ns;
        }
        Cause::Depth => {
            planted.window_bytes = size * 8.0;
            device.depth = 64.0;
            device.latency_ns = size * 8.0 * device.byte_ns * between(random, 0.2, 3.0);
            // On one shared core nothing waits for another.
            device.is_shared = false;
        }
        Cause::None | Cause::Unknown => {}
    }
}
