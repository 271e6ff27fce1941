//! A queue with anything in it, taken entry by entry.

use sys::memory::Mapping;
use vhost::GuestMemory;
use vhost::inside::{Entries, Geometry, Run, Wishes};
use wire::virtio_crypto::{HEADER_BYTES, Header, HeaderError, Opcode};

use super::super::bytes::Bytes;
use super::plain::{self, Regions};
use super::{FILE_BYTES, PAGE};

const ROUNDS_MAX: usize = 24;

const WISHES: [Wishes; 3] = [Wishes::Flag, Wishes::EventIndex, Wishes::Unknown];

/// What a driver puts where, and what the device makes of it.
pub(super) fn read(own: &Mapping, regions: &Regions, memory: &GuestMemory, input: &mut Bytes<'_>) {
    let geometry = geometry(regions, input);
    let wishes = input.pick(&WISHES);
    let places = regions.queue(&geometry);
    if let Some([_, available, used]) = places {
        // Rings of an input before are no part of this one.
        let size = usize::from(geometry.size);
        put(own, available, &vec![0; 6 + 2 * size]);
        put(own, used, &vec![0; 6 + 8 * size]);
        // Where indices wrap around, and where entries do.
        let begin: u16 = input.pick(&[0, 0xfffc, 0x7ffe]) + u16::from(input.byte() & 3);
        put(own, used + 2, &begin.to_le_bytes());
        put(own, available + 2, &begin.to_le_bytes());
    }
    let entries = Entries::new(memory, &geometry, wishes);
    assert_eq!(
        entries.is_ok(),
        places.is_some(),
        "{geometry:?} in {regions:?}"
    );
    let (Ok(entries), Some(places)) = (entries, places) else {
        return;
    };
    let mut guest = Guest {
        own,
        regions,
        entries,
        size: geometry.size,
        places,
        wishes,
        told: number(own, places[2] + 2),
    };
    for _ in 0..ROUNDS_MAX {
        if input.is_empty() {
            break;
        }
        guest.step(input);
    }
}

fn geometry(regions: &Regions, input: &mut Bytes<'_>) -> Geometry {
    let size = match input.below(8) {
        0 => input.word(),
        1 => 1 << input.below(16),
        _ => 8 << input.below(4),
    };
    let mut address = |at: u64| {
        let user = regions.pick(input).user;
        match input.below(16) {
            0 => user.wrapping_add(input.word().into()),
            1 => u64::MAX - u64::from(input.word()),
            2 => user.wrapping_add(at + u64::from(input.byte() & 7)),
            _ => user.wrapping_add(at),
        }
    };
    Geometry {
        size,
        descriptors: address(0),
        available: address(1024),
        used: address(2048),
    }
}

/// A driver, and the device's part of the queue.
struct Guest<'a> {
    own: &'a Mapping,
    regions: &'a Regions,
    entries: Entries,
    size: u16,
    /// Of the descriptors, the available and the used ring in the file.
    places: [usize; 3],
    wishes: Wishes,
    told: u16,
}

