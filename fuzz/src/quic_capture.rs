//! A packet capture of unknown origin, down to its datagrams.

use quic::capture::{Capture, Datagram, Datagrams, Item, KeyLog, Writer};

/// A capture is read up to its end or its first error; every frame is in a datagram or is
/// counted, and no item holds more bytes than the file. The datagrams, written as packets
/// into another capture, are read from it again.
pub fn quic_capture(data: &[u8]) {
    let Ok(capture) = Capture::open(data) else {
        return;
    };
    let mut finder = Datagrams::new();
    let mut datagrams = Vec::new();
    let (mut frames, mut bytes) = (0, 0);
    for item in capture.flatten() {
        match item {
            Item::Packet(frame) => {
                frames += 1;
                assert_eq!(frame.number, frames);
                bytes += frame.bytes.len();
                datagrams.extend(finder.datagram(&frame));
            }
            Item::Secrets(secrets) => {
                bytes += secrets.as_bytes().len();
                let _ = KeyLog::read(secrets.as_bytes());
            }
        }
    }
    let joined: u64 = datagrams.iter().map(|datagram| datagram.frames).sum();
    assert_eq!(frames, joined + finder.skipped().total());
    assert!(bytes <= data.len());
    write_again(&datagrams);
}

fn write_again(datagrams: &[Datagram]) {
    let mut writer = Writer::new(Vec::new()).expect("memory takes everything");
    // Behind an IP header without extensions all of them fit but the very longest.
    let written: Vec<_> = datagrams
        .iter()
        .filter(|datagram| datagram.payload.len() <= 65_507)
        .collect();
    for datagram in &written {
        writer.datagram(datagram).expect("it is short");
    }
    let capture = writer.finish().expect("memory takes everything");
    let mut finder = Datagrams::new();
    let items = Capture::open(&capture[..]).expect("it was just written");
    let again: Vec<_> = items
        .map(|item| match item.expect("it was just written") {
            Item::Packet(frame) => finder.datagram(&frame).expect("it is a datagram"),
            Item::Secrets(_) => panic!("none were written"),
        })
        .collect();
    assert_eq!(again.len(), written.len());
    for (again, datagram) in again.iter().zip(written) {
        assert_eq!(again.payload, datagram.payload);
        let about = |one: &Datagram| (one.time_ns, one.source, one.destination);
        assert_eq!(about(again), about(datagram));
    }
}
