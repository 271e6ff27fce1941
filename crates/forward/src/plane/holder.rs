//! Who has what a file asks for.

use std::path::Path;

use net::journal::Entry;

pub use net::journal::Holder;

use super::PlaneError;

/// The program that has the namespace of a router of that name.
///
/// # Errors
/// [`PlaneError::Journal`] when that cannot be seen.
pub fn holder_of_router(name: &str) -> Result<Option<Holder>, PlaneError> {
    let name = format!("lockgate-{name}");
    Ok(net::journal::holder(&Entry::Namespace { name })?)
}

/// The program that has the folder of [`Plane::owning`](super::Plane::owning).
///
/// # Errors
/// [`PlaneError::Journal`] when that cannot be seen.
pub fn holder_of_folder(path: &Path) -> Result<Option<Holder>, PlaneError> {
    let path = path.to_owned();
    Ok(net::journal::holder(&Entry::Folder { path })?)
}
