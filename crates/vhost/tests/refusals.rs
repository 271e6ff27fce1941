//! Requests that a hostile guest makes, by the class of hole that each was in another
//! device. Each ends as documented and is counted, and the next good one is right.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockgate_vhost::front::{Done, Driver, FrontConfig, FrontEnd, Request, SessionSpec};
use lockgate_vhost::{Broken, Refusal};
use wire::virtio_crypto::{HEADER_BYTES, Header, Opcode, Status};

use crate::common::raw::{Descriptor, INDIRECT, NEXT, WRITE, enter_table, write_table};
use crate::common::{
    Rig, cipher, encrypts, finish, hash, is_ok, one, open_aes, pattern, public_key, serves,
};

const SIZE: u16 = 64;

/// Two queues of a guest: one is misused, the other must not notice.
struct Guest {
    front: FrontEnd,
    bad: Driver,
    good: Driver,
}

fn guest(rig: &Rig, data_bytes: usize) -> Guest {
    let mut front = rig.front(FrontConfig {
        queues: 2,
        queue_size: SIZE,
        data_bytes,
        ..FrontConfig::default()
    });
    let (bad, good) = (front.start(0).unwrap(), front.start(1).unwrap());
    Guest { front, bad, good }
}

impl Guest {
    fn is_served(&mut self) {
        encrypts(&mut self.front, &mut self.bad);
        encrypts(&mut self.front, &mut self.good);
    }

    /// A request whose header says this, of data as long as it really is.
    fn ends(&mut self, header: Header, bytes: usize, status: Status) {
        let at = self.front.data_at() + 4096;
        let done = one(
            &mut self.bad,
            &Request {
                header,
                iv: [0; 16],
                source: &[(at, bytes)],
                destination: &[(at + 4096, bytes)],
            },
        );
        assert_eq!((done.status, done.written), (Some(status), 1), "{header:?}");
    }

    /// A table of descriptors, at the beginning of the data, as one entry.
    fn table(&mut self, table: &[Descriptor]) -> Done {
        let at = self.front.data_at();
        write_table(&self.front, at, table);
        self.entry(self.front.memory().guest(at), table.len() * 16)
    }

    fn entry(&mut self, address: u64, bytes: usize) -> Done {
        enter_table(&mut self.bad, 0, address, bytes);
        finish(&mut self.bad).pop().unwrap()
    }

    fn guest(&self, offset: usize) -> u64 {
        self.front.memory().guest(self.front.data_at() + offset)
    }
}

/// CVE-2020-14374: lengths are the guest's word, and hold only as far as its bytes do.
#[test]
fn lengths_that_the_guest_does_not_have() {
    let rig = Rig::new();
    let mut guest = guest(&rig, 1 << 20);
    let session = open_aes(&mut guest.front, true);
    let digest = guest
        .front
        .open_session(&SessionSpec::Hash { algorithm: 4 });
    let digest = digest.unwrap();
    let bad = Status::BadMessage;
    for said in [80, 4096, 1 << 20, 1 << 31, u32::MAX - 15, u32::MAX] {
        guest.ends(cipher(session, true, said as usize), 64, bad);
        guest.ends(hash(Opcode::Hash, digest, said as usize, 32), 64, bad);
        guest.ends(hash(Opcode::Hash, digest, 64, said as usize), 64, bad);
    }
    assert_eq!(rig.refused(Refusal::Short), 18);
    guest.is_served();
}

/// CVE-2023-3180: what goes in and what comes out have one length.
#[test]
fn lengths_that_differ() {
    let rig = Rig::new();
    let mut guest = guest(&rig, 1 << 20);
    let session = open_aes(&mut guest.front, true);
    let right = cipher(session, true, 64);
    for (source_bytes, destination_bytes) in [(64, 48), (48, 64), (0, 64), (64, 0), (64, u32::MAX)]
    {
        let header = Header {
            source_bytes,
            destination_bytes,
            ..right
        };
        guest.ends(header, 64, Status::BadMessage);
    }
    for iv_bytes in [0, 1, 15, 17, 64, u32::MAX] {
        let header = Header { iv_bytes, ..right };
        guest.ends(header, 64, Status::BadMessage);
    }
    assert_eq!(rig.refused(Refusal::Lengths), 11);
    guest.is_served();
}

/// Not whole blocks, and none: the engine's own word.
#[test]
fn lengths_that_the_algorithm_refuses() {
    let rig = Rig::new();
    let mut guest = guest(&rig, 1 << 20);
    let session = open_aes(&mut guest.front, true);
    for bytes in [1, 15, 17, 4095] {
        guest.ends(cipher(session, true, bytes), bytes, Status::BadMessage);
    }
    guest.is_served();
}

