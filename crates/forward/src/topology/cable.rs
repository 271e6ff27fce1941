//! A cable: the tester's two ports without a router between them.

use net::{Journal, Namespace, Tag};

use super::error::NetworkError;
use super::names::SideNames;
use super::plan::Side;
use super::spec::Spec;
use super::wires;

#[derive(Debug)]
pub struct End {
    pub namespace: Namespace,
    pub link: String,
    pub mac: [u8; 6],
    pub threads: Vec<net::napi::NapiThread>,
}

/// A cable between two ports of the tester, as wide as the topology's wires.
/// It is gone when dropped.
#[derive(Debug)]
pub struct Cable {
    pub ends: [End; 2],
}

impl Cable {
    /// Lays one.
    ///
    /// # Errors
    /// [`NetworkError`]; nothing is left then.
    pub fn lay(journal: &Journal, spec: &Spec) -> Result<Self, NetworkError> {
        let tag = Tag::fresh();
        let [zero, one] = Side::BOTH.map(|side| make(journal, &tag, spec, side));
        let (zero, one) = (zero?, one?);
        wires::pair(
            spec,
            (&zero.namespace, &zero.link),
            (&one.namespace, &one.link),
        )?;
        let mut ends = [zero, one];
        for end in &mut ends {
            end.threads = wires::work_for(spec, &end.namespace, &end.link, &[spec.cpus.sink])?;
            end.mac = end.namespace.netlink()?.link(&end.link)?.address;
        }
        Ok(Self { ends })
    }
}

fn make(journal: &Journal, tag: &Tag, spec: &Spec, side: Side) -> Result<End, NetworkError> {
    let names = SideNames::new(tag, side)?;
    let namespace = Namespace::create(journal, &names.tester_namespace)?;
    super::build::silence(&namespace, spec.ipv6)?;
    Ok(End {
        namespace,
        link: names.tester,
        mac: [0; 6],
        threads: Vec::new(),
    })
}