impl Guest<'_> {
    fn step(&mut self, input: &mut Bytes<'_>) {
        match input.below(8) {
            0 => self.table(self.places[0], usize::from(self.size).min(24), input),
            1 | 2 => {
                let at = self.place(input) & !15;
                self.table(at, 24, input);
            }
            3 => {
                let at = self.place(input);
                put(self.own, at, &header(input));
            }
            4 => self.follow(input.word() % self.size),
            5 => self.poke(input),
            _ => self.enter(input),
        }
    }

    fn place(&self, input: &mut Bytes<'_>) -> usize {
        // Tables are read whole wherever they lie.
        input.below((FILE_BYTES - PAGE) as usize)
    }

    /// Descriptors, of which most name a place in the memory.
    fn table(&self, at: usize, count_max: usize, input: &mut Bytes<'_>) {
        let mut bytes = Vec::new();
        for index in 0..1 + input.below(count_max) {
            let region = self.regions.pick(input);
            let address = match input.below(8) {
                0 => u64::MAX - u64::from(input.word()),
                1 => (region.guest + region.bytes).wrapping_sub(input.byte().into()),
                _ => region.guest + u64::from(input.word()) % region.bytes.max(1),
            };
            let len = match input.below(8) {
                0 => u32::MAX - u32::from(input.word()),
                1 => u32::from(input.word()),
                2 => 16 * u32::from(input.byte() & 31),
                _ => u32::from(input.byte()),
            };
            let flags = input.pick(&[1, 1, 1, 1, 3, 3, 3, 0, 2, 4, 4, 5, 6, 7, 9, 0xffff]);
            let next = match input.below(8) {
                0 => input.word(),
                1 => u16::from(input.byte() & 31),
                _ => index as u16 + 1,
            };
            bytes.extend(address.to_le_bytes());
            bytes.extend(len.to_le_bytes());
            bytes.extend(u16::to_le_bytes(flags));
            bytes.extend(next.to_le_bytes());
        }
        put(self.own, at, &bytes);
    }

    /// Numbers of the rings, as no driver writes them.
    fn poke(&mut self, input: &mut Bytes<'_>) {
        let [_, available, used] = self.places;
        let size = usize::from(self.size);
        let at = match input.below(6) {
            0 => available,
            1 => available + 2,
            2 => available + 4 + 2 * input.below(size),
            3 => available + 4 + 2 * size,
            4 => used,
            _ => used + 4 + 8 * size,
        };
        // The device reads that once, when the queue begins.
        let value = match input.below(2) {
            0 => self
                .entries
                .indices()
                .0
                .wrapping_add(u16::from(input.byte() & 15)),
            _ => input.word(),
        };
        // What a poke makes of rings that lie upon each other, nobody can tell.
        put(self.own, at, &value.to_le_bytes());
    }

    fn follow(&mut self, head: u16) {
        let right = plain::chain(self.own, self.regions, (self.places[0], self.size), head);
        let followed = self.entries.follow(head);
        let Some(runs) = right else {
            assert!(followed.is_err());
            return;
        };
        assert_eq!(followed, Ok(()));
        assert_eq!(self.entries.chain(), runs);
        self.look_at_header(&runs[0]);
    }

    fn look_at_header(&self, runs: &[Run]) {
        let bytes = runs.iter().flat_map(|&(region, offset, bytes)| {
            let at = self.regions.in_file((region, offset));
            (at..at + bytes).map(|at| byte(self.own, at))
        });
        let right: Vec<u8> = bytes.take(HEADER_BYTES).collect();
        let mut got = [0; HEADER_BYTES];
        let is_there = self.entries.copy_in(0, &mut got);
        assert_eq!(is_there, right.len() == HEADER_BYTES);
        assert_eq!(got[..right.len()], right[..]);
        if is_there {
            look_at(&got);
        }
    }

    /// Takes an entry, as the device's ring does, and uses it.
    fn enter(&mut self, input: &mut Bytes<'_>) {
        let [_, available, used] = self.places;
        let (size, next) = (self.size, self.entries.indices().0);
        let slot = available + 4 + 2 * usize::from(next % size);
        if input.below(4) > 0 {
            let head = u16::from(input.byte()) % size;
            put(self.own, slot, &head.to_le_bytes());
            put(self.own, available + 2, &next.wrapping_add(1).to_le_bytes());
        }
        let was_broken = self.entries.is_broken();
        let ahead = number(self.own, available + 2).wrapping_sub(next);
        let head = number(self.own, slot);
        let is_there = !was_broken && (1..=size).contains(&ahead) && head < size;
        let is_breaking = ahead > size || ahead > 0 && head >= size;
        let right =
            is_there.then(|| plain::chain(self.own, self.regions, (self.places[0], size), head));
        let taken = self.entries.take();
        assert_eq!(self.entries.is_broken(), was_broken || is_breaking);
        assert_eq!(taken.is_some(), is_there);
        let Some((got, followed)) = taken else {
            return;
        };
        assert_eq!(got, head);
        assert_eq!(followed.is_ok(), right.is_some_and(|right| right.is_some()));
        assert_eq!(self.entries.indices().0, next.wrapping_add(1));
        if input.below(8) == 0 {
            self.entries.give_back();
            assert_eq!(self.entries.indices().0, next);
            return;
        }
        let written = u32::from(input.word());
        let at = self.entries.indices().1;
        self.entries.put_used(head, written);
        assert_eq!(number(self.own, used + 2), at.wrapping_add(1));
        self.tell(input);
    }

    /// Whether it tells as the specification asks (§2.7.7.2, §2.7.10).
    fn tell(&mut self, input: &mut Bytes<'_>) {
        let [_, available, used] = self.places;
        let size = usize::from(self.size);
        let shown = self.entries.indices().1;
        let event = number(self.own, available + 4 + 2 * size);
        let by_event = shown.wrapping_sub(event).wrapping_sub(1) < shown.wrapping_sub(self.told);
        let by_flag = number(self.own, available) & 1 == 0;
        let is_told = self.entries.tell();
        match self.wishes {
            Wishes::EventIndex => assert_eq!(is_told, by_event),
            Wishes::Flag => assert_eq!(is_told, by_flag),
            // It learns which of the two it is.
            Wishes::Unknown => assert!(is_told == by_event || is_told == by_flag),
        }
        self.told = shown;
        let wants = input.below(2) == 0;
        self.entries.arm(wants);
        assert_eq!(number(self.own, used), u16::from(!wants));
        if wants {
            let kick_at = number(self.own, used + 4 + 8 * size);
            assert_eq!(kick_at, self.entries.indices().0);
        }
        assert!(self.entries.unreaped() <= self.size);
    }
}

