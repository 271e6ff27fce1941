//! The host's NUMA nodes.

use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this host has the NUMA nodes {nodes:?}, not node {node}; choose one of them")]
pub struct NodeError {
    pub node: u32,
    pub nodes: Vec<u32>,
}

const ONLINE: &str = "/sys/devices/system/node/online";

/// The node to bind to; none where there is only one, which changes nothing.
pub(super) fn to_bind(wanted: Option<u32>) -> Result<Option<u32>, NodeError> {
    choose(wanted, &online(Path::new(ONLINE)))
}

fn choose(wanted: Option<u32>, nodes: &[u32]) -> Result<Option<u32>, NodeError> {
    match wanted {
        None => Ok(None),
        Some(_) if nodes.len() < 2 => Ok(None),
        Some(node) if nodes.contains(&node) => Ok(Some(node)),
        Some(node) => Err(NodeError {
            node,
            nodes: nodes.to_vec(),
        }),
    }
}

/// A kernel without NUMA shows no such file: one node.
fn online(path: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    match sys::kernel::list(&text) {
        none if none.is_empty() => vec![0],
        nodes => nodes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_node_is_left_alone_and_a_missing_one_named() {
        assert_eq!(choose(Some(7), &[0]), Ok(None));
        assert_eq!(choose(None, &[0, 1]), Ok(None));
        assert_eq!(choose(Some(1), &[0, 1]), Ok(Some(1)));
        let error = choose(Some(2), &[0, 1]).unwrap_err().to_string();
        assert!(error.contains("node 2") && error.contains("[0, 1]"));
        assert_eq!(online(Path::new("/nowhere")), [0]);
    }
}
