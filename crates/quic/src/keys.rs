//! From secrets to keys (RFC 9001 §5.1, §5.2, §6.1; RFC 9369 §3.3).

use crypto::KeyMaterial;
use hkdf::Hkdf;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::Sha256;
use wire::quic::Version;
use zeroize::Zeroizing;

use crate::{Secret, Suite};

/// What differs from version to version.
struct Labels {
    initial_salt: [u8; 20],
    key: &'static str,
    iv: &'static str,
    header: &'static str,
    update: &'static str,
}

const V1: Labels = Labels {
    initial_salt: [
        0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c,
        0xad, 0xcc, 0xbb, 0x7f, 0x0a,
    ],
    key: "quic key",
    iv: "quic iv",
    header: "quic hp",
    update: "quic ku",
};

const V2: Labels = Labels {
    initial_salt: [
        0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d,
        0xcb, 0xf9, 0xbd, 0x2e, 0xd9,
    ],
    key: "quicv2 key",
    iv: "quicv2 iv",
    header: "quicv2 hp",
    update: "quicv2 ku",
};

/// A version whose packets can be protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    V1,
    V2,
}

impl Protocol {
    pub fn of(version: Version) -> Option<Self> {
        match version {
            Version::V1 => Some(Self::V1),
            Version::V2 => Some(Self::V2),
            Version::Other(_) => None,
        }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Self::V1 => Self::V2,
            Self::V2 => Self::V1,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }

    fn labels(self) -> &'static Labels {
        match self {
            Self::V1 => &V1,
            Self::V2 => &V2,
        }
    }

    /// The secrets of client and server in Initial packets, by the connection id that the
    /// client first sent to (RFC 9001 §5.2). Whoever sees that can open them.
    pub fn initial_secrets(self, destination: &[u8]) -> [Secret; 2] {
        let (prk, _) = Hkdf::<Sha256>::extract(Some(&self.labels().initial_salt), destination);
        let prk = Zeroizing::new(<[u8; 32]>::from(prk));
        ["client in", "server in"].map(|label| {
            let bytes = Suite::Aes128Gcm.secret_bytes();
            Suite::Aes128Gcm.expand(&prk[..], label, bytes).into()
        })
    }

    /// The secret of the next key phase (§6.1). Keys of headers stay as they are.
    pub fn next_secret(self, suite: Suite, secret: &Secret) -> Secret {
        let (label, bytes) = (self.labels().update, suite.secret_bytes());
        suite.expand(secret.as_bytes(), label, bytes).into()
    }

    /// All keys of one side in one phase, for [`crypto::Algorithm::Packets`]. The header's
    /// is made from the secret of the side's first phase, `first` (§6.1).
    ///
    /// # Panics
    /// When a secret is not of the suite.
    pub fn packets_key(self, suite: Suite, first: &Secret, secret: &Secret) -> KeyMaterial {
        let header = self.header_key(suite, first);
        let (payload, iv) = self.packet_key(suite, secret);
        suite.packets().material(&header, &payload, &iv)
    }

    /// A packet's key and IV.
    pub(crate) fn packet_key(
        self,
        suite: Suite,
        secret: &Secret,
    ) -> (Zeroizing<Vec<u8>>, [u8; IV_BYTES]) {
        let labels = self.labels();
        let iv = suite.expand(secret.as_bytes(), labels.iv, IV_BYTES);
        let iv = iv[..].try_into().expect("as many as were wanted");
        let bytes = suite.key_bytes();
        (suite.expand(secret.as_bytes(), labels.key, bytes), iv)
    }

    pub(crate) fn header_key(self, suite: Suite, secret: &Secret) -> Zeroizing<Vec<u8>> {
        let (label, bytes) = (self.labels().header, suite.key_bytes());
        suite.expand(secret.as_bytes(), label, bytes)
    }
}

pub(crate) const IV_BYTES: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;

    /// RFC 9001 §A.1, RFC 9369 §A.1.
    #[test]
    fn initial_keys_are_the_standards() {
        let destination = hex("8394c8f03e515708");
        for (protocol, secrets) in [
            (
                Protocol::V1,
                [
                    [
                        "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea",
                        "1f369613dd76d5467730efcbe3b1a22d",
                        "fa044b2f42a3fd3b46fb255c",
                        "9f50449e04a0e810283a1e9933adedd2",
                    ],
                    [
                        "3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b",
                        "cf3a5331653c364c88f0f379b6067e37",
                        "0ac1493ca1905853b0bba03e",
                        "c206b8d9b9f0f37644430b490eeaa314",
                    ],
                ],
            ),
            (
                Protocol::V2,
                [
                    [
                        "14ec9d6eb9fd7af83bf5a668bc17a7e283766aade7ecd0891f70f9ff7f4bf47b",
                        "8b1a0bc121284290a29e0971b5cd045d",
                        "91f73e2351d8fa91660e909f",
                        "45b95e15235d6f45a6b19cbcb0294ba9",
                    ],
                    [
                        "0263db1782731bf4588e7e4d93b7463907cb8cd8200b5da55a8bd488eafc37c1",
                        "82db637861d55e1d011f19ea71d5d2a7",
                        "dd13c276499c0249d3310652",
                        "edf6d05c83121201b436e16877593c3a",
                    ],
                ],
            ),
        ] {
            for (secret, [own, key, iv, header]) in
                protocol.initial_secrets(&destination).iter().zip(secrets)
            {
                let suite = Suite::Aes128Gcm;
                assert_eq!(secret.as_bytes(), hex(own));
                let (packet_key, packet_iv) = protocol.packet_key(suite, secret);
                assert_eq!(
                    (&packet_key[..], &packet_iv[..]),
                    (&hex(key)[..], &hex(iv)[..])
                );
                assert_eq!(protocol.header_key(suite, secret)[..], hex(header));
            }
        }
    }

    /// RFC 9001 §A.5, RFC 9369 §A.5.
    #[test]
    fn keys_of_chacha20_and_of_the_next_phase_are_the_standards() {
        let secret = "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b";
        let secret = Secret::new(hex(secret));
        for (protocol, [key, iv, header, next]) in [
            (
                Protocol::V1,
                [
                    "c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8",
                    "e0459b3474bdd0e44a41c144",
                    "25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4",
                    "1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9",
                ],
            ),
            (
                Protocol::V2,
                [
                    "3bfcddd72bcf02541d7fa0dd1f5f9eeea817e09a6963a0e6c7df0f9a1bab90f2",
                    "a6b5bc6ab7dafce30ffff5dd",
                    "d659760d2ba434a226fd37b35c69e2da8211d10c4f12538787d65645d5d1b8e2",
                    "c69374c49e3d2a9466fa689e49d476db5d0dfbc87d32ceeaa6343fd0ae4c7d88",
                ],
            ),
        ] {
            let suite = Suite::ChaCha20Poly1305;
            let (packet_key, packet_iv) = protocol.packet_key(suite, &secret);
            assert_eq!(
                (&packet_key[..], &packet_iv[..]),
                (&hex(key)[..], &hex(iv)[..])
            );
            assert_eq!(protocol.header_key(suite, &secret)[..], hex(header));
            assert_eq!(protocol.next_secret(suite, &secret).as_bytes(), hex(next));
        }
    }
}
