//! Virtual functions that come and go, in any order, beside clients that do
//! anything to their lanes.

mod model;

use super::bytes::Bytes;
use model::Model;

/// Does what the bytes say to an engine's virtual functions: every request
/// that was accepted completes exactly once, cancelled only where a caller
/// reset or removed something, and a worker's shares stay what they are.
pub fn functions(data: &[u8]) {
    let mut input = Bytes::new(data);
    let mut model = Model::start(&mut input);
    while !input.is_empty() {
        model.step(&mut input);
    }
    model.finish();
}
