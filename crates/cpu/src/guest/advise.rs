//! Which CPU to show the guests of some hosts.

use std::collections::BTreeMap;

use super::{
    Accelerator, Catalogue, Choice, Class, Flags, Known, Mix, Pools, Prices, QemuVersion, Setting,
    choose, lacks, pools, within,
};
use crate::Vendor;

/// A host that guests may run on.
#[derive(Clone, Debug)]
pub struct Host {
    pub name: String,
    pub known: Known,
    pub physical_bits: Option<u32>,
    /// Its QEMU, where it has one.
    pub qemu: Option<QemuVersion>,
    /// Its clock's frequency, where it is known.
    pub tsc_hz: Option<u64>,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub hosts: &'a [Host],
    pub catalogue: &'a Catalogue,
    pub accelerator: Accelerator,
    /// What the emulator shows, whatever the host: it takes the place of what hosts offer.
    pub emulated: Option<Flags>,
    pub prices: &'a Prices,
    pub mix: &'a Mix,
    /// What the worst host may lose of its speed, 0 to 1.
    pub loss_max: f64,
}

/// Hosts among which a guest moves, and the CPU it is shown.
#[derive(Clone, Debug)]
pub struct Pool {
    pub vendor: Vendor,
    pub choice: Choice,
    /// The oldest QEMU that is known of these hosts.
    pub oldest: Option<QemuVersion>,
    pub physical_bits: Option<u32>,
    /// Which hosts, alike ones together, that which loses most first.
    pub members: Vec<Member>,
    /// Whether clocks are known to differ.
    pub has_many_clocks: bool,
}

/// Hosts that offer the same.
#[derive(Clone, Debug)]
pub struct Member {
    /// Places in the list of hosts.
    pub hosts: Vec<usize>,
    /// What these hosts could show and this pool hides.
    pub hidden: Flags,
    pub whole: Setting,
    pub loss: f64,
}

#[derive(Clone, Debug)]
pub struct Advice {
    /// What the fewest pools lose, and more of them.
    pub curve: Vec<Pools>,
    /// The fewest pools that keep the loss, or where none do, those that lose least.
    pub pools: Vec<Pool>,
    pub worst: f64,
    pub mean: f64,
}

/// Why there is no advice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdviseError {
    #[error("there is no host to advise for; give at least one (`--hosts FILE`)")]
    NoHosts,
    #[error(
        "no 64-bit model of {origin} fits all of {hosts}: what they have in common lacks {lacks}; give hosts that are alike, probes taken on the hosts themselves, and QEMU 7.2 or newer"
    )]
    NothingFits {
        origin: String,
        hosts: String,
        lacks: String,
    },
}

/// Advises. Hosts are told apart by what they offer, so that ten thousand hosts of a
/// few kinds take no longer than these kinds.
///
/// # Errors
/// [`AdviseError`]
pub fn advise(question: &Question<'_>) -> Result<Advice, AdviseError> {
    let mut kinds: BTreeMap<(String, Flags), Vec<usize>> = BTreeMap::new();
    for (index, host) in question.hosts.iter().enumerate() {
        let offered = question.emulated.unwrap_or_else(|| host.known.offered());
        let vendor = match question.emulated {
            // What is emulated is the same on every host.
            Some(_) => String::new(),
            None => host.known.vendor.name().to_owned(),
        };
        kinds.entry((vendor, offered)).or_default().push(index);
    }
    let kinds: Vec<_> = kinds.into_iter().collect();
    let mut vendors: Vec<_> = kinds
        .iter()
        .map(|((vendor, _), _)| vendor.clone())
        .collect();
    vendors.dedup();
    // Kinds that differ in what has no price are one class.
    let mut classes: Vec<Class> = Vec::new();
    let mut of_class: Vec<Vec<usize>> = Vec::new();
    for (index, ((vendor, offered), hosts)) in kinds.iter().enumerate() {
        let vendor = vendors.iter().position(|own| own == vendor).unwrap_or(0);
        let setting = Setting::of(offered);
        let is_same = |class: &Class| class.vendor == vendor && class.setting == setting;
        match classes.iter().position(is_same) {
            Some(known) => {
                classes[known].hosts += hosts.len();
                of_class[known].push(index);
            }
            None => {
                classes.push(Class {
                    vendor,
                    setting,
                    hosts: hosts.len(),
                });
                of_class.push(vec![index]);
            }
        }
    }
    let loss = |whole, shown| question.prices.loss(question.mix, whole, shown);
    let curve = pools(&classes, loss);
    let best = within(&curve, question.loss_max).or(curve.last());
    let best = best.ok_or(AdviseError::NoHosts)?;
    let own = best.members.iter().map(|members| {
        let own: Vec<_> = members.iter().flat_map(|&class| &of_class[class]).collect();
        pool(
            question,
            own.into_iter().map(|&kind| &kinds[kind]).collect(),
        )
    });
    Ok(Advice {
        pools: own.collect::<Result<_, _>>()?,
        worst: best.worst,
        mean: best.mean,
        curve,
    })
}

type Kind = ((String, Flags), Vec<usize>);

fn pool(question: &Question<'_>, kinds: Vec<&Kind>) -> Result<Pool, AdviseError> {
    let hosts = || {
        let indices = kinds.iter().flat_map(|(_, hosts)| hosts);
        indices.map(|&index| &question.hosts[index])
    };
    let offered = kinds.iter().map(|((_, offered), _)| *offered);
    let offered = offered.reduce(Flags::and).unwrap_or_default().closed();
    let oldest = hosts().filter_map(|host| host.qemu).min();
    let vendor = hosts().next().map(|host| host.known.vendor.clone());
    let vendor = vendor.ok_or(AdviseError::NoHosts)?;
    let of_vendor = question.emulated.is_none().then_some(&vendor);
    let (catalogue, accelerator) = (question.catalogue, question.accelerator);
    // Where no host says its QEMU, the catalogue's is meant.
    let any = (u32::MAX, 0);
    let choice = choose(
        catalogue,
        accelerator,
        of_vendor,
        offered,
        oldest.unwrap_or(any),
    );
    let choice = choice.ok_or_else(|| {
        let mut names: Vec<_> = hosts().map(|host| host.name.clone()).take(4).collect();
        if hosts().count() > names.len() {
            names[3] = format!("{} more", hosts().count() - 3);
        }
        AdviseError::NothingFits {
            origin: catalogue.origin.clone(),
            hosts: names.join(", "),
            lacks: match lacks(offered).names().collect::<Vec<_>>() {
                names if names.is_empty() => "a QEMU that knows a model".to_owned(),
                names => names.join(", "),
            },
        }
    })?;
    let shown = Setting::of(&choice.shown);
    let member = |((_, offered), hosts): &Kind| {
        let whole = Setting::of(offered);
        Member {
            hosts: hosts.clone(),
            hidden: offered.without(choice.shown),
            whole,
            loss: question.prices.loss(question.mix, whole, shown),
        }
    };
    let mut members: Vec<_> = kinds.iter().map(|kind| member(kind)).collect();
    members.sort_by(|left, right| right.loss.total_cmp(&left.loss));
    let mut clocks: Vec<_> = hosts().filter_map(|host| host.tsc_hz).collect();
    clocks.sort_unstable();
    clocks.dedup();
    Ok(Pool {
        vendor,
        physical_bits: hosts().filter_map(|host| host.physical_bits).min(),
        choice,
        oldest,
        members,
        has_many_clocks: clocks.len() > 1,
    })
}
