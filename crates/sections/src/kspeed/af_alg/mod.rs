//! A load generator for the kernel's crypto socket, AF_ALG (Linux,
//! Documentation/crypto/userspace-if.rst): what user space gets of the
//! kernel's crypto.
//!
//! A request is two system calls, `sendmsg` and `read`, and the socket runs
//! it before `read` returns: a socket has one request in flight. More are in
//! flight only with more sockets, each with a thread that waits for it.
//!
//! The kernel also takes such reads asynchronously (`io_submit`), and then
//! works on them as it does on the module's. In an emulated guest that gained
//! nothing: at 512 bytes and depth 16 on virtio-crypto 0.9 to 1.0 of one
//! request at a time, on one socket as on sixteen, since two system calls a
//! request cost more than the device. So it is no arm of its own.

mod driver;
mod error;
mod expected;
mod pump;
mod request;
mod socket;

pub use error::AfAlgError;
pub use request::{AfAlg, AfAlgType, Direction, Limits};

use crate::kspeed::trial_line::{TRIAL_LINE_SCHEMA, TrialLine};
use driver::Driver;
use expected::Expected;
use socket::Transform;

/// Measures one arm: sets the transform up, compares its output with what it
/// should be, then asks as fast as it answers for the time wanted.
///
/// # Errors
/// [`AfAlgError`]: a value out of its limits, a kernel without AF_ALG or the
/// driver, or a request that failed or came out wrong.
pub fn measure(request: &AfAlg) -> Result<TrialLine, AfAlgError> {
    request.check()?;
    let transform = Transform::bind(request.kind, &request.driver)?;
    // The kernel loads what it can when a socket is bound; then it is listed.
    let driver = Driver::find(request.kind, &request.driver);
    if let Some(driver) = &driver {
        driver.check(request)?;
    }
    transform.set_up(request)?;
    let expected = Expected::establish(request, &transform, driver.as_ref())?;
    let run = pump::run(request, &transform, &expected)?;
    Ok(TrialLine {
        schema: TRIAL_LINE_SCHEMA,
        ok: true,
        source: "af-alg".to_owned(),
        r#type: request.kind.module_name().to_owned(),
        algorithm: driver
            .as_ref()
            .map_or_else(|| request.driver.clone(), |known| known.name.clone()),
        driver: driver
            .as_ref()
            .map_or_else(|| request.driver.clone(), |known| known.driver.clone()),
        is_async: driver.as_ref().map(|known| known.is_async),
        mode: if request.depth == 1 {
            "sync"
        } else {
            "threads"
        }
        .to_owned(),
        op: request.operation_name().to_owned(),
        size_bytes: request.size_bytes as u64,
        key_bytes: request.key_bytes as u64,
        depth: request.depth,
        thread_count: request.depth,
        elapsed_ns: run.elapsed_ns,
        completed: run.threads.iter().map(|one| one.completed).sum(),
        bytes: run.threads.iter().map(|one| one.completed).sum::<u64>() * request.size_bytes as u64,
        errors: 0,
        verified: true,
        verified_by: expected.how.to_owned(),
        latency_ns: run.latency.latency(),
        threads: run.threads,
    })
}
