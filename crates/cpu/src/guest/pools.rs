//! How few pools of hosts a fleet needs, for a given loss.
//!
//! Guests move within a pool, so they see what all its hosts have. What a pool loses
//! depends on a [`Setting`] alone, and there are 24: so the best pools are found by
//! looking at every set of settings, whatever the number of hosts.

use super::Setting;

/// Hosts that are alike: as many, of one vendor, that have all of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Which vendor, as a number.
    pub vendor: usize,
    pub setting: Setting,
    pub hosts: usize,
}

/// Pools, and what they lose.
#[derive(Clone, Debug, PartialEq)]
pub struct Pools {
    /// The members of each, as places in the list of classes.
    pub members: Vec<Vec<usize>>,
    /// The greatest loss of a host.
    pub worst: f64,
    /// The mean loss of all hosts.
    pub mean: f64,
}

/// The best pools for each number of pools: those whose worst host loses least, of
/// these those that lose least in the mean. From the fewest, one a vendor, up to where
/// nothing is lost; numbers that gain nothing over fewer are left out. Empty where
/// there are no hosts.
///
/// `loss` says what a host of the first setting loses where it shows the second.
pub fn pools(classes: &[Class], loss: impl Fn(Setting, Setting) -> f64) -> Vec<Pools> {
    let hosts: usize = classes.iter().map(|class| class.hosts).sum();
    let mut vendors: Vec<_> = classes.iter().map(|class| class.vendor).collect();
    vendors.sort_unstable();
    vendors.dedup();
    let fronts = vendors.iter().map(|&vendor| {
        let own = (0..classes.len()).filter(|&class| classes[class].vendor == vendor);
        by_number(classes, &own.collect::<Vec<_>>(), &loss)
    });
    let Some(all) = fronts.reduce(|left, right| joined(&left, &right)) else {
        return Vec::new();
    };
    let mut curve: Vec<Pools> = Vec::new();
    for front in all {
        let Some(best) = front.into_iter().min_by(Found::compare) else {
            continue;
        };
        let own = Pools {
            worst: best.worst,
            mean: best.sum / hosts as f64,
            members: best.members,
        };
        let gain = |last: &Pools| (last.worst - own.worst).max(last.mean - own.mean);
        let is_better = |last: &Pools| gain(last) > 1e-12;
        if curve.last().is_none_or(is_better) {
            curve.push(own);
        }
    }
    curve
}

/// The fewest pools whose worst host loses no more than that.
pub fn within(curve: &[Pools], loss: f64) -> Option<&Pools> {
    curve.iter().find(|pools| pools.worst <= loss)
}

/// Pools of some classes: what the worst host loses, and all of them together.
#[derive(Clone, Debug)]
struct Found {
    worst: f64,
    sum: f64,
    members: Vec<Vec<usize>>,
}

impl Found {
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        let by_worst = self.worst.total_cmp(&other.worst);
        by_worst.then(self.sum.total_cmp(&other.sum))
    }
}

/// Adds what is not beaten in both by another, and drops what it beats.
fn add(front: &mut Vec<Found>, worst: f64, sum: f64, members: impl FnOnce() -> Vec<Vec<usize>>) {
    if front.iter().any(|own| own.worst <= worst && own.sum <= sum) {
        return;
    }
    front.retain(|own| own.worst < worst || own.sum < sum);
    let members = members();
    front.push(Found {
        worst,
        sum,
        members,
    });
}

/// By number of pools, from none: what is best for one vendor's classes.
fn by_number(
    classes: &[Class],
    own: &[usize],
    loss: impl Fn(Setting, Setting) -> f64,
) -> Vec<Vec<Found>> {
    // What the hosts of any pool have in common.
    let mut common: Vec<Setting> = own.iter().map(|&class| classes[class].setting).collect();
    loop {
        common.sort_unstable();
        common.dedup();
        let pairs = common
            .iter()
            .flat_map(|left| common.iter().map(|right| left.and(*right)));
        let more: Vec<_> = pairs.filter(|one| !common.contains(one)).collect();
        if more.is_empty() {
            break;
        }
        common.extend(more);
    }
    // For each class what its hosts could show, that which loses least first.
    let orders: Vec<Vec<(usize, f64)>> = (own.iter())
        .map(|&class| {
            let whole = classes[class].setting;
            let fitting = common
                .iter()
                .enumerate()
                .filter(|(_, shown)| shown.is_within(whole));
            let mut order: Vec<_> = fitting
                .map(|(one, shown)| (one, loss(whole, *shown)))
                .collect();
            order.sort_by(|left, right| left.1.total_cmp(&right.1));
            order
        })
        .collect();
    let mut fronts: Vec<Vec<Found>> = vec![Vec::new(); common.len() + 1];
    for set in 1..1_u32 << common.len() {
        let best =
            |order: &[(usize, f64)]| order.iter().find(|(one, _)| set >> one & 1 == 1).copied();
        let (mut worst, mut sum) = (0.0_f64, 0.0);
        let all_fit = own.iter().zip(&orders).all(|(&class, order)| {
            let Some((_, loss)) = best(order) else {
                return false;
            };
            worst = worst.max(loss);
            sum += loss * classes[class].hosts as f64;
            true
        });
        if !all_fit {
            continue;
        }
        add(&mut fronts[set.count_ones() as usize], worst, sum, || {
            let mut pools = vec![Vec::new(); common.len()];
            for (&class, order) in own.iter().zip(&orders) {
                pools[best(order).expect("all fit").0].push(class);
            }
            pools.retain(|pool| !pool.is_empty());
            pools
        });
    }
    fronts
}

