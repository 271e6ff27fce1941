//! Images that cryptsetup 2.6.1 formatted and Linux's dm-crypt wrote to, in a guest
//! (`scripts/disk-images.sh`); and what becomes of them when they are damaged.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use lockgate_disk::plain::{Hashing, key};
use sha2::{Digest, Sha256};

use lockgate_disk::{
    Cost, Hash, Header, HeaderError, Image, Iv, Layout, Luks2Error, Mode, SlotError, Spec,
    UnlockError, Volume, header,
};

pub const FIRST: &[u8] = b"first passphrase";
const SECOND: &[u8] = b"second\nwith a newline";

pub static LUKS1: LazyLock<Vec<u8>> =
    LazyLock::new(|| unpacked(include_bytes!("images/luks1.img.gz")));
pub static LUKS2: LazyLock<Vec<u8>> =
    LazyLock::new(|| unpacked(include_bytes!("images/luks2.img.gz")));

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut image = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut image).unwrap();
    image
}

/// What the guest wrote.
fn text(bytes: usize) -> Vec<u8> {
    let byte = |at: usize| (at * 31 + at / 4096 * 7 + 5) as u8;
    (0..bytes).map(byte).collect()
}

fn decrypted(image: &Vec<u8>, layout: Layout, key: &[u8]) -> Vec<u8> {
    let volume = Volume::new(image, layout, key).unwrap();
    let mut out = Vec::new();
    volume.copy_to(&mut out, &mut |_| true).unwrap();
    assert_eq!(out.len() as u64, volume.bytes());
    out
}

#[test]
fn what_the_kernel_wrote_is_read() {
    for (image, version, passphrases) in
        [(&*LUKS1, 1, &[FIRST][..]), (&*LUKS2, 2, &[FIRST, SECOND])]
    {
        let header = header(image).unwrap();
        assert_eq!(header.version, version);
        for passphrase in passphrases {
            let key = header.unlock(image, passphrase, None).unwrap();
            assert_eq!(
                decrypted(image, header.layout.clone().unwrap(), &key)[..16384],
                text(16384)
            );
        }
    }
}

#[test]
fn plain_images_are_read_with_cryptsetups_defaults_and_without() {
    let usual = Layout {
        spec: lockgate_disk::plain::CIPHER.parse().unwrap(),
        offset: 0,
        bytes: Some(4096),
        sector_bytes: 512,
        iv_offset: 0,
        iv_large_sectors: false,
    };
    let skipped = Layout {
        spec: "aes-xts-plain64".parse().unwrap(),
        offset: 4096,
        sector_bytes: 4096,
        iv_offset: 1000,
        iv_large_sectors: true,
        ..usual
    };
    for (image, layout, hash, bytes) in [
        (
            &include_bytes!("images/plain.img")[..],
            usual,
            Hash::Ripemd160,
            32,
        ),
        (
            &include_bytes!("images/skipped.img")[..],
            skipped,
            Hash::Sha512,
            64,
        ),
    ] {
        let key = key(Hashing::Hash(hash), FIRST, bytes);
        assert_eq!(
            decrypted(&image.to_vec(), layout, &key),
            text(4096),
            "{hash}"
        );
    }
}

#[test]
fn a_header_says_what_cryptsetup_says() {
    let header = header(&*LUKS2).unwrap();
    assert_eq!(header.uuid, "66666666-2222-3333-4444-555555555555");
    assert_eq!((&*header.label, &*header.subsystem), ("small", "test"));
    assert_eq!(header.tokens, [(3, "luks2-keyring".to_owned())]);
    let spec = Spec {
        mode: Mode::Cbc,
        iv: Iv::EssivSha256,
    };
    let layout = header.layout.unwrap();
    assert_eq!((layout.spec, layout.sector_bytes), (spec, 4096));
    assert_eq!(layout.offset, 557_056);
    let numbers: Vec<_> = header.slots.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 2, 4]);
    assert!(matches!(header.slots[1].1, Err(SlotError::Unbound)));
    let slot = header.slots[2].1.as_ref().unwrap();
    let cost = Cost::Pbkdf2 {
        hash: Hash::Sha512,
        iterations: 1000,
    };
    assert_eq!((slot.kdf.cost, slot.priority), (cost, 2));
}

