//! What is kept between the pieces of a message.

#![allow(unsafe_code, reason = "keeps the states of libraries")]

use std::mem::MaybeUninit;

/// Bytes of the largest state: that of SHA-512 in AWS-LC is 216.
const BYTES: usize = 224;

/// What a back-end keeps between the pieces of one message: see
/// [`Backend::process_piece`](crate::Backend::process_piece). Wiped when the message
/// ends, and on drop: it is as secret as the key.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Between {
    bytes: MaybeUninit<[u8; BYTES]>,
    is_begun: bool,
}

impl Default for Between {
    fn default() -> Self {
        Self {
            bytes: MaybeUninit::zeroed(),
            is_begun: false,
        }
    }
}

impl Between {
    /// Where a state of type `S` is kept, and whether there is none yet; there is from
    /// now on. Each message has one type of state.
    pub(crate) fn state<S: Copy>(&mut self) -> (*mut S, bool) {
        const {
            assert!(size_of::<S>() <= BYTES && align_of::<S>() <= align_of::<Self>());
        }
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        (self.bytes.as_mut_ptr().cast(), is_first)
    }

    pub fn end(&mut self) {
        // SAFETY: ours, and any bytes are valid in it.
        unsafe { aws_lc_sys::OPENSSL_cleanse(self.bytes.as_mut_ptr().cast(), BYTES) };
        self.is_begun = false;
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_stays_when_a_message_ends() {
        let mut between = Between::default();
        let (state, is_first) = between.state::<[u64; 27]>();
        assert!(is_first);
        // SAFETY: room for such a state, as `state` says.
        unsafe { state.write([u64::MAX; 27]) };
        assert!(!between.state::<[u64; 27]>().1);
        between.end();
        let (state, is_first) = between.state::<[u64; 27]>();
        // SAFETY: as above; zeroed.
        assert_eq!((unsafe { state.read() }, is_first), ([0; 27], true));
    }
}