/// By number of pools: what is best for two vendors together.
fn joined(left: &[Vec<Found>], right: &[Vec<Found>]) -> Vec<Vec<Found>> {
    let mut all = vec![Vec::new(); left.len() + right.len() - 1];
    for (one, left) in left.iter().enumerate() {
        for (other, right) in right.iter().enumerate() {
            for (left, right) in left
                .iter()
                .flat_map(|left| right.iter().map(move |one| (left, one)))
            {
                let (worst, sum) = (left.worst.max(right.worst), left.sum + right.sum);
                add(&mut all[one + other], worst, sum, || {
                    [&left.members[..], &right.members[..]].concat()
                });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::Tier;
    use crate::guest::{Mix, Prices, Work};

    /// Every way of putting that many things in pools.
    fn partitions(count: usize) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        for _ in 0..count {
            all = (all.iter())
                .flat_map(|of: &Vec<usize>| {
                    let next = of.iter().max().map_or(0, |last| last + 1);
                    (0..=next).map(move |pool| [&of[..], &[pool]].concat())
                })
                .collect();
        }
        all
    }

    fn class() -> impl Strategy<Value = Class> {
        (
            0_usize..2,
            0_usize..6,
            any::<bool>(),
            any::<bool>(),
            1_usize..50,
        )
            .prop_map(|(vendor, tier, has_sha, has_adx, hosts)| Class {
                vendor,
                setting: Setting {
                    tier: Tier::ALL[tier],
                    has_sha,
                    has_adx,
                },
                hosts,
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(64, 2000)))]

        /// Beside every way of putting the hosts in pools.
        #[test]
        fn no_other_pools_lose_less(
            classes in prop::collection::vec(class(), 1..7),
            times in prop::collection::vec(1.0_f64..9.0, 6),
            (without_sha, without_adx, share) in (0.9_f64..4.0, 0.9_f64..2.0, 0.0_f64..1.0),
        ) {
            let work = Work {
                by_tier: BTreeMap::from_iter(Tier::ALL.into_iter().zip(times)),
                without_sha,
                without_adx,
            };
            let works = BTreeMap::from([("work".to_owned(), work)]);
            let prices = Prices { origin: String::new(), works };
            let mix = Mix(vec![("work".to_owned(), share)]);
            let loss = |whole, shown| prices.loss(&mix, whole, shown);
            let curve = pools(&classes, loss);
            let hosts: usize = classes.iter().map(|class| class.hosts).sum();
            let mut best: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
            for of in partitions(classes.len()) {
                let count = of.iter().max().unwrap() + 1;
                let (mut worst, mut sum) = (0.0_f64, 0.0);
                let mut is_mixed = false;
                for pool in 0..count {
                    let own: Vec<_> = (of.iter().zip(&classes))
                        .filter(|(its, _)| **its == pool)
                        .map(|(_, class)| class)
                        .collect();
                    is_mixed |= own.iter().any(|class| class.vendor != own[0].vendor);
                    let shown = own.iter().map(|class| class.setting).reduce(Setting::and).unwrap();
                    for class in own {
                        let lost = loss(class.setting, shown);
                        worst = worst.max(lost);
                        sum += lost * class.hosts as f64;
                    }
                }
                if is_mixed {
                    continue;
                }
                let mean = sum / hosts as f64;
                let known = best.entry(count).or_insert((f64::MAX, f64::MAX));
                if (worst, mean) < *known {
                    *known = (worst, mean);
                }
            }
            for (count, (worst, mean)) in &best {
                // The last of the curve that has no more pools.
                let own = curve.iter().rfind(|own| own.members.len() <= *count);
                let own = own.expect("the fewest are one a vendor");
                prop_assert!(own.worst <= worst + 1e-9, "{own:?} {best:?}");
                prop_assert!(own.worst < worst - 1e-9 || own.mean <= mean + 1e-9, "{own:?} {best:?}");
            }
            for own in &curve {
                let mut members = own.members.concat();
                members.sort_unstable();
                prop_assert_eq!(members, (0..classes.len()).collect::<Vec<_>>());
                let (worst, mean) = best[&own.members.len()];
                prop_assert!((own.worst - worst).abs() < 1e-9 && own.mean >= mean - 1e-9);
            }
            prop_assert!(curve.last().unwrap().worst < 1e-9);
            prop_assert_eq!(within(&curve, 1.0), curve.first());
        }
    }

    #[test]
    fn no_hosts_need_no_pools() {
        assert_eq!(pools(&[], |_, _| 0.0), []);
    }
}