#[test]
fn wrong_passphrases_and_slots_are_named() {
    let (one, two) = (header(&*LUKS1).unwrap(), header(&*LUKS2).unwrap());
    let error = |header: &Header, image: &Vec<u8>, passphrase: &[u8], only| {
        header
            .unlock(image, passphrase, only)
            .unwrap_err()
            .to_string()
    };
    for (error, said) in [
        (error(&one, &LUKS1, b"wrong", None), "tried: 0"),
        (
            error(&two, &LUKS2, b"wrong", None),
            "tried: 4, 0; slot 2 cannot be used: it is bound to no data",
        ),
        (error(&two, &LUKS2, SECOND, Some(0)), "tried: 0"),
        (
            error(&two, &LUKS2, FIRST, Some(2)),
            "key slot 2 cannot be used",
        ),
        (error(&two, &LUKS2, FIRST, Some(7)), "key slot 7 is empty"),
    ] {
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn truncated_images_are_refused() {
    for image in [&*LUKS1, &*LUKS2] {
        let opens = |bytes: usize| {
            let image = image[..bytes].to_vec();
            let header = header(&image).map_err(|error| error.to_string())?;
            let layout = header.layout.map_err(|error| error.to_string())?;
            layout.data_bytes(&image).map_err(|error| error.to_string())
        };
        for bytes in [0, 5, 8, 591, 4095, 16383, 65536, 300_000] {
            opens(bytes).unwrap_err();
        }
        assert!(
            opens(image.len() - 100)
                .unwrap_err()
                .contains("whole sectors")
        );
    }
    let short = LUKS1[..60_000].to_vec();
    let error = header(&short)
        .unwrap()
        .unlock(&short, FIRST, None)
        .unwrap_err();
    assert!(matches!(error, UnlockError::Truncated(0)), "{error}");
}

#[test]
fn no_header_is_told_from_a_damaged_one() {
    assert!(matches!(header(&vec![0; 1 << 20]), Err(HeaderError::None)));
    let mut image = LUKS2.clone();
    for copy in [0, 16384] {
        image[copy + 100] ^= 1;
    }
    let error = header(&image).unwrap_err();
    assert!(
        matches!(error, HeaderError::Luks2(Luks2Error::NeitherCopy { .. })),
        "{error:?}"
    );
}

/// The stripes, too: one bit decides.
#[test]
fn a_changed_bit_of_a_key_slot_opens_nothing() {
    for at in [4096, 4096 + 31_999, 4096 + 63_999] {
        let mut image = LUKS1.clone();
        image[at] ^= 1;
        let header = header(&image).unwrap();
        assert!(header.unlock(&image, FIRST, None).is_err(), "byte {at}");
    }
    assert_eq!(LUKS1.bytes(), 1032 * 512 + 32768);
}

/// The image with another JSON in its first header, which is the younger then.
fn rewritten(change: &dyn Fn(&mut serde_json::Value)) -> Vec<u8> {
    let mut image = LUKS2.clone();
    rewrite(&mut image[..16384], change);
    image
}

/// Changes the JSON of one copy of a header, which is the youngest then.
pub fn rewrite(copy: &mut [u8], change: &dyn Fn(&mut serde_json::Value)) {
    let json = copy[4096..].split(|byte| *byte == 0).next().unwrap();
    let mut value = serde_json::from_slice(json).unwrap();
    change(&mut value);
    let json = value.to_string();
    copy[4096..].fill(0);
    copy[4096..][..json.len()].copy_from_slice(json.as_bytes());
    copy[16..24].copy_from_slice(&u64::MAX.to_be_bytes());
    copy[448..512].fill(0);
    let checksum = Sha256::digest(&*copy);
    copy[448..480].copy_from_slice(&checksum);
}

#[test]
fn what_is_not_supported_is_named_and_the_rest_is_described() {
    type Change = fn(&mut serde_json::Value);
    let cases: [(&str, Change); 9] = [
        ("integrity tags (aead)", |json| {
            json["segments"]["0"]["integrity"] = serde_json::json!({ "type": "aead" });
        }),
        ("requires 'online-reencrypt-v2'", |json| {
            let names = serde_json::json!({ "mandatory": ["online-reencrypt-v2"] });
            json["config"]["requirements"] = names;
        }),
        ("reencrypted (key slot 9)", |json| {
            json["keyslots"]["9"] = serde_json::json!({ "type": "reencrypt", "mode": "x" });
        }),
        ("2 segments", |json| {
            json["segments"]["1"] = json["segments"]["0"].clone()
        }),
        ("0 segments", |json| {
            json["segments"] = serde_json::json!({})
        }),
        ("'linear'", |json| {
            json["segments"]["0"]["type"] = "linear".into()
        }),
        ("'serpent-xts-plain64'", |json| {
            json["segments"]["0"]["encryption"] = "serpent-xts-plain64".into();
        }),
        ("'essiv:sha1'", |json| {
            json["segments"]["0"]["encryption"] = "aes-cbc-essiv:sha1".into();
        }),
        ("'-1'", |json| json["segments"]["0"]["size"] = "-1".into()),
    ];
    for (named, change) in cases {
        let header = header(&rewritten(&change)).unwrap();
        assert_eq!(header.label, "small");
        let error = header.layout.unwrap_err().to_string();
        assert!(error.contains(named), "{named}: {error}");
    }
    let twofish = |at: usize, name: &[u8]| {
        let mut image = LUKS1.clone();
        image[at..][..name.len()].copy_from_slice(name);
        header(&image).unwrap()
    };
    let header = twofish(8, b"twofish\0");
    assert!(
        header
            .layout
            .unwrap_err()
            .to_string()
            .contains("'twofish-cbc-")
    );
    assert!(matches!(header.slots[..], [(0, Err(SlotError::Spec(_)))]));
    let header = twofish(72, b"md4\0");
    assert!(matches!(header.slots[..], [(0, Err(SlotError::Hash(_)))]));
}

/// What a slot costs and where it lies is bounded before anything is read or allocated.
#[test]
fn key_slots_beyond_the_limits_are_named() {
    type Change = fn(&mut serde_json::Value);
    let cases: [(&str, Change); 11] = [
        ("KiB for Argon2", |slot| {
            slot["kdf"]["memory"] = u32::MAX.into()
        }),
        ("KiB for Argon2", |slot| slot["kdf"]["memory"] = 0.into()),
        ("passes of Argon2", |slot| {
            slot["kdf"]["time"] = u32::MAX.into()
        }),
        ("lanes of Argon2", |slot| slot["kdf"]["cpus"] = 5.into()),
        ("bytes of salt", |slot| slot["kdf"]["salt"] = "".into()),
        ("stripes of", |slot| slot["af"]["stripes"] = u64::MAX.into()),
        ("stripes of", |slot| slot["af"]["stripes"] = 0.into()),
        ("stripes of", |slot| slot["key_size"] = 1000.into()),
        ("outside the key slots' area", |slot| {
            slot["area"]["offset"] = u64::MAX.to_string().into();
        }),
        ("outside the key slots' area", |slot| {
            slot["area"]["offset"] = "4096".into()
        }),
        ("128, 192 or 256 bits", |slot| {
            slot["area"]["key_size"] = 17.into()
        }),
    ];
    for (named, change) in cases {
        let image = rewritten(&|json| change(&mut json["keyslots"]["0"]));
        let header = header(&image).unwrap();
        let error = header.slots[0].1.as_ref().unwrap_err().to_string();
        assert!(error.contains(named), "{named}: {error}");
        // The other slot opens as before.
        assert!(header.unlock(&image, SECOND, None).is_ok(), "{named}");
    }
}

#[test]
fn headers_that_contradict_themselves_are_refused() {
    type Change = fn(&mut serde_json::Value);
    let cases: [(&str, Change); 4] = [
        ("JSON area of 1", |json| {
            json["config"]["json_size"] = "1".into()
        }),
        ("key slots' area of", |json| {
            json["config"]["keyslots_size"] = u64::MAX.to_string().into();
        }),
        ("33 tokens", |json| {
            for number in 0..33 {
                json["tokens"][number.to_string()] = serde_json::json!({ "type": "x" });
            }
        }),
        ("JSON cannot be read", |json| json["segments"] = 7.into()),
    ];
    for (named, change) in cases {
        let HeaderError::Luks2(error) = header(&rewritten(&change)).unwrap_err() else {
            panic!("{named}");
        };
        assert!(error.to_string().contains(named), "{named}: {error}");
    }
}
