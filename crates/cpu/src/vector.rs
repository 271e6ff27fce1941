//! Integer and floating-point work on registers of a tier's width: what a wider
//! register alone gives, with no memory in the way.

use crate::Tier;

/// Numbers iterated at a time: four registers of the widest.
const FLOATS: usize = 64;
const INTEGERS: usize = 128;
/// Registers in flight: fewer would wait for each other's products.
const CHAINS: usize = 4;
/// Iterations in one call.
const LAPS: u64 = 1024;
/// The constant of the iteration, small enough that every point stays near 0.
const CONSTANT: (f32, f32) = (-0.2, 0.1);
/// Fraction bits of an integer.
const FRACTION: i32 = 12;

/// What is computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Fixed-point numbers of 16 bits.
    Integers,
    /// Single precision.
    Floats,
}

/// Complex numbers, each squared and added to a constant again and again: a Julia
/// set, as multimedia benchmarks have it.
#[derive(Clone, Debug)]
pub struct Vectors {
    points: Points,
    tier: Tier,
}

#[derive(Clone, Debug)]
enum Points {
    Integers(Box<Plane<i16, INTEGERS>>),
    Floats(Box<Plane<f32, FLOATS>>),
}

#[derive(Clone, Debug, PartialEq)]
struct Plane<T, const N: usize> {
    re: [T; N],
    im: [T; N],
    constant: (T, T),
}

impl Vectors {
    /// Uses what `tier` has and no more; none where this CPU has less.
    #[must_use]
    pub fn new(numbers: Numbers, tier: Tier) -> Option<Self> {
        let part = |at: usize, all: usize| at as f32 / all as f32 - 0.5;
        let fixed = |value: f32| (value * (1 << FRACTION) as f32) as i16;
        let points = match numbers {
            Numbers::Integers => Points::Integers(Box::new(Plane {
                re: std::array::from_fn(|at| fixed(part(at, INTEGERS))),
                im: std::array::from_fn(|at| fixed(part(at * 7 % INTEGERS, INTEGERS))),
                constant: (fixed(CONSTANT.0), fixed(CONSTANT.1)),
            })),
            Numbers::Floats => Points::Floats(Box::new(Plane {
                re: std::array::from_fn(|at| part(at, FLOATS)),
                im: std::array::from_fn(|at| part(at * 7 % FLOATS, FLOATS)),
                constant: CONSTANT,
            })),
        };
        is_there(tier).then_some(Self { points, tier })
    }

