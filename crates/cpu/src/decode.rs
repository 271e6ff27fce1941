//! A whole processor from its leaves.

use std::collections::BTreeSet;

use crate::{
    Cache, Component, Feature, Hypervisor, Signature, Source, Tsc, Vendor, XState, cache, identity,
    source, tsc,
};

/// Everything that a [`Source`] states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    pub vendor: Vendor,
    pub model_name: String,
    pub signature: Signature,
    pub level: u32,
    pub extended_level: u32,
    pub hypervisor: Option<Hypervisor>,
    pub physical_bits: Option<u32>,
    pub virtual_bits: Option<u32>,
    pub features: BTreeSet<Feature>,
    pub xstate: XState,
    pub tsc: Tsc,
    pub caches: Vec<Cache>,
}

impl Processor {
    /// Decodes `source`; `None` where it has no leaves 0 and 1.
    pub fn decode(source: &dyn Source) -> Option<Self> {
        let basic = source.leaf(source::BASIC, 0)?;
        let version = source.leaf(1, 0)?;
        let sizes = source.leaf(source::EXTENDED + 8, 0).map(|leaf| leaf.eax);
        Some(Self {
            vendor: identity::vendor(basic),
            model_name: identity::model_name(source),
            signature: Signature::from_eax(version.eax),
            level: basic.eax,
            extended_level: source.leaf(source::EXTENDED, 0).unwrap_or_default().eax,
            hypervisor: identity::hypervisor(source),
            physical_bits: sizes.map(|eax| eax & 0xff),
            virtual_bits: sizes.map(|eax| eax >> 8 & 0xff),
            features: Feature::all()
                .filter(|feature| feature.is_set(source))
                .collect(),
            xstate: xstate(source),
            tsc: tsc::tsc(source),
            caches: cache::caches(source),
        })
    }

    /// The register state that `feature` needs and the operating system did
    /// not enable.
    pub fn disabled_state(&self, feature: Feature) -> impl Iterator<Item = Component> {
        let xstate = self.xstate;
        feature
            .needs()
            .iter()
            .copied()
            .filter(move |&component| !xstate.is_enabled(component))
    }

    /// Whether CPUID states `feature` and its register state is enabled.
    pub fn is_usable(&self, feature: Feature) -> bool {
        self.features.contains(&feature) && self.disabled_state(feature).next().is_none()
    }

    pub fn usable(&self) -> BTreeSet<Feature> {
        self.features
            .iter()
            .copied()
            .filter(|&feature| self.is_usable(feature))
            .collect()
    }
}

fn xstate(source: &dyn Source) -> XState {
    let area = source.leaf(0xd, 0).unwrap_or_default();
    XState {
        xcr0: source.xcr0(),
        supported: u64::from(area.edx) << 32 | u64::from(area.eax),
    }
}
