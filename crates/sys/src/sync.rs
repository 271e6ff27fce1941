//! The one place where loom's atomics are swapped in.

#[cfg(loom)]
pub use loom::{
    cell::UnsafeCell,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering, fence},
    },
};

#[cfg(not(loom))]
pub use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

/// `std`'s cell behind loom's interface; laid out like its content, so that it may
/// lie over memory shared with the kernel.
#[cfg(not(loom))]
#[repr(transparent)]
#[derive(Debug)]
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// Keeps what two threads write apart: two lines, since the prefetcher of
/// x86 pulls lines in pairs.
#[repr(align(128))]
#[derive(Debug)]
pub struct Padded<T>(pub T);
