//! Packets by every set of instructions against AWS-LC's; segments end or begin at pages
//! that cannot be touched.

use super::{Guarded, all_sets, noise};
use crate::{
    Algorithm, Backend, Job, KeyMaterial, Kind, Operation, PacketPlace, Packets, Segment, Segments,
    Status, by_name,
};

const SUITES: [Packets; 2] = [Packets::Aes128Gcm, Packets::Aes256Gcm];

/// Of one key, and how many pieces each side of a packet has.
struct Case {
    suite: Packets,
    seed: u64,
    keys: u64,
    pieces: usize,
    places: Vec<PacketPlace>,
    packets: Vec<Vec<u8>>,
}

impl Case {
    fn new(seed: u64, count: usize) -> Self {
        let draw = noise(seed, 8 * count);
        let all = draw.chunks(8).enumerate().map(|(index, draw)| {
            let number_at = 1 + usize::from(draw[0]) % [21, 90][usize::from(draw[1] % 2)];
            let text = usize::from(draw[2]) * [1, 2, 6][usize::from(draw[3] % 3)];
            let mut packet = noise(seed + index as u64, number_at + 4 + text);
            packet[0] = packet[0] & 0x87 | 0x40;
            let place = PacketPlace {
                number: u64::from(draw[4]),
                number_at: number_at as u16,
                phase: None,
            };
            let bytes = usize::from(packet[0] & 3) + 1;
            let end = &place.number.to_be_bytes()[8 - bytes..];
            packet[number_at..number_at + bytes].copy_from_slice(end);
            (place, packet)
        });
        let (places, packets) = all.unzip();
        Self {
            suite: SUITES[seed as usize % 2],
            seed,
            keys: [1, 2, 70][seed as usize % 3],
            pieces: 1 + usize::from(seed % 5 == 4) * 3,
            places,
            packets,
        }
    }

    fn run(
        &self,
        backend: &dyn Backend,
        operation: Operation,
        sources: &[Vec<u8>],
    ) -> Vec<(Status, Vec<u8>)> {
        let algorithm = Algorithm::Packets(self.suite);
        let key = |number: u64| {
            let mut key = noise(self.seed + number, self.suite.key_bytes());
            backend
                .key(algorithm, &KeyMaterial::take(&mut key))
                .unwrap()
        };
        let keys: Vec<_> = (0..self.keys).map(key).collect();
        let kind = Kind::new(algorithm, operation);
        let is_end = self.seed.is_multiple_of(2);
        let sources = sources.iter().map(|source| {
            let parts = source.chunks(source.len().div_ceil(self.pieces));
            let parts: Vec<_> = parts
                .map(|part| Guarded::new(part.len(), is_end).filled(part))
                .collect();
            parts
        });
        let sources: Vec<_> = sources.collect();
        let destinations: Vec<_> = sources
            .iter()
            .map(|parts| {
                let bytes = parts.iter().map(|part| part.segment().len).sum();
                Guarded::new(kind.destination_bytes(bytes).unwrap(), !is_end)
            })
            .collect();
        let lists: Vec<Vec<Segment>> = sources
            .iter()
            .map(|parts| parts.iter().map(Guarded::segment).collect())
            .collect();
        let jobs: Vec<_> = lists
            .iter()
            .zip(&destinations)
            .zip(&self.places)
            .enumerate()
            .map(|(index, ((list, destination), place))| Job {
                key: &*keys[index / 3 % keys.len()],
                source: Segments {
                    first: list[0],
                    rest: list[1..].as_ptr(),
                    rest_count: list.len() as u32 - 1,
                },
                destination: Segments::one(destination.segment()),
                iv: place.job_iv(),
                aad: Segment::EMPTY,
                tag: Segment::EMPTY,
            })
            .collect();
        let mut statuses = vec![Status::Cancelled; jobs.len()];
        // SAFETY: segments and lists live until the end of this function.
        unsafe { backend.process(kind, &jobs, &mut statuses) };
        let bytes = destinations.iter().map(Guarded::bytes);
        statuses.into_iter().zip(bytes).collect()
    }
}

fn bytes(ended: &[(Status, Vec<u8>)]) -> Vec<Vec<u8>> {
    ended.iter().map(|(_, bytes)| bytes.clone()).collect()
}

#[test]
fn every_set_seals_opens_and_refuses_as_aws_lc_does() {
    let other = by_name("aws-lc").unwrap();
    for seed in 0..u64::from(testing::cases(40, 4000)) {
        let count = 1 + usize::from(noise(seed, 1)[0]) % [6, 40, 140][seed as usize % 3];
        let case = Case::new(seed, count);
        let sealed = case.run(&*other, Operation::Encrypt, &case.packets);
        assert!(sealed.iter().all(|(status, _)| *status == Status::Ok));
        let mut forged = bytes(&sealed);
        for (packet, draw) in forged.iter_mut().zip(noise(seed + 7, count)) {
            let at = usize::from(draw) * 5 % packet.len();
            packet[at] ^= u8::from(draw % 4 == 0) << (draw % 8);
        }
        let opened = case.run(&*other, Operation::Decrypt, &forged);
        for own in all_sets() {
            let what = format!("{} seed {seed}, {count} packets", own.set);
            let ours = case.run(&own, Operation::Encrypt, &case.packets);
            assert!(ours == sealed, "sealed: {what}");
            let ours = case.run(&own, Operation::Decrypt, &bytes(&sealed));
            let is_whole = |one: &(Status, Vec<u8>)| one.0 == Status::Ok;
            assert!(ours.iter().all(is_whole), "opened: {what}");
            assert!(bytes(&ours) == case.packets, "opened: {what}");
            let ours = case.run(&own, Operation::Decrypt, &forged);
            assert!(ours == opened, "forged: {what}");
        }
    }
}
