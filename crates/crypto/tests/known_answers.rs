//! Published vectors, through every back-end.

use lockgate_crypto::{
    Algorithm, Backend, Data, KeyForm, KeyMaterial, Kind, Operation, RsaBits, RsaScheme, Slices,
    Status, backends, process_slices,
};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("a hexadecimal digit") as u8)
        .collect();
    digits
        .chunks_exact(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

struct Vector {
    algorithm: Algorithm,
    key: Vec<u8>,
    iv: Vec<u8>,
    aad: Vec<u8>,
    plain: Vec<u8>,
    cipher: Vec<u8>,
    tag: Vec<u8>,
}

impl Vector {
    fn mode(algorithm: Algorithm, key: &str, iv: &str, plain: &str, cipher: &str) -> Self {
        let [key, iv, plain, cipher] = [key, iv, plain, cipher].map(hex);
        Self {
            algorithm,
            key,
            iv,
            aad: Vec::new(),
            plain,
            cipher,
            tag: Vec::new(),
        }
    }

    fn with(self, aad: &str, tag: &str) -> Self {
        Self {
            aad: hex(aad),
            tag: hex(tag),
            ..self
        }
    }

    /// Status, result and tag; out of place.
    fn run(&self, backend: &dyn Backend, operation: Operation) -> (Status, Vec<u8>, Vec<u8>) {
        let key = backend
            .key(self.algorithm, &KeyMaterial::take(&mut self.key.clone()))
            .expect("a published key");
        let sealing = operation == Operation::Encrypt;
        let source = if sealing { &self.plain } else { &self.cipher };
        let mut destination = vec![0xa5; source.len()];
        let mut tag = if sealing {
            vec![0; self.tag.len()]
        } else {
            self.tag.clone()
        };
        let mut iv = [0; 16];
        iv[..self.iv.len()].copy_from_slice(&self.iv);
        let data = Data::Apart {
            source,
            destination: &mut destination,
        };
        let slices = Slices {
            iv,
            aad: &self.aad,
            data,
            tag: &mut tag,
        };
        let kind = Kind {
            algorithm: self.algorithm,
            operation,
        };
        (
            process_slices(backend, &*key, kind, slices),
            destination,
            tag,
        )
    }

    fn check(&self) {
        for backend in backends() {
            let name = format!("{} {}", backend.name(), self.algorithm);
            let sealed = self.run(&*backend, Operation::Encrypt);
            assert_eq!(
                sealed,
                (Status::Ok, self.cipher.clone(), self.tag.clone()),
                "{name}"
            );
            let opened = self.run(&*backend, Operation::Decrypt);
            assert_eq!(
                opened,
                (Status::Ok, self.plain.clone(), self.tag.clone()),
                "{name}"
            );
        }
    }
}

const SP800_38A_KEY_128: &str = "2b7e151628aed2a6abf7158809cf4f3c";
const SP800_38A_KEY_256: &str = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
const SP800_38A_TEXT: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51
    30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
const CBC_IV: &str = "000102030405060708090a0b0c0d0e0f";
const CTR_IV: &str = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

#[test]
fn cbc_sp800_38a_f2() {
    let cipher = "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2
        73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7";
    let key = SP800_38A_KEY_128;
    Vector::mode(Algorithm::Aes128Cbc, key, CBC_IV, SP800_38A_TEXT, cipher).check();
    let cipher = "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d
        39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b";
    let key = SP800_38A_KEY_256;
    Vector::mode(Algorithm::Aes256Cbc, key, CBC_IV, SP800_38A_TEXT, cipher).check();
}

#[test]
fn ctr_sp800_38a_f5() {
    let cipher = "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff
        5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee";
    let key = SP800_38A_KEY_128;
    Vector::mode(Algorithm::Aes128Ctr, key, CTR_IV, SP800_38A_TEXT, cipher).check();
    let cipher = "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5
        2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6";
    let key = SP800_38A_KEY_256;
    Vector::mode(Algorithm::Aes256Ctr, key, CTR_IV, SP800_38A_TEXT, cipher).check();
}

const GCM_IV: &str = "cafebabefacedbaddecaf888";
const GCM_AAD: &str = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
const GCM_TEXT: &str = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
    1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";

#[test]
fn gcm_specification_cases_1_4_and_16() {
    let (zero, zero_iv) = ("00".repeat(16), "00".repeat(12));
    Vector::mode(Algorithm::Aes128Gcm, &zero, &zero_iv, "", "")
        .with("", "58e2fccefa7e3061367f1d57a4e7455a")
        .check();
    let key = "feffe9928665731c6d6a8f9467308308";
    let cipher = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
        21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091";
    Vector::mode(Algorithm::Aes128Gcm, key, GCM_IV, GCM_TEXT, cipher)
        .with(GCM_AAD, "5bc94fbc3221a5db94fae95ae7121a47")
        .check();
    let cipher = "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
        8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662";
    Vector::mode(
        Algorithm::Aes256Gcm,
        &key.repeat(2),
        GCM_IV,
        GCM_TEXT,
        cipher,
    )
    .with(GCM_AAD, "76fc6ece0f4e1768cddf8853bb2d551b")
    .check();
}

#[test]
fn xts_ieee_1619_vector_10() {
    let key = "2718281828459045235360287471352662497757247093699959574966967627
        3141592653589793238462643383279502884197169399375105820974944592";
    let plain: String = (0..512).map(|i| format!("{:02x}", i % 256)).collect();
    let cipher = "
        1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b
        5d31e276f8fe4a8d66b317f9ac683f44680a86ac35adfc3345befecb4bb188fd
        5776926c49a3095eb108fd1098baec70aaa66999a72a82f27d848b21d4a741b0
        c5cd4d5fff9dac89aeba122961d03a757123e9870f8acf1000020887891429ca
        2a3e7a7d7df7b10355165c8b9a6d0a7de8b062c4500dc4cd120c0f7418dae3d0
        b5781c34803fa75421c790dfe1de1834f280d7667b327f6c8cd7557e12ac3a0f
        93ec05c52e0493ef31a12d3d9260f79a289d6a379bc70c50841473d1a8cc81ec
        583e9645e07b8d9670655ba5bbcfecc6dc3966380ad8fecb17b6ba02469a020a
        84e18e8f84252070c13e9f1f289be54fbc481457778f616015e1327a02b140f1
        505eb309326d68378f8374595c849d84f4c333ec4423885143cb47bd71c5edae
        9be69a2ffeceb1bec9de244fbe15992b11b77c040f12bd8f6a975a44a0f90c29
        a9abc3d4d893927284c58754cce294529f8614dcd2aba991925fedc4ae74ffac
        6e333b93eb4aff0479da9a410e4450e0dd7ae4c6e2910900575da401fc07059f
        645e8b7e9bfdef33943054ff84011493c27b3429eaedb4ed5376441a77ed4385
        1ad77f16f541dfd269d50d6a5f14fb0aab1cbb4c1550be97f7ab4066193c4caa
        773dad38014bd2092fa755c824bb5e54c4f36ffda9fcea70b9c6e693e148c151";
    Vector::mode(Algorithm::Aes256Xts, key, "ff", &plain, cipher).check();
}

fn digest(backend: &dyn Backend, message: &[u8]) -> Vec<u8> {
    let algorithm = Algorithm::Sha256;
    let key = backend
        .key(algorithm, &KeyMaterial::take(&mut []))
        .expect("a hash has no key");
    let mut destination = vec![0; 32];
    let data = Data::Apart {
        source: message,
        destination: &mut destination,
    };
    let slices = Slices {
        iv: [0; 16],
        aad: &[],
        data,
        tag: &mut [],
    };
    let kind = Kind {
        algorithm,
        operation: Operation::Hash,
    };
    assert_eq!(process_slices(backend, &*key, kind, slices), Status::Ok);
    destination
}

#[test]
fn sha256_fips_180() {
    let long = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    let cases: [(&[u8], &str); 4] = [
        (
            b"",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ),
        (
            b"abc",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (
            long,
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        (
            &[b'a'; 1_000_000],
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
        ),
    ];
    for backend in backends() {
        for (message, expected) in cases {
            assert_eq!(
                digest(&*backend, message),
                hex(expected),
                "{}",
                backend.name()
            );
        }
    }
}

#[test]
fn rsa_signature_of_openssl() {
    let algorithm = Algorithm::Rsa(RsaBits::B2048, RsaScheme::Pkcs1);
    let expected = include_bytes!("vectors/rsa-2048.abc.signature");
    for backend in backends() {
        let mut der = include_bytes!("vectors/rsa-2048.pkcs8.der").to_vec();
        let key = backend
            .key(algorithm, &KeyMaterial::take(&mut der))
            .expect("a good key");
        let digest = digest(&*backend, b"abc");
        let run = |operation, digest: &[u8], tag: &mut [u8]| {
            let data = Data::Apart {
                source: digest,
                destination: &mut [],
            };
            let slices = Slices {
                iv: [0; 16],
                aad: &[],
                data,
                tag,
            };
            process_slices(
                &*backend,
                &*key,
                Kind {
                    algorithm,
                    operation,
                },
                slices,
            )
        };
        let mut signature = [0; 256];
        assert_eq!(run(Operation::Sign, &digest, &mut signature), Status::Ok);
        assert_eq!(&signature, expected, "{}", backend.name());
        assert_eq!(run(Operation::Verify, &digest, &mut signature), Status::Ok);
        signature[255] ^= 1;
        let forged = run(Operation::Verify, &digest, &mut signature);
        assert_eq!(forged, Status::AuthenticationFailed, "{}", backend.name());
    }
}

/// Appendix B.1 of SP 800-38A counts modulo 2^128 here: block n of a counter
/// that starts at 2^128 − 2 is block n − 2 of one that starts at 0.
#[test]
fn ctr_wraps_all_128_bits() {
    for backend in backends() {
        for algorithm in [Algorithm::Aes128Ctr, Algorithm::Aes256Ctr] {
            let KeyForm::Bytes(key_bytes) = algorithm.key_form() else {
                panic!("AES has fixed lengths")
            };
            let mut key = vec![7; key_bytes];
            let key = backend
                .key(algorithm, &KeyMaterial::take(&mut key))
                .expect("a good key");
            let stream = |iv: u128, bytes: usize| {
                let mut text = vec![0; bytes];
                let data = Data::InPlace(&mut text);
                let slices = Slices {
                    iv: iv.to_be_bytes(),
                    aad: &[],
                    data,
                    tag: &mut [],
                };
                let kind = Kind {
                    algorithm,
                    operation: Operation::Encrypt,
                };
                assert_eq!(process_slices(&*backend, &*key, kind, slices), Status::Ok);
                text
            };
            assert_eq!(
                stream(u128::MAX - 1, 1000)[32..],
                stream(0, 968),
                "{algorithm}"
            );
            let carry = u128::from(u32::MAX);
            assert_eq!(
                stream(carry - 3, 512)[64..],
                stream(carry + 1, 448),
                "{algorithm}"
            );
        }
    }
}
