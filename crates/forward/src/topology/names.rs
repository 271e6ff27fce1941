//! Names of a topology's namespaces and links.

use net::{Tag, TagError};

use super::plan::Side;
use super::spec::Pair;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideNames {
    pub tester_namespace: String,
    pub tester: String,
    pub router: String,
    pub tester_vlan: String,
    pub router_vlan: String,
    pub bridge: String,
    pub outer: String,
    pub inner: String,
}

impl SideNames {
    /// The names of one side whose wire is a cable between two devices, which keep
    /// their names, if one is given.
    pub fn over(tag: &Tag, side: Side, devices: Option<&Pair>) -> Result<Self, TagError> {
        let mut names = Self::new(tag, side)?;
        if let Some(pair) = devices {
            names.tester.clone_from(&pair.tester);
            names.router.clone_from(&pair.router);
        }
        Ok(names)
    }

    /// The names of one side of the topology with this tag.
    ///
    /// # Errors
    /// Never, as the parts are short enough: [`TagError`] all the same.
    pub fn new(tag: &Tag, side: Side) -> Result<Self, TagError> {
        let index = side.index();
        let link = |role: &str| tag.interface(&format!("{role}{index}"));
        Ok(Self {
            tester_namespace: tag.name(&format!("t{index}"))?,
            tester: link("t")?,
            router: link("d")?,
            tester_vlan: link("tv")?,
            router_vlan: link("dv")?,
            bridge: link("b")?,
            outer: link("o")?,
            inner: link("i")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_differ_and_fit() {
        let tag = Tag::fresh();
        let mut names = Vec::new();
        for side in Side::BOTH {
            let side = SideNames::new(&tag, side).unwrap();
            names.extend([side.tester, side.router, side.tester_vlan]);
            names.extend([side.router_vlan, side.bridge, side.outer, side.inner]);
        }
        assert!(names.iter().all(|name| name.len() <= 15));
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 14);
    }
}
