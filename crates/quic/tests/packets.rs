//! Packets in batches by every back-end, beside the one that does one after the other.

use std::sync::Arc;

use crypto::{
    Algorithm, Backend, Key, Kind, Operation, PacketPlace, PacketSlices, Status, process_packets,
};
use lockgate_quic::protection::{HeaderKey, OpenError, PacketKey, TAG_BYTES, Unmasked};
use lockgate_quic::{Protocol, Secret, Suite};
use wire::quic::packet_number::NUMBER_MAX;

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 8
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// A side of a connection, its keys with every back-end.
struct Side {
    header: HeaderKey,
    payload: PacketKey<'static>,
    keys: Vec<Box<dyn Key>>,
}

impl Side {
    fn new(backends: &[Arc<dyn Backend>], suite: Suite, random: &mut Random) -> Self {
        let protocol = [Protocol::V1, Protocol::V2][random.below(2)];
        let [first, secret] = [0; 2].map(|_| Secret::new(random.bytes(suite.secret_bytes())));
        let reference: &'static dyn Backend = &**Box::leak(Box::new(
            crypto::by_name("portable").expect("it is always there"),
        ));
        let material = protocol.packets_key(suite, &first, &secret);
        let algorithm = Algorithm::Packets(suite.packets());
        Self {
            header: HeaderKey::derive(protocol, suite, &first),
            payload: PacketKey::derive(reference, protocol, suite, &secret).unwrap(),
            keys: backends
                .iter()
                .map(|one| one.key(algorithm, &material).unwrap())
                .collect(),
        }
    }
}

struct Packet {
    side: usize,
    number: u64,
    number_at: usize,
    /// Of the key, to open it.
    phase: Option<bool>,
    /// The largest number that was opened before.
    largest: Option<u64>,
    plain: Vec<u8>,
    sealed: Vec<u8>,
    /// As it comes: some are forged.
    received: Vec<u8>,
    /// As the one-by-one code opens what comes.
    opened: Result<Vec<u8>, Status>,
}

impl Packet {
    fn new(sides: &[Side], random: &mut Random) -> Self {
        let side = random.below(sides.len());
        let own = &sides[side];
        let is_long = random.below(4) == 0;
        let number_at = match is_long {
            true => 7 + random.below(90),
            false => 1 + random.below(21),
        };
        let bytes = [40, 300, 1500, 1500][random.below(4)];
        let mut plain = random.bytes(number_at + 4);
        let payload = random.below(bytes);
        plain.extend(random.bytes(payload));
        let (reserved, form) = if is_long { (0x0c, 0xc0) } else { (0x18, 0x40) };
        plain[0] = plain[0] & !reserved & 0x3f | form;
        let number_bytes = usize::from(plain[0] & 3) + 1;
        let number = random.next() % (NUMBER_MAX >> random.below(62)).max(1);
        let end = &number.to_be_bytes()[8 - number_bytes..];
        plain[number_at..number_at + number_bytes].copy_from_slice(end);
        let mut sealed = [&plain[..], &[0; TAG_BYTES]].concat();
        let done = own
            .payload
            .seal(&own.header, &mut sealed, number_at, number);
        assert_eq!(done, Ok(()));
        let mut received = sealed.clone();
        if random.below(8) == 0 {
            let at = random.below(8 * received.len());
            received[at / 8] ^= 1 << (at % 8);
        }
        // As far before as the bytes of the number reach.
        let before = 1 + random.next() % (1 << (8 * number_bytes - 1));
        let is_phase_set = plain[0] & 4 > 0;
        let mut packet = Self {
            side,
            number,
            number_at,
            phase: (!is_long).then_some(is_phase_set != (random.below(8) == 0)),
            largest: number.checked_sub(before),
            plain,
            sealed,
            received,
            opened: Err(Status::Cancelled),
        };
        packet.opened = packet.opened_alone(own);
        packet
    }

    fn opened_alone(&self, own: &Side) -> Result<Vec<u8>, Status> {
        let mut copy = self.received.clone();
        let shown = Unmasked::new(&own.header, &mut copy, self.number_at, self.largest);
        let shown = shown.unwrap();
        let is_set = shown.first().is_key_phase_set();
        if self.phase.is_some_and(|phase| phase != is_set) {
            return Err(Status::InvalidInput);
        }
        match shown.open(&own.payload) {
            Ok(_) => {}
            Err((_, OpenError::Authentication)) => return Err(Status::AuthenticationFailed),
            Err((_, error)) => panic!("{error}"),
        }
        copy.truncate(copy.len() - TAG_BYTES);
        Ok(copy)
    }

    fn place(&self, operation: Operation) -> PacketPlace {
        let seals = operation == Operation::Encrypt;
        PacketPlace {
            number: match seals {
                true => self.number,
                false => self.largest.map_or(0, |largest| largest + 1),
            },
            number_at: self.number_at as u16,
            phase: self.phase.filter(|_| !seals),
        }
    }
}

/// Runs a batch, and compares it with what was done one by one.
fn agree(backends: &[Arc<dyn Backend>], suite: Suite, sides: &[Side], batch: &[Packet]) {
    for (index, backend) in backends.iter().enumerate() {
        for operation in [Operation::Encrypt, Operation::Decrypt] {
            let seals = operation == Operation::Encrypt;
            let mut outputs: Vec<_> = batch
                .iter()
                .map(|one| {
                    vec![
                        0xa5;
                        if seals {
                            one.sealed.len()
                        } else {
                            one.plain.len()
                        }
                    ]
                })
                .collect();
            let jobs = batch
                .iter()
                .zip(&mut outputs)
                .map(|(one, to)| PacketSlices {
                    key: &*sides[one.side].keys[index],
                    place: one.place(operation),
                    source: if seals { &one.plain } else { &one.received },
                    destination: to,
                    status: Status::Cancelled,
                });
            let mut jobs: Vec<_> = jobs.collect();
            process_packets(&**backend, suite.packets(), operation, &mut jobs);
            for (job, one) in jobs.iter().zip(batch) {
                let (status, bytes) = match (&one.opened, seals) {
                    (_, true) => (Status::Ok, &one.sealed),
                    (Ok(opened), false) => (Status::Ok, opened),
                    (Err(failed), false) => (*failed, &vec![0; one.plain.len()]),
                };
                let what = format!("{} {} {operation}", backend.name(), suite.name());
                assert_eq!(job.status, status, "{what} {} B", one.plain.len());
                assert!(job.destination == bytes, "{what} {} B", one.plain.len());
            }
        }
    }
}

#[test]
fn batches_of_all_back_ends_are_what_one_by_one_makes() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for suite in Suite::ALL {
        let kinds = [Operation::Encrypt, Operation::Decrypt]
            .map(|operation| Kind::new(Algorithm::Packets(suite.packets()), operation));
        let mut backends = crypto::backends();
        backends.retain(|one| kinds.iter().all(|kind| one.supports(*kind)));
        for round in 0..testing::cases(60, 6000) as usize {
            let count = [1, 2, 5][round % 3];
            let sides: Vec<_> = (0..count)
                .map(|_| Side::new(&backends, suite, &mut random))
                .collect();
            let packets = 1 + random.below(if round % 8 == 0 { 200 } else { 20 });
            let batch: Vec<_> = (0..packets)
                .map(|_| Packet::new(&sides, &mut random))
                .collect();
            agree(&backends, suite, &sides, &batch);
        }
    }
}
