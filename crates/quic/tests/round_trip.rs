//! What is written is what is read.

use crate::make::items;
use lockgate_quic::capture::{BLOCK_BYTES_MAX, Item, LinkType, WriteError, Writer};
use proptest::prelude::*;
use testing::assert_matches;

#[derive(Clone, Debug)]
enum Written {
    Packet(u64, Vec<u8>),
    Secrets(Vec<u8>),
}

fn written() -> impl Strategy<Value = Written> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..200);
    prop_oneof![
        (any::<u64>(), bytes()).prop_map(|(time_ns, bytes)| Written::Packet(time_ns, bytes)),
        bytes().prop_map(Written::Secrets),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(128, 8192)))]

    #[test]
    fn packets_and_secrets_are_read_as_they_were_written(all in proptest::collection::vec(written(), 0..20)) {
        let mut writer = Writer::new(Vec::new()).unwrap();
        for one in &all {
            match one {
                Written::Packet(time_ns, bytes) => writer.packet(*time_ns, bytes).unwrap(),
                Written::Secrets(text) => writer.secrets(text).unwrap(),
            }
        }
        let (items, error) = items(&writer.finish().unwrap());
        prop_assert_eq!(error, None);
        prop_assert_eq!(items.len(), all.len());
        let mut number = 0;
        for (item, one) in items.iter().zip(&all) {
            match (item, one) {
                (Item::Packet(frame), Written::Packet(time_ns, bytes)) => {
                    number += 1;
                    prop_assert_eq!((frame.time_ns, &frame.bytes), (*time_ns, bytes));
                    prop_assert_eq!((frame.link, frame.is_cut), (LinkType::RAW, false));
                    prop_assert_eq!(frame.number, number);
                }
                (Item::Secrets(secrets), Written::Secrets(text)) => {
                    prop_assert_eq!(secrets.as_bytes(), &text[..]);
                }
                _ => prop_assert!(false, "{:?} became {:?}", one, item),
            }
        }
    }
}

#[test]
fn what_no_reader_takes_is_not_written() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let longest = vec![0; BLOCK_BYTES_MAX as usize - 32];
    writer.packet(0, &longest).unwrap();
    let long = vec![0; longest.len() + 1];
    assert_matches!(writer.packet(0, &long), Err(WriteError::Long { .. }));
    assert_matches!(
        writer.secrets(&[&long[..], &[0; 12]].concat()),
        Err(WriteError::Long { .. })
    );
    // Nothing was written of what was refused.
    let (items, error) = items(&writer.finish().unwrap());
    assert_eq!((items.len(), error), (1, None));
}