/// A header as QEMU's driver would write it, but for a few bytes.
fn header(input: &mut Bytes<'_>) -> [u8; HEADER_BYTES] {
    let header = Header {
        opcode: input.pick(&Opcode::ALL),
        session: input.word().into(),
        iv_bytes: input.byte().into(),
        source_bytes: input.word().into(),
        destination_bytes: input.word().into(),
    };
    let mut bytes = header.to_bytes();
    for _ in 0..input.below(4) {
        let at = input.below(HEADER_BYTES);
        bytes[at] = input.byte();
    }
    bytes
}

/// virtio 1.2 §5.9.7.4: opcode, algorithm, session, then lengths by kind.
fn look_at(bytes: &[u8; HEADER_BYTES]) {
    let field = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
    match Header::parse(bytes) {
        Ok(header) => {
            assert_eq!(header.opcode as u32, field(0));
            let session = u64::from_le_bytes(bytes[8..16].try_into().expect("eight"));
            assert_eq!(header.session, session);
            let lengths = [
                header.iv_bytes,
                header.source_bytes,
                header.destination_bytes,
            ];
            if field(0) >> 8 == 0 {
                assert_eq!(field(64), 1);
                assert_eq!(lengths, [field(24), field(28), field(32)]);
            } else {
                assert_eq!(lengths, [0, field(24), field(28)]);
            }
            assert_eq!(Header::parse(&header.to_bytes()), Ok(header));
        }
        Err(HeaderError::Opcode(number)) => assert_eq!(number, field(0)),
        Err(HeaderError::Chained(kind)) => assert!(kind == field(64) && kind != 1),
        Err(HeaderError::Session(_)) => assert_eq!(field(0) & 0xf & !6, 0),
    }
}

fn put(own: &Mapping, at: usize, bytes: &[u8]) {
    // A table may run over the end of the file: nothing of it is there then.
    let _ = own.write(at, bytes);
}

fn byte(own: &Mapping, at: usize) -> u8 {
    let mut byte = [0];
    own.read(at, &mut byte).expect("it lies in the file");
    byte[0]
}

fn number(own: &Mapping, at: usize) -> u16 {
    let mut bytes = [0; 2];
    own.read(at, &mut bytes).expect("it lies in the file");
    u16::from_le_bytes(bytes)
}
