//! What each fuzz target does with its bytes. A body panics when a promise is
//! broken, and does nothing else that can be seen.
//!
//! The targets call these bodies; so does `tests/fuzz_corpus.rs` with the
//! committed corpus, on the stable compiler.

mod bytes;
mod cpuid_dump;
mod crypto_job;
mod disk_header;
mod functions;
mod histogram;
mod journal;
mod lane;
mod quic_capture;
mod quic_keylog;
mod quic_table;
mod quic_trace;
mod run_read;
mod scenario;
mod vhost_device;
mod vhost_messages;
mod vhost_parts;
mod vhost_queue;
mod vm_frames;
mod wire_frames;
mod wire_quic;
mod wire_views;

pub use cpuid_dump::cpuid_dump;
pub use crypto_job::crypto_job;
pub use disk_header::disk_header;
pub use functions::functions;
pub use histogram::histogram;
pub use journal::journal;
pub use lane::lane;
pub use quic_capture::quic_capture;
pub use quic_keylog::quic_keylog;
pub use quic_table::quic_table;
pub use quic_trace::quic_trace;
pub use run_read::run_read;
pub use scenario::scenario;
pub use vhost_messages::vhost_messages;
pub use vhost_parts::vhost_parts;
pub use vhost_queue::vhost_queue;
pub use vm_frames::vm_frames;
pub use wire_frames::wire_frames;
pub use wire_quic::wire_quic;
pub use wire_views::wire_views;
