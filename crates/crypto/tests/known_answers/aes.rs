//! AES: SP 800-38A, the GCM specification, IEEE 1619.

use lockgate_crypto::{Algorithm, Data, KeyForm, Kind, Operation, Slices, Status, process_slices};

use super::{Vector, key, with};

const KEY_128: &str = "2b7e151628aed2a6abf7158809cf4f3c";
const KEY_192: &str = "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b";
const KEY_256: &str = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
const TEXT: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51
    30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
const CBC_IV: &str = "000102030405060708090a0b0c0d0e0f";
const CTR_IV: &str = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

#[test]
fn ecb_sp800_38a_f1() {
    let cipher = "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf
        43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f8223207104725dd4";
    Vector::mode(Algorithm::Aes128Ecb, KEY_128, "", TEXT, cipher).check();
    let cipher = "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef
        ef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72fb16691603c18e0e";
    Vector::mode(Algorithm::Aes192Ecb, KEY_192, "", TEXT, cipher).check();
    let cipher = "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870
        b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7";
    Vector::mode(Algorithm::Aes256Ecb, KEY_256, "", TEXT, cipher).check();
}

#[test]
fn cbc_sp800_38a_f2() {
    let cipher = "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2
        73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7";
    Vector::mode(Algorithm::Aes128Cbc, KEY_128, CBC_IV, TEXT, cipher).check();
    let cipher = "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a
        571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd";
    Vector::mode(Algorithm::Aes192Cbc, KEY_192, CBC_IV, TEXT, cipher).check();
    let cipher = "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d
        39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b";
    Vector::mode(Algorithm::Aes256Cbc, KEY_256, CBC_IV, TEXT, cipher).check();
}

#[test]
fn ctr_sp800_38a_f5() {
    let cipher = "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff
        5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee";
    Vector::mode(Algorithm::Aes128Ctr, KEY_128, CTR_IV, TEXT, cipher).check();
    let cipher = "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94
        1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050";
    Vector::mode(Algorithm::Aes192Ctr, KEY_192, CTR_IV, TEXT, cipher).check();
    let cipher = "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5
        2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6";
    Vector::mode(Algorithm::Aes256Ctr, KEY_256, CTR_IV, TEXT, cipher).check();
}

/// Vectors 2, 3 and 15 to 18 of IEEE 1619-2007 annex B. Vector 1 has equal halves,
/// which SP 800-38E forbids. The last four have text that is no multiple of a block:
/// stealing.
#[test]
fn xts_ieee_1619_vectors_of_128_bits() {
    let fours = "44".repeat(32);
    let [ones, twos] = ["11", "22"].map(|byte| byte.repeat(16));
    let (down, further_down) = (
        "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0",
        "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0",
    );
    for (unit, keys, plain, cipher) in [
        (
            "3333333333",
            [ones.as_str(), &twos],
            fours.as_str(),
            "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0",
        ),
        (
            "3333333333",
            [down, &twos],
            &fours,
            "af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89",
        ),
    ] {
        Vector::mode(Algorithm::Aes128Xts, &keys.concat(), unit, plain, cipher).check();
    }
    let plain = "000102030405060708090a0b0c0d0e0f10111213";
    for (bytes, cipher) in [
        (17, "6c1625db4671522d3d7599601de7ca09ed"),
        (18, "d069444b7a7e0cab09e24447d24deb1fedbf"),
        (19, "e5df1351c0544ba1350b3363cd8ef4beedbf9d"),
        (20, "9d84c813f719aa2c7be3f66171c7c5c2edbf9dac"),
    ] {
        let key = [down, further_down].concat();
        let plain = &plain[..2 * bytes];
        Vector::mode(Algorithm::Aes128Xts, &key, "9a78563412", plain, cipher).check();
    }
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

/// Appendix B.1 of SP 800-38A counts modulo 2^128 here: block n of a counter
/// that starts at 2^128 − 2 is block n − 2 of one that starts at 0.
#[test]
fn ctr_wraps_all_128_bits() {
    for algorithm in [
        Algorithm::Aes128Ctr,
        Algorithm::Aes192Ctr,
        Algorithm::Aes256Ctr,
    ] {
        let operation = Operation::Encrypt;
        let KeyForm::Bytes(key_bytes) = algorithm.key_form() else {
            panic!("AES has fixed lengths")
        };
        for backend in with(algorithm, operation) {
            let key = key(&*backend, algorithm, &vec![7; key_bytes]);
            let stream = |iv: u128, bytes: usize| {
                let mut text = vec![0; bytes];
                let data = Data::InPlace(&mut text);
                let slices = Slices {
                    iv: iv.to_be_bytes(),
                    aad: &[],
                    data,
                    tag: &mut [],
                };
                let kind = Kind::new(algorithm, operation);
                assert_eq!(process_slices(&*backend, &*key, kind, slices), Status::Ok);
                text
            };
            let name = format!("{} {algorithm}", backend.name());
            assert_eq!(stream(u128::MAX - 1, 1000)[32..], stream(0, 968), "{name}");
            let carry = u128::from(u32::MAX);
            let carried = stream(carry - 3, 512);
            assert_eq!(carried[64..], stream(carry + 1, 448), "{name}");
        }
    }
}
