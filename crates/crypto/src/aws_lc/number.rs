//! Big numbers of the library.

use std::ptr::{self, NonNull};

use aws_lc_sys as lc;

pub(super) struct Number(NonNull<lc::BIGNUM>);

// SAFETY: a number belongs to no thread, and this value is its only owner.
unsafe impl Send for Number {}

impl Number {
    /// Zero, to be written over; `None` without memory.
    pub(super) fn zero() -> Option<Self> {
        // SAFETY: has no preconditions; null means no memory.
        NonNull::new(unsafe { lc::BN_new() }).map(Self)
    }

    /// Takes a number over.
    ///
    /// # Safety
    /// `number` is null or owned by the caller alone.
    pub(super) unsafe fn own(number: *mut lc::BIGNUM) -> Option<Self> {
        NonNull::new(number).map(Self)
    }

    /// Of big-endian bytes; `None` without memory.
    pub(super) fn from_big_endian(bytes: &[u8]) -> Option<Self> {
        // SAFETY: reads the bytes; a null result asks for a new number.
        let number = unsafe { lc::BN_bin2bn(bytes.as_ptr(), bytes.len(), ptr::null_mut()) };
        NonNull::new(number).map(Self)
    }

    /// Fills `to` with the number, big-endian with leading zeros; false when
    /// it does not fit. Takes as long whatever the number is.
    pub(super) fn write_big_endian(&self, to: &mut [u8]) -> bool {
        // SAFETY: writes as many bytes as there are.
        unsafe { lc::BN_bn2bin_padded(to.as_mut_ptr(), to.len(), self.as_ptr()) == 1 }
    }

    pub(super) fn as_ptr(&self) -> *mut lc::BIGNUM {
        self.0.as_ptr()
    }

    pub(super) fn into_raw(self) -> *mut lc::BIGNUM {
        let number = self.as_ptr();
        std::mem::forget(self);
        number
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again.
        unsafe { lc::BN_clear_free(self.as_ptr()) };
    }
}