    /// Iterates for some microseconds; how many numbers were iterated once.
    pub fn pass(&mut self) -> u64 {
        match &mut self.points {
            Points::Integers(plane) => {
                integers(self.tier, plane);
                LAPS * INTEGERS as u64
            }
            Points::Floats(plane) => {
                floats(self.tier, plane);
                LAPS * FLOATS as u64
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn is_there(_: Tier) -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn integers(_: Tier, _: &mut Plane<i16, INTEGERS>) {}

#[cfg(not(target_arch = "x86_64"))]
fn floats(_: Tier, _: &mut Plane<f32, FLOATS>) {}

#[cfg(target_arch = "x86_64")]
use x86::{floats, integers, is_there};

#[cfg(target_arch = "x86_64")]
#[expect(
    unsafe_code,
    reason = "SIMD: loads, stores, and calls of what a CPU has"
)]
mod x86 {
    use std::arch::x86_64::*;

    use super::{CHAINS, FLOATS, INTEGERS, LAPS, Plane, Tier};

    pub(super) fn is_there(tier: Tier) -> bool {
        match tier {
            Tier::None | Tier::Aesni => true,
            Tier::Avx => is_x86_feature_detected!("avx"),
            Tier::Avx2 | Tier::Vaes => is_x86_feature_detected!("avx2"),
            Tier::Avx512 => {
                is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
            }
        }
    }

    /// AVX widens floating-point numbers alone.
    pub(super) fn integers(tier: Tier, plane: &mut Plane<i16, INTEGERS>) {
        // SAFETY: `is_there` was asked of the tier.
        unsafe {
            match tier {
                Tier::None | Tier::Aesni | Tier::Avx => integers_128(plane),
                Tier::Avx2 | Tier::Vaes => integers_256(plane),
                Tier::Avx512 => integers_512(plane),
            }
        }
    }

    pub(super) fn floats(tier: Tier, plane: &mut Plane<f32, FLOATS>) {
        // SAFETY: `is_there` was asked of the tier.
        unsafe {
            match tier {
                Tier::None | Tier::Aesni => floats_128(plane),
                Tier::Avx | Tier::Avx2 | Tier::Vaes => floats_256(plane),
                Tier::Avx512 => floats_512(plane),
            }
        }
    }

    macro_rules! iterate {
        ($name:ident, $features:literal, $number:ty, $all:ident, $lanes:literal,
         $load:ident, $store:ident, $set:ident, $add:ident, $sub:ident, $mul:ident) => {
            #[target_feature(enable = $features)]
            fn $name(plane: &mut Plane<$number, $all>) {
                let (cr, ci) = ($set(plane.constant.0), $set(plane.constant.1));
                for from in (0..$all).step_by(CHAINS * $lanes) {
                    let re = plane.re[from..from + CHAINS * $lanes].as_mut_ptr();
                    let im = plane.im[from..from + CHAINS * $lanes].as_mut_ptr();
                    let mut chains = [(cr, ci); CHAINS];
                    for (at, (x, y)) in chains.iter_mut().enumerate() {
                        // SAFETY: the slices hold that many registers.
                        unsafe {
                            *x = $load(re.add(at * $lanes).cast());
                            *y = $load(im.add(at * $lanes).cast());
                        }
                    }
                    for _ in 0..LAPS {
                        for (x, y) in &mut chains {
                            let (xx, yy, xy) = ($mul(*x, *x), $mul(*y, *y), $mul(*x, *y));
                            *x = $add($sub(xx, yy), cr);
                            *y = $add($add(xy, xy), ci);
                        }
                    }
                    for (at, (x, y)) in chains.into_iter().enumerate() {
                        // SAFETY: as above.
                        unsafe {
                            $store(re.add(at * $lanes).cast(), x);
                            $store(im.add(at * $lanes).cast(), y);
                        }
                    }
                }
            }
        };
    }

    macro_rules! product {
        ($name:ident, $features:literal, $register:ty, $mulhi:ident, $shift:ident) => {
            /// Of two fixed-point numbers: 4 is 16 bits less the fraction.
            #[inline]
            #[target_feature(enable = $features)]
            fn $name(a: $register, b: $register) -> $register {
                $shift::<4>($mulhi(a, b))
            }
        };
    }

    product!(
        product_128,
        "sse2",
        __m128i,
        _mm_mulhi_epi16,
        _mm_slli_epi16
    );
    product!(
        product_256,
        "avx2",
        __m256i,
        _mm256_mulhi_epi16,
        _mm256_slli_epi16
    );
    product!(
        product_512,
        "avx512bw",
        __m512i,
        _mm512_mulhi_epi16,
        _mm512_slli_epi16
    );

    iterate!(
        integers_128,
        "sse2",
        i16,
        INTEGERS,
        8,
        _mm_loadu_si128,
        _mm_storeu_si128,
        _mm_set1_epi16,
        _mm_add_epi16,
        _mm_sub_epi16,
        product_128
    );
    iterate!(
        integers_256,
        "avx2",
        i16,
        INTEGERS,
        16,
        _mm256_loadu_si256,
        _mm256_storeu_si256,
        _mm256_set1_epi16,
        _mm256_add_epi16,
        _mm256_sub_epi16,
        product_256
    );
    iterate!(
        integers_512,
        "avx512f,avx512bw",
        i16,
        INTEGERS,
        32,
        _mm512_loadu_si512,
        _mm512_storeu_si512,
        _mm512_set1_epi16,
        _mm512_add_epi16,
        _mm512_sub_epi16,
        product_512
    );
    iterate!(
        floats_128,
        "sse2",
        f32,
        FLOATS,
        4,
        _mm_loadu_ps,
        _mm_storeu_ps,
        _mm_set1_ps,
        _mm_add_ps,
        _mm_sub_ps,
        _mm_mul_ps
    );
    iterate!(
        floats_256,
        "avx",
        f32,
        FLOATS,
        8,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_set1_ps,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_mul_ps
    );
    iterate!(
        floats_512,
        "avx512f",
        f32,
        FLOATS,
        16,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_set1_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(a: i16, b: i16) -> i16 {
        ((i32::from(a) * i32::from(b)) >> 16 << (16 - FRACTION)) as i16
    }

    fn scalar(points: &mut Points) {
        match points {
            Points::Integers(plane) => {
                let (cr, ci) = plane.constant;
                for (x, y) in plane.re.iter_mut().zip(&mut plane.im) {
                    for _ in 0..LAPS {
                        let (xx, yy, xy) = (product(*x, *x), product(*y, *y), product(*x, *y));
                        *x = xx.wrapping_sub(yy).wrapping_add(cr);
                        *y = xy.wrapping_add(xy).wrapping_add(ci);
                    }
                }
            }
            Points::Floats(plane) => {
                let (cr, ci) = plane.constant;
                for (x, y) in plane.re.iter_mut().zip(&mut plane.im) {
                    for _ in 0..LAPS {
                        let (xx, yy, xy) = (*x * *x, *y * *y, *x * *y);
                        (*x, *y) = (xx - yy + cr, xy + xy + ci);
                    }
                }
            }
        }
    }

    /// Bit by bit: widths differ in speed alone.
    #[test]
    fn every_tier_computes_what_a_scalar_loop_does() {
        for numbers in [Numbers::Integers, Numbers::Floats] {
            for tier in Tier::ALL.into_iter().filter(|tier| is_there(*tier)) {
                let mut vectors = Vectors::new(numbers, tier).unwrap();
                let mut expected = vectors.points.clone();
                let begin = format!("{expected:?}");
                scalar(&mut expected);
                assert!(vectors.pass() > 0);
                assert_eq!(
                    format!("{:?}", vectors.points),
                    format!("{expected:?}"),
                    "{tier:?}"
                );
                assert_ne!(format!("{expected:?}"), begin);
            }
        }
    }
}
