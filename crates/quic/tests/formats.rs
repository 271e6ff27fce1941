//! What each format says of packets.

use crate::make::{Bytes, KEY_LOG, SECTION, TLS, frames, ip4, items, samples};
use lockgate_quic::capture::{BLOCK_BYTES_MAX, INTERFACES_MAX, Item, LinkType, RECORD_BYTES_MAX};

const S: u64 = 1_000_000_000;

#[test]
fn a_pcap_of_either_order_and_tick_is_read() {
    for is_big in [false, true] {
        for (magic, tick_ns) in [(0xa1b2_c3d4, 1000), (0xa1b2_3c4d, 1)] {
            // A check sequence of 4 bytes, as the upper bits say, is no part of the type.
            let made = Bytes::new(is_big).pcap(magic, 0x2400_0001);
            let made = made.record([u32::MAX, 999], &[1, 2, 3], 3);
            let read = frames(&made.record([7, 8], &[4], 1500).bytes);
            assert_eq!(read[0].time_ns, u64::from(u32::MAX) * S + 999 * tick_ns);
            assert_eq!(
                (read[0].bytes.as_slice(), read[0].number),
                (&[1, 2, 3][..], 1)
            );
            assert_eq!((read[0].is_cut, read[0].link), (false, LinkType::ETHERNET));
            assert_eq!((read[1].is_cut, read[1].number), (true, 2));
            assert_eq!(read[1].time_ns, 7 * S + 8 * tick_ns);
        }
    }
}

#[test]
fn a_record_has_at_most_256_kib() {
    let longest = vec![0; RECORD_BYTES_MAX as usize];
    let made = Bytes::new(false).pcap(0xa1b2_c3d4, 1);
    assert_eq!(
        frames(&made.clone().record([0, 0], &longest, 0).bytes)[0].bytes,
        longest
    );
    let made = made.words(&[0, 0, RECORD_BYTES_MAX + 1, 0]);
    let error = items(&made.bytes).1.unwrap();
    assert!(error.contains("byte 24"), "{error}");
    assert!(
        error.contains("262145") && error.contains("262144"),
        "{error}"
    );
}

#[test]
fn a_block_of_each_kind_is_read() {
    for (name, bytes) in samples()
        .into_iter()
        .filter(|(name, _)| name.starts_with("pcapng"))
    {
        let (items, error) = items(&bytes);
        assert_eq!(error, None, "{name}");
        let Item::Secrets(secrets) = &items[0] else {
            panic!("{name}: the secrets come first")
        };
        assert_eq!(secrets.as_bytes(), KEY_LOG);
        let read = frames(&bytes);
        let times: Vec<_> = read.iter().map(|frame| frame.time_ns).collect();
        assert_eq!(times[..3], [1_700_000_000_123_456_789, 0, 9], "{name}");
        let lengths: Vec<_> = read.iter().map(|frame| frame.bytes.len()).collect();
        assert_eq!(lengths[..3], [35, 30, 34]);
        let cut: Vec<_> = read.iter().map(|frame| frame.is_cut).collect();
        assert_eq!(cut[..3], [false, true, true]);
        if let Some(other) = read.get(3) {
            assert_eq!((other.link, other.time_ns), (LinkType::IPV4, 5000));
        }
        let numbers = read.iter().map(|frame| frame.number);
        assert!(numbers.eq(1..=read.len() as u64));
    }
}

/// Of `ticks`, by the options of an interface.
fn time_ns(is_big: bool, ticks: u64, options: &[(u16, &[u8])]) -> u64 {
    let made = Bytes::new(is_big).section().interface(1, 0, options);
    frames(&made.enhanced(0, ticks, &[], 0).bytes)[0].time_ns
}

#[test]
fn resolutions_and_offsets_give_nanoseconds() {
    assert_eq!(time_ns(false, 5, &[]), 5000);
    for (resolution, ticks, expected) in [
        (0, 3, 3 * S),
        (3, 3, 3_000_000),
        (9, 3, 3),
        (12, 3999, 3),
        (28, u64::MAX, 1),
        (29, u64::MAX, 0),
        (0x7f, u64::MAX, 0),
        (0x80, 3, 3 * S),
        (0x81, 3, 3 * S / 2),
        (0x80 | 30, 1 << 30, S),
        (0xff, u64::MAX, 0),
        (0, u64::MAX, u64::MAX),
    ] {
        let found = time_ns(true, ticks, &[(9, &[resolution])]);
        assert_eq!(found, expected, "{resolution} {ticks}");
    }
    for (offset_s, ticks, expected) in [
        (10, 5, 10 * S + 5000),
        (-1, 1_500_000, S / 2),
        (-1, 0, 0),
        (i64::MAX, 1, u64::MAX),
        (i64::MIN, u64::MAX, 0),
    ] {
        let big = time_ns(true, ticks, &[(14, &offset_s.to_be_bytes())]);
        let little = time_ns(false, ticks, &[(14, &offset_s.to_le_bytes()), (0, &[])]);
        assert_eq!((big, little), (expected, expected), "{offset_s} {ticks}");
    }
}

#[test]
fn a_section_has_its_own_interfaces() {
    let made = Bytes::new(false).section();
    let made = made
        .interface(1, 0, &[])
        .interface(101, 0, &[])
        .enhanced(1, 0, &[], 0);
    assert_eq!(frames(&made.bytes)[0].link, LinkType::RAW);
    let error = items(&made.section().enhanced(0, 0, &[], 0).bytes)
        .1
        .unwrap();
    assert!(
        error.contains("interface 0") && error.contains("has 0"),
        "{error}"
    );
}

