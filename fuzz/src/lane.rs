//! Clients that do anything to their lanes, in any order.

mod model;

use super::bytes::Bytes;
use model::Model;

/// Does what the bytes say to an engine's lanes: every request that was
/// accepted completes exactly once, and nothing else does.
pub fn lane(data: &[u8]) {
    let mut input = Bytes::new(data);
    let mut model = Model::start(&mut input);
    while !input.is_empty() {
        model.step(&mut input);
    }
    model.finish();
}
