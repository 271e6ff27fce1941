//! The integrity tag of Retry packets (RFC 9001 §5.8, RFC 9369 §3.3.3). Its keys are
//! public: it guards against accidents, and against whoever did not see the first packet.

use crypto::{Backend, Data, KeyMaterial, Kind, Operation, Slices, Status};
use zeroize::Zeroize;

use crate::Protocol;
use crate::protection::TAG_BYTES;

impl Protocol {
    fn retry_key(self) -> ([u8; 16], [u8; 12]) {
        match self {
            Self::V1 => (
                0xbe0c_690b_9f66_575a_1d76_6b54_e368_c84e_u128.to_be_bytes(),
                [
                    0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb,
                ],
            ),
            Self::V2 => (
                0x8fb4_b01b_56ac_48e2_60fb_cbce_ad7c_cc92_u128.to_be_bytes(),
                [
                    0xd8, 0x69, 0x69, 0xbc, 0x2d, 0x7c, 0x6d, 0x99, 0x90, 0xef, 0xb0, 0x4a,
                ],
            ),
        }
    }

    /// The tag of a Retry packet without its tag, in answer to a packet that was sent to
    /// `destination`. `None` where the back-end has no AES-128-GCM.
    pub fn retry_tag(
        self,
        backend: &dyn Backend,
        destination: &[u8],
        retry: &[u8],
    ) -> Option<[u8; TAG_BYTES]> {
        let (mut key, nonce) = self.retry_key();
        let kind = Kind::new(crypto::Algorithm::Aes128Gcm, Operation::Encrypt);
        let key = backend
            .key(kind.algorithm, &KeyMaterial::take(&mut key))
            .ok()?;
        let length = u8::try_from(destination.len()).ok()?;
        let aad = [&[length], destination, retry].concat();
        let (mut iv, mut tag) = ([0; 16], [0; TAG_BYTES]);
        iv[..nonce.len()].copy_from_slice(&nonce);
        let slices = Slices {
            iv,
            aad: &aad,
            data: Data::InPlace(&mut []),
            tag: &mut tag,
        };
        let status = crypto::process_slices(backend, &*key, kind, slices);
        iv.zeroize();
        (status == Status::Ok).then_some(tag)
    }
}
