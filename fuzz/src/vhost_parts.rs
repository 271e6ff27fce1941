//! What a device reads of a front-end and its guest, one thing at a time and on one
//! thread: tables of memory, queues, chains, headers, messages of sessions. Each is
//! compared with a plain reading of the same bytes.

mod entries;
mod plain;
mod sessions;

use std::cell::RefCell;
use std::fs::File;
use std::os::fd::AsFd;

use sys::memory::{Mapping, sealed};
use vhost::inside::{self, find};
use vhost::{GuestMemory, RegionSpec};

use super::bytes::Bytes;
use plain::Regions;

const PAGE: u64 = 4096;

/// Of the file that guests' memory lies in.
const FILE_BYTES: u64 = 8 * PAGE;

/// What the front-end says its own addresses are.
const USER: u64 = 0x7000_0000_0000;

/// A file, this program's own view of it, and memories of which most inputs use one.
struct Arena {
    file: File,
    own: Mapping,
    memories: Vec<(Regions, GuestMemory)>,
}

thread_local! {
    static ARENA: RefCell<Option<Arena>> = const { RefCell::new(None) };
}

/// Reads what the bytes say: the device's parts take what a plain reading takes, refuse
/// what it refuses, and find the same bytes at the same places.
pub fn vhost_parts(data: &[u8]) {
    let mut input = Bytes::new(data);
    ARENA.with_borrow_mut(|arena| {
        let arena = arena.get_or_insert_with(Arena::new);
        match input.below(8) {
            0 => sessions::read(&mut input),
            1 => arena.table(&mut input),
            _ => {
                let which = input.below(arena.memories.len());
                let (regions, memory) = &arena.memories[which];
                entries::read(&arena.own, regions, memory, &mut input);
            }
        }
    });
}

impl Arena {
    fn new() -> Self {
        let file = sealed(FILE_BYTES as usize).expect("memory can be had");
        let own = Mapping::shared(file.as_fd(), FILE_BYTES as usize).expect("it is sealed");
        let file = File::from(file);
        let region = |guest, bytes, user, offset| RegionSpec {
            guest,
            bytes,
            user: USER + user,
            offset,
        };
        let all = FILE_BYTES;
        let layouts = [
            vec![region(1 << 20, all, 0, 0)],
            // They adjoin for the guest, and are exchanged in the file.
            vec![
                region(1 << 20, 3 * PAGE, 0, 5 * PAGE),
                region((1 << 20) + 3 * PAGE, 5 * PAGE, 1 << 20, 0),
            ],
            // At both ends of all addresses, of odd length, and one page twice.
            vec![
                region(0, PAGE + 10, 0, 0),
                region(PAGE + 10, 2 * PAGE - 7, 1 << 20, 2 * PAGE),
                region(1 << 40, PAGE, 2 << 20, 2 * PAGE),
                region(u64::MAX - PAGE, PAGE, 3 << 20, 7 * PAGE),
            ],
            // Where rings lie, no address is a multiple of 16.
            vec![
                region(1 << 32, PAGE, 8, 0),
                region((1 << 32) + PAGE, 7 * PAGE, 1 << 20, PAGE),
            ],
        ];
        let memories = layouts.map(|specs| {
            let memory = inside::memory(&specs, &file).expect("it lies in the file");
            (Regions(specs), memory)
        });
        Self {
            file,
            own,
            memories: memories.into(),
        }
    }

    /// A table that grows and shrinks.
    fn table(&self, input: &mut Bytes<'_>) {
        let (mut regions, mut memory) = (Regions(Vec::new()), GuestMemory::default());
        for _ in 0..40 {
            if input.is_empty() {
                break;
            }
            if input.below(4) == 0 {
                let spec = regions.pick(input);
                let without = memory.without(spec);
                assert_eq!(
                    without.is_ok(),
                    regions.remove(spec),
                    "{spec:?} of {regions:?}"
                );
                memory = without.unwrap_or(memory);
            } else {
                let spec = spec(&regions, input);
                let with = memory.with(spec, &self.file);
                assert_eq!(with.is_ok(), regions.add(spec), "{spec:?} to {regions:?}");
                memory = with.unwrap_or(memory);
            }
            let near = regions.pick(input).guest;
            let far = near.wrapping_add(input.word().into());
            for address in [near.wrapping_sub(1), near, far] {
                assert_eq!(find(&memory, address), regions.find(address));
            }
        }
        entries::read(&self.own, &regions, &memory, input);
    }
}

/// Most lie in the file, and beside another region.
fn spec(regions: &Regions, input: &mut Bytes<'_>) -> RegionSpec {
    let other = regions.pick(input);
    let number = |input: &mut Bytes<'_>, near: u64| match input.below(8) {
        0 => u64::MAX - u64::from(input.word()),
        1 => u64::from(input.word()) << 48,
        2 => near.wrapping_sub(u64::from(input.word())),
        _ => near.wrapping_add(u64::from(input.byte() & 15) * PAGE),
    };
    let bytes = match input.below(4) {
        0 => number(input, 0),
        1 => u64::from(input.word()),
        _ => u64::from(1 + input.byte() % 8) * PAGE,
    };
    RegionSpec {
        guest: number(input, other.guest.wrapping_add(other.bytes)),
        bytes,
        user: number(input, other.user.wrapping_add(other.bytes)),
        offset: match input.below(8) {
            0 => number(input, 0),
            1 => u64::from(input.word()),
            _ => u64::from(input.byte() % 8) * PAGE,
        },
    }
}
