use std::collections::BTreeMap;

use kit::rehearsal::{Script, rehearse};
use trial::{Dimension, Event};

use super::*;

/// Half the speed of an unencrypted volume, a twentieth in software; on a disk all
/// are as slow as the disk.
fn speeds(point: &BTreeMap<String, Dimension>) -> f64 {
    let text = |name: &str| point[name].to_string();
    match (
        text("storage").as_str(),
        text("disk_mode").as_str(),
        text("tier").as_str(),
    ) {
        ("file", ..) => 10.0,
        (_, "unencrypted", _) => 100.0,
        (_, _, "aesni-aes") => 5.0,
        _ => 50.0,
    }
}

#[test]
fn what_was_planted_is_told() {
    let script = Script {
        speed: speeds,
        ..Script::default()
    };
    let events = rehearse::<DiskModes>(&toml::Table::new(), &script)
        .unwrap()
        .events;
    let texts: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Finding(finding) => Some(finding.text.as_str()),
            _ => None,
        })
        .collect();
    for said in [
        "An encrypted volume in memory has of the speed of an unencrypted one: xts write 0.50× (0.50 to 0.50), xts read 0.50×",
        "AES-NI alone makes it faster than software: xts",
        "The book chapter has 1.16 to 1.50×",
        "The book chapter has 1.40 to 1.91×",
        "On the disk itself encryption is not told apart from none",
    ] {
        assert!(
            texts.iter().any(|text| text.contains(said)),
            "{said}: {texts:#?}"
        );
    }
}

#[test]
fn a_key_that_a_mode_does_not_take_is_named_with_those_it_does() {
    for (table, said) in [
        (
            "key_bits = 512",
            "cbc has no key of 512 bits; it has 128, 192 and 256",
        ),
        (
            "modes = ['xts']\nkey_bits = 128",
            "xts has no key of 128 bits; it has 256, 384 and 512",
        ),
        (
            "sector_bytes = 1000",
            "sectors of 1000 bytes are not supported",
        ),
    ] {
        let error = kit::testing::section::<DiskModes>(table)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(said), "{error}");
    }
}