#[test]
fn a_section_has_no_more_interfaces_than_the_limit() {
    let made = Bytes::new(false).section();
    let made = (0..INTERFACES_MAX).fold(made, |made, _| made.interface(1, 0, &[]));
    assert_eq!(items(&made.bytes).1, None);
    let error = items(&made.interface(1, 0, &[]).bytes).1.unwrap();
    assert!(error.contains("4096"), "{error}");
}

#[test]
fn lengths_of_blocks_are_checked() {
    for bytes in [
        0,
        4,
        8,
        11,
        13,
        14,
        15,
        BLOCK_BYTES_MAX + 4,
        u32::MAX,
        u32::MAX - 3,
    ] {
        let made = Bytes::new(true).section().words(&[77, bytes, 0, 0]);
        let error = items(&made.bytes).1.unwrap();
        assert!(error.contains("byte 28"), "{error}");
        assert!(error.contains(&format!("{bytes} bytes")), "{error}");
        assert!(error.contains("16777216"), "{error}");
    }
    let largest = vec![0; BLOCK_BYTES_MAX as usize - 12];
    let made = Bytes::new(true)
        .section()
        .block(77, |body| body.raw(&largest));
    assert_eq!(items(&made.bytes).1, None);
    let made = Bytes::new(true).section().words(&[77, 16, 0, 20]);
    let error = items(&made.bytes).1.unwrap();
    assert!(
        error.contains("16 bytes by") && error.contains("20 by"),
        "{error}"
    );
}

#[test]
fn what_blocks_say_is_inside_them() {
    let made = || Bytes::new(false).section().interface(1, 0, &[]);
    let with = |kind, body: &[u32]| made().block(kind, |bytes| bytes.words(body));
    for (kind, body) in [
        (1, &[1][..]),
        // An option of 5 bytes in 4; if_tsresol and if_tsoffset of wrong lengths.
        (1, &[1, 0, 0x0005_0001, 0]),
        (1, &[1, 0, 0x0002_0009, 0]),
        (1, &[1, 0, 0x0004_000e, 0]),
        (2, &[0, 0, 0, 1, 1]),
        (3, &[]),
        (3, &[5, 0]),
        (6, &[0, 0, 0, 0]),
        (6, &[0, 0, 0, 1, 1]),
        (6, &[0, 0, 0, u32::MAX, 1]),
        (10, &[TLS]),
        (10, &[TLS, 5, 0]),
        (SECTION, &[0x1a2b_3c4d]),
    ] {
        let error = items(&with(kind, body).bytes).1.unwrap();
        assert!(
            error.contains("shorter than its fields"),
            "{kind} {body:?}: {error}"
        );
    }
}

#[test]
fn versions_and_byte_orders_that_are_not_known_are_named() {
    let section = |words: &[u32]| Bytes::new(false).block(SECTION, |body| body.words(words));
    for (made, named) in [
        (section(&[0x1a2b_3c4e, 1, 0, 0]), "[4e, 3c, 2b, 1a]"),
        (section(&[0x1a2b_3c4d, 0x0003_0002, 0, 0]), "version 2.3"),
        (
            Bytes::new(false).words(&[0xa1b2_c3d4, 2, 0, 0, 0, 1]),
            "version 2.0",
        ),
    ] {
        let error = items(&made.bytes).1.unwrap();
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn other_files_are_named_with_the_remedy() {
    for (begin, named, remedy) in [
        (&b"\x1f\x8b\x08\x00"[..], "gzip", "unpack"),
        (b"\x28\xb5\x2f\xfd\x04", "zstd", "unpack"),
        (b"\xfd7zXZ\0", "xz", "unpack"),
        (b"BZh91AY", "bzip2", "unpack"),
        (b"\x04\x22\x4d\x18", "lz4", "unpack"),
        (b"PK\x03\x04", "zip", "unpack"),
        (b"snoop\0\0\0", "snoop", "editcap"),
        (b"\x34\xcd\xb2\xa1", "modified pcap", "editcap"),
        (b"# a text", "[23, 20, 61, 20]", "editcap"),
        (b"\xd4", "[d4]", "editcap"),
        (b"", "empty", "tcpdump"),
    ] {
        let error = items(begin).1.unwrap();
        assert!(error.contains(named) && error.contains(remedy), "{error}");
    }
}

#[test]
fn the_same_items_come_whatever_a_read_gives() {
    struct Slow<'b>(&'b [u8], bool);
    impl std::io::Read for Slow<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
            let bytes = to.len().min(1);
            self.0.read(&mut to[..bytes])
        }
    }
    for (name, bytes) in samples() {
        let (expected, _) = items(&bytes);
        let slow = Slow(&bytes, false);
        let capture = lockgate_quic::capture::Capture::open(slow).unwrap();
        let found: Vec<_> = capture.map(Result::unwrap).collect();
        assert_eq!(found.len(), expected.len(), "{name}");
        let mut pairs = found.iter().zip(&expected);
        assert!(pairs.all(|(a, b)| crate::make::is_same(a, b)), "{name}");
    }
}

#[test]
fn an_input_that_fails_is_reported_with_its_cause() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let good = Bytes::new(false)
        .pcap(0xa1b2_c3d4, 1)
        .record([0, 0], &ip4(b""), 28);
    let input = std::io::Read::chain(&good.bytes[..], Broken);
    let mut capture = lockgate_quic::capture::Capture::open(input).unwrap();
    assert!(capture.next().unwrap().is_ok());
    let error = capture.next().unwrap().unwrap_err();
    assert!(error.to_string().contains("byte 68"), "{error}");
    let cause = std::error::Error::source(&error).unwrap();
    assert_eq!(cause.to_string(), "the disk is gone");
}