/// CVE-2020-14375: a header and descriptors are read once. Another CPU of the guest
/// changes both all the time; nothing is written beyond what was checked.
#[test]
fn memory_that_changes_between_two_looks() {
    const LEN: u32 = 64;
    const LONG: u32 = 8192;
    let rig = Rig::new();
    let mut guest = guest(&rig, 1 << 20);
    let session = open_aes(&mut guest.front, true);
    let (header_at, iv_at, from, to) = (4096, 4352, 8192, 32_768);
    let at = guest.front.data_at();
    let memory = guest.front.memory().clone();
    memory.write(at + header_at, &cipher(session, true, 64).to_bytes());
    memory.write(at + to, &vec![0xee; 2 * LONG as usize]);
    let table = [
        (guest.guest(header_at), HEADER_BYTES as u32, NEXT, 1),
        (guest.guest(iv_at), 16, NEXT, 2),
        (guest.guest(from), LEN, NEXT, 3),
        (guest.guest(to), LEN + 1, WRITE, 0),
    ];
    let is_over = AtomicBool::new(false);
    let mut counts = [0_u32; 3];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Lengths of the header, and of the descriptors of source and destination.
            let places = [
                (header_at + 28, LEN),
                (header_at + 32, LEN),
                (2 * 16 + 8, LEN),
            ];
            while !is_over.load(Ordering::Relaxed) {
                for len in [LONG, u32::MAX, LEN] {
                    for (place, right) in places {
                        let len = if len == LEN { right } else { len };
                        memory.write(at + place, &len.to_le_bytes());
                    }
                    memory.write(at + 3 * 16 + 8, &(LEN + 1).to_le_bytes());
                }
            }
        });
        for _ in 0..3000 {
            match guest.table(&table) {
                Done { written: 0, .. } => counts[0] += 1,
                Done { written: 1, .. } => counts[1] += 1,
                Done { written, .. } => {
                    assert_eq!(written, LEN + 1);
                    counts[2] += 1;
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let refused = u64::from(counts[0] + counts[1]);
    let all = rig.device().counters().refused;
    assert_eq!(all.iter().map(|one| one.1).sum::<u64>(), refused, "{all:?}");
    let mut beyond = vec![0; LONG as usize];
    memory.read(at + to + LEN as usize + 1, &mut beyond);
    assert!(
        beyond.iter().all(|byte| *byte == 0xee),
        "written beyond: {counts:?}"
    );
    guest.is_served();
}

/// CVE-2020-14376, -14377: what is copied, as numbers of RSA are, is checked as well.
#[test]
fn lengths_of_what_is_copied() {
    let rig = Rig::new();
    let mut guest = guest(&rig, 1 << 20);
    let key = public_key();
    let session = guest.front.open_session(&SessionSpec::Rsa { key: &key });
    let session = session.unwrap();
    let header = |opcode, source_bytes, destination_bytes| Header {
        opcode,
        session,
        iv_bytes: 0,
        source_bytes,
        destination_bytes,
    };
    let (encrypt, verify) = (Opcode::AkcipherEncrypt, Opcode::AkcipherVerify);
    for opcode in [encrypt, verify] {
        for (source, destination) in [(513, 256), (256, 513), (u32::MAX, 1), (1, u32::MAX)] {
            guest.ends(header(opcode, source, destination), 512, Status::BadMessage);
        }
    }
    assert_eq!(rig.refused(Refusal::Lengths), 8);
    // Within the limit, and not there: to read, to write, and to read after that.
    guest.ends(header(encrypt, 128, 64), 64, Status::BadMessage);
    guest.ends(header(encrypt, 64, 65), 64, Status::BadMessage);
    guest.ends(header(verify, 64, 32), 64, Status::BadMessage);
    assert_eq!(rig.refused(Refusal::Short), 3);
    // What needs the private key.
    for opcode in [
        Opcode::AkcipherSign,
        Opcode::AkcipherDecrypt,
        Opcode::CipherEncrypt,
    ] {
        guest.ends(header(opcode, 64, 64), 64, Status::NotSupported);
    }
    guest.is_served();
}

/// A table that is longer than the queue, as Linux's driver makes it of 32 pages: where
/// no status is written, that driver takes the request for done, and its text for
/// encrypted.
#[test]
fn a_table_that_is_too_long_has_a_status_at_its_end() {
    let rig = Rig::new();
    let mut guest = guest(&rig, 1 << 20);
    let memory = Arc::clone(guest.front.memory());
    let at = guest.front.data_at() + 8192;
    let here = memory.guest(at);
    let mut table = vec![(here, 16, NEXT, 1); usize::from(SIZE) + 7];
    for (last, is_told) in [
        ((here, 1, WRITE, 0), true),
        ((here, 16, WRITE, 0), true),
        // To be read, of nothing, and outside.
        ((here, 1, 0, 0), false),
        ((here, 0, WRITE, 0), false),
        ((1 << 50, 1, WRITE, 0), false),
    ] {
        memory.write(at, &[0; 16]);
        *table.last_mut().unwrap() = last;
        let done = guest.table(&table);
        assert_eq!(done.written, u32::from(is_told), "{last:?}");
        let mut bytes = [0; 16];
        memory.read(at, &mut bytes);
        let mut right = [0; 16];
        if is_told {
            right[last.1 as usize - 1] = Status::BadMessage as u8;
        }
        assert_eq!(bytes, right, "{last:?}");
    }
    assert_eq!(rig.refused(Refusal::Chain), 5);
}

/// CVE-2020-14378, CVE-2022-2132: chains without end, without a beginning, and too short.
#[test]
fn chains_that_are_none() {
    let rig = Rig::new();
    let mut guest = guest(&rig, 1 << 20);
    let session = open_aes(&mut guest.front, true);
    let at = guest.front.data_at();
    let header = cipher(session, true, 64).to_bytes();
    guest.front.memory().write(at + 8192, &header);
    let here = guest.guest(8192);
    let nowhere = 1 << 50;
    let long = vec![(here, 0, NEXT, 0); usize::from(SIZE)];
    let broken: [&[Descriptor]; 11] = [
        // To itself, in a circle, and of nothing but empty ones.
        &[(here, 16, NEXT, 0)],
        &[(here, 16, NEXT, 1), (here, 16, NEXT, 0)],
        &long,
        // To what is not in the table.
        &[(here, 16, NEXT, 1)],
        &[(here, 16, NEXT, u16::MAX)],
        // A table in a table.
        &[(here, 16, INDIRECT, 0)],
        &[(here, 16, NEXT, 1), (here, 16, INDIRECT, 0)],
        // Bytes to read behind those to write.
        &[
            (here, 72, NEXT, 1),
            (here, 80, WRITE | NEXT, 2),
            (here, 80, 0, 0),
        ],
        // Outside of the memory, from there into nothing, and around its end.
        &[(nowhere, 16, 0, 0)],
        &[(here, 1 << 30, WRITE, 0)],
        &[(u64::MAX - 7, 16, 0, 0)],
    ];
    for (index, table) in broken.iter().enumerate() {
        let done = guest.table(table);
        assert_eq!(done.written, 0, "chain {index}");
        assert_eq!(rig.refused(Refusal::Chain), index as u64 + 1);
    }
    // Tables that are no whole number, empty, longer than the queue, or not there.
    let table = guest.guest(0);
    let bytes = [
        0,
        1,
        15,
        17,
        16 * (usize::from(SIZE) + 1),
        u32::MAX as usize - 15,
    ];
    for bytes in bytes {
        assert_eq!(guest.entry(table, bytes).written, 0);
    }
    for address in [nowhere, u64::MAX, guest.guest(1 << 24)] {
        assert_eq!(guest.entry(address, 32).written, 0);
    }
    guest.bad.put_descriptor(0, table, 32, INDIRECT | NEXT, 0);
    guest.bad.enter(0, 0);
    assert_eq!(finish(&mut guest.bad)[0].written, 0);
    assert_eq!(rig.refused(Refusal::Chain), 21);
    // Without a place for the status; with one, and nothing else.
    assert_eq!(guest.table(&[(here, 72, 0, 0)]).written, 0);
    assert_eq!(
        guest
            .table(&[(here, 72, NEXT, 1), (here, 0, WRITE, 0)])
            .written,
        0
    );
    assert_eq!(rig.refused(Refusal::NoStatus), 2);
    for bytes in [1, 100] {
        assert_eq!(
            guest.table(&[(guest.guest(4096), bytes, WRITE, 0)]).written,
            1
        );
        let mut status = [0];
        guest
            .front
            .memory()
            .read(at + 4095 + bytes as usize, &mut status);
        assert_eq!(Status::from_byte(status[0]), Some(Status::BadMessage));
    }
    assert_eq!(rig.refused(Refusal::Short), 2);
    guest.is_served();
}

/// rust-vmm/vm-virtio#235: the same bytes again and again, until their number is no
/// number any more.
#[test]
fn chains_of_more_than_2_to_the_32() {
    const REGION: usize = 96 << 20;
    let rig = Rig::new();
    let mut guest = guest(&rig, REGION + (1 << 20));
    let here = guest.guest(1 << 20);
    for flags in [0, WRITE] {
        let mut table = vec![(here, REGION as u32, flags | NEXT, 0); usize::from(SIZE) - 1];
        for (index, descriptor) in table.iter_mut().enumerate() {
            descriptor.3 = index as u16 + 1;
        }
        table.push((here, 16, flags, 0));
        assert_eq!(guest.table(&table).written, 0);
    }
    assert_eq!(rig.refused(Refusal::Chain), 2);
    guest.is_served();
}

/// rust-vmm/vm-virtio#236: an index that no driver writes breaks its queue, once; set up
/// again, it goes on.
#[test]
fn entries_that_no_driver_makes_available() {
    let rig = Rig::new();
    let mut guest = guest(&rig, 1 << 20);
    let size = usize::from(SIZE);
    let index_at = size * 16 + 2;
    let memory = guest.front.memory().clone();
    let mut before = [0; 2];
    for ahead in [SIZE + 1, 1 << 15, u16::MAX] {
        memory.read(index_at, &mut before);
        let next = u16::from_le_bytes(before);
        memory.write(index_at, &next.wrapping_add(ahead).to_le_bytes());
        guest.bad.kick_anyway();
        let broken = Broken::Available { ahead, size: SIZE };
        testing::until(|| rig.device().counters().broken, |is| *is == Some(broken));
        encrypts(&mut guest.front, &mut guest.good);
        guest.front.stop(0).unwrap();
        memory.write(index_at, &before);
        guest.front.resume(0, &guest.bad).unwrap();
        encrypts(&mut guest.front, &mut guest.bad);
    }
    for head in [SIZE, u16::MAX] {
        memory.read(index_at, &mut before);
        let next = u16::from_le_bytes(before);
        let entry_at = index_at + 2 + usize::from(next % SIZE) * 2;
        memory.write(entry_at, &head.to_le_bytes());
        memory.write(index_at, &next.wrapping_add(1).to_le_bytes());
        guest.bad.kick_anyway();
        let broken = Broken::Head { head, size: SIZE };
        testing::until(|| rig.device().counters().broken, |is| *is == Some(broken));
        encrypts(&mut guest.front, &mut guest.good);
        guest.front.stop(0).unwrap();
        memory.write(index_at, &before);
        guest.front.resume(0, &guest.bad).unwrap();
        encrypts(&mut guest.front, &mut guest.bad);
    }
    drop(guest);
    serves(&rig);
}

/// What a header can say beside lengths.
#[test]
fn headers_of_what_is_not_offered() {
    let rig = Rig::new();
    let mut guest = guest(&rig, 1 << 20);
    let session = open_aes(&mut guest.front, true);
    let right = cipher(session, true, 64);
    let opcodes = [
        Opcode::CreateCipher,
        Opcode::CreateHash,
        Opcode::CreateAkcipher,
    ];
    for opcode in opcodes {
        let header = Header { opcode, ..right };
        guest.ends(header, 64, Status::NotSupported);
    }
    assert_eq!(rig.refused(Refusal::Header), 3);
    let others = [
        Opcode::CipherDecrypt,
        Opcode::Hash,
        Opcode::Mac,
        Opcode::AkcipherVerify,
    ];
    for opcode in others {
        let header = Header { opcode, ..right };
        guest.ends(header, 64, Status::InvalidSession);
    }
    assert_eq!(rig.refused(Refusal::Operation), 4);
    // Sessions that are not there: numbers with the slot of one that is, and far ones.
    for session in [
        session ^ 1 << 32,
        session + 1,
        u64::MAX,
        0,
        0xffff_ffff,
        1 << 63,
    ] {
        let header = Header { session, ..right };
        guest.ends(header, 64, Status::InvalidSession);
    }
    guest.front.close_session(session).unwrap();
    testing::until(|| rig.device().counters().sessions, |count| *count == 0);
    guest.ends(right, 64, Status::InvalidSession);
    assert_eq!(rig.refused(Refusal::Session), 7);
    guest.is_served();
}

/// More pieces than the device takes, and a page of noise as table and as header.
#[test]
fn requests_in_too_many_pieces_and_noise() {
    let rig = Rig::with(
        crate::common::engine(),
        engine::FunctionConfig {
            request_max: engine::RequestLimit {
                bytes: 4096,
                segments: 4,
            },
            ..crate::common::function()
        },
        |_| {},
    );
    let mut guest = guest(&rig, 1 << 20);
    let session = open_aes(&mut guest.front, true);
    let at = guest.front.data_at();
    let apart: Vec<_> = (0..5).map(|index| (at + index * 64, 16)).collect();
    let done = one(
        &mut guest.bad,
        &Request {
            header: cipher(session, true, 80),
            iv: [0; 16],
            source: &apart,
            destination: &apart,
        },
    );
    assert_eq!(done.status, Some(Status::Failed));
    guest.ends(cipher(session, true, 4112), 4096 + 16, Status::Failed);
    assert_eq!(rig.refused(Refusal::TooLong), 2);
    let mut ok = 0;
    for seed in 0..testing::cases(500, 50_000) {
        guest.front.memory().write(at, &pattern(1024, seed.into()));
        let done = guest.entry(guest.guest(0), 1024);
        ok += usize::from(done.written > 1 && is_ok(&done));
    }
    assert_eq!(ok, 0);
    guest.is_served();
}
