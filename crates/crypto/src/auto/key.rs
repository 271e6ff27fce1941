//! A key for several back-ends at once.

use std::any::{Any, TypeId};

use crate::Key;

pub(super) struct AutoKey(pub(super) Vec<Box<dyn Key>>);

impl Key for AutoKey {
    fn part(&self, of: TypeId) -> Option<&dyn Any> {
        self.0.iter().find_map(|part| part.part(of))
    }
}
