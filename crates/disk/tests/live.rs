//! The kernel's dm-crypt in a guest, live: it writes and we read, we write and it
//! reads, with random keys, offsets and text.

use std::fmt::Write;
use std::hash::BuildHasher;
use std::path::Path;
use std::time::Duration;

use lockgate_disk::{Iv, Layout, Mode, SECTOR_BYTES, SectorCipher, Spec, Volume};
use vm::image::{GuestFile, HostProgram, Image};
use vm::{Cache, Guest, Qemu, Run, Shape};

/// Of one combination: 32 small sectors, or 4 large ones.
const CELL_BYTES: usize = 16 << 10;
/// Bytes of sectors, and whether IVs count these.
const SECTORS: [(usize, bool); 4] = [(512, false), (512, true), (4096, false), (4096, true)];
/// 35 of 6 modes and 6 IVs (ECB takes no ESSIV), 3 keys, 4 kinds of sectors, 3 offsets.
const CELLS: usize = 35 * 3 * 4 * 3;
const MODULES: [&str; 10] = [
    "dm-crypt",
    "brd",
    "aesni-intel",
    "ecb",
    "cbc",
    "ctr",
    "lrw",
    "pcbc",
    "xts",
    "essiv",
];
/// Every combination of a mode is a target of one device, so that a few commands do
/// all. Prints what the kernel took of what it is to refuse.
const SCRIPT: &str = "
set -e
mkdir /out
dmsetup() { /bin/dmsetup --noudevrules --noudevsync \"$@\"; }
for mode in 0 1 2 3 4 5; do
    bytes=$(stat -c %s /in/text$mode)
    dmsetup create mode$mode </in/table$mode
    dd if=/in/text$mode of=/dev/dm-0 bs=64k conv=fsync 2>/dev/null
    head -c $bytes /dev/ram$mode >/out/written$mode
    dd if=/in/ours$mode of=/dev/ram$mode bs=64k conv=fsync 2>/dev/null
    echo 3 >/proc/sys/vm/drop_caches
    head -c $bytes /dev/dm-0 >/out/read$mode
    dmsetup remove mode$mode
done
while read -r line; do
    ! echo \"$line\" | dmsetup create refused 2>/dev/null || echo \"$line\"
done </in/refused
";

/// Numbers that depend on a seed only (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let words = (0..count.div_ceil(8)).flat_map(|_| self.next().to_le_bytes());
        words.take(count).collect()
    }
}

#[derive(Debug)]
struct Cell {
    spec: Spec,
    key: Vec<u8>,
    sector_bytes: usize,
    large: bool,
    iv_offset: u64,
}

impl Cell {
    /// The line of a table, as dm-crypt reads it.
    fn line(&self, at: usize, device: &str) -> String {
        let sectors = CELL_BYTES / SECTOR_BYTES;
        let start = at * sectors;
        let key: String = self.key.iter().map(|byte| format!("{byte:02x}")).collect();
        let (options, large) = match self.large {
            true => (2, " iv_large_sectors"),
            false => (1, ""),
        };
        format!(
            "{start} {sectors} crypt {} {key} {} {device} {start} {options} sector_size:{}{large}\n",
            self.spec, self.iv_offset, self.sector_bytes
        )
    }

    fn encrypted(&self, text: &[u8]) -> Vec<u8> {
        let cipher = SectorCipher::new(self.spec, &self.key, self.sector_bytes).unwrap();
        let mut run = text.to_vec();
        let cipher = cipher.numbered(self.iv_offset, self.large);
        cipher.encrypt(0, &mut run);
        run
    }

    /// What we read where it begins at that byte of a disk.
    fn decrypted(&self, disk: &Vec<u8>, offset: usize) -> Vec<u8> {
        let layout = Layout {
            spec: self.spec,
            offset: offset as u64,
            bytes: Some(CELL_BYTES as u64),
            sector_bytes: self.sector_bytes,
            iv_offset: self.iv_offset,
            iv_large_sectors: self.large,
        };
        let mut text = Vec::new();
        let volume = Volume::new(disk, layout, &self.key).unwrap();
        volume.copy_to(&mut text, &mut |_| true).unwrap();
        text
    }
}

/// All of a mode and an IV, whether the kernel takes them or not.
fn cells(spec: Spec, random: &mut Random) -> Vec<Cell> {
    let mut cells = Vec::new();
    for bytes in spec.mode.key_bytes() {
        for (sector_bytes, large) in SECTORS {
            // Whole large sectors: the first, some across 2^32, and anywhere.
            let across = (1 << 32) - 8 * (1 + random.next() % 3);
            for iv_offset in [0, across, random.next() & !7] {
                let key = random.bytes(bytes);
                cells.push(Cell {
                    spec,
                    key,
                    sector_bytes,
                    large,
                    iv_offset,
                });
            }
        }
    }
    cells
}

/// A mode's cells, what the kernel writes through them, and what we did.
struct Disk {
    cells: Vec<Cell>,
    text: Vec<u8>,
    other: Vec<u8>,
    ours: Vec<u8>,
}

impl Disk {
    fn new(mode: Mode, random: &mut Random) -> Self {
        let specs = Iv::ALL.map(|iv| Spec { mode, iv });
        let offered = specs.into_iter().filter(|spec| !is_refused(*spec));
        let cells: Vec<_> = offered.flat_map(|spec| cells(spec, random)).collect();
        let mut text = || random.bytes(cells.len() * CELL_BYTES);
        let (text, other) = (text(), text());
        let runs = cells.iter().zip(other.chunks(CELL_BYTES));
        let ours = runs.flat_map(|(cell, run)| cell.encrypted(run)).collect();
        Self {
            cells,
            text,
            other,
            ours,
        }
    }

    fn files(&self, number: usize) -> [GuestFile; 3] {
        let device = format!("/dev/ram{number}");
        let lines = self.cells.iter().enumerate();
        let table: String = lines.map(|(at, cell)| cell.line(at, &device)).collect();
        let file =
            |name, bytes: &[u8]| GuestFile::bytes(&format!("/in/{name}{number}"), 0o600, bytes);
        [
            file("table", table.as_bytes()),
            file("text", &self.text),
            file("ours", &self.ours),
        ]
    }

    /// How many cells are equal: what the kernel wrote, and what it read.
    fn check(&self, written: &Vec<u8>, read: &[u8], wrong: &mut String) -> usize {
        assert_eq!(
            (written.len(), read.len()),
            (self.text.len(), self.text.len())
        );
        let mut equal = 0;
        for (at, cell) in self.cells.iter().enumerate() {
            let own = at * CELL_BYTES..(at + 1) * CELL_BYTES;
            let we_read = cell.decrypted(written, own.start) == self.text[own.clone()];
            let it_reads = read[own.clone()] == self.other[own];
            for (direction, is_equal) in [("we read", we_read), ("it reads", it_reads)] {
                equal += usize::from(is_equal);
                if !is_equal {
                    writeln!(wrong, "{direction}: {cell:02x?}").unwrap();
                }
            }
        }
        equal
    }
}

fn is_refused(spec: Spec) -> bool {
    (spec.mode, spec.iv) == (Mode::Ecb, Iv::EssivSha256)
}

/// What a guest is made of, where it can be booted here.
fn parts() -> Result<(Cache, Qemu, HostProgram), String> {
    let cache = Cache::open_default().map_err(|error| error.to_string())?;
    let qemu = Qemu::find(Some(&cache)).map_err(|error| error.to_string())?;
    let places = ["/usr/sbin/dmsetup", "/sbin/dmsetup"].map(Path::new);
    let dmsetup = places.into_iter().find(|place| place.is_file());
    let dmsetup = dmsetup.ok_or("no dmsetup here; apt-get install dmsetup")?;
    Ok((cache, qemu, HostProgram::new(dmsetup)))
}

#[test]
fn the_kernel_reads_what_we_write_and_we_read_what_it_writes() {
    let (cache, qemu, dmsetup) = match parts() {
        Ok(parts) => parts,
        Err(reason) => return testing::skipped(reason),
    };
    testing::booting(|| each_reads_the_other(&cache, &qemu, &dmsetup));
}

fn each_reads_the_other(cache: &Cache, qemu: &Qemu, dmsetup: &HostProgram) {
    let seed = std::hash::RandomState::new().hash_one(());
    println!("seed {seed}");
    let random = &mut Random(seed);
    let disks = Mode::ALL.map(|mode| Disk::new(mode, random));
    let spec = Spec {
        mode: Mode::Ecb,
        iv: Iv::EssivSha256,
    };
    let refused = cells(spec, random).into_iter().step_by(12);
    let refused: String = refused.map(|cell| cell.line(0, "/dev/ram7")).collect();

    let kernel = cache.kernel(None).unwrap();
    let mut image = Image::new(cache, kernel)
        .files(dmsetup.files("/bin/dmsetup").unwrap())
        .file(GuestFile::bytes("/in/refused", 0o600, refused));
    for module in MODULES {
        image = image.module(module);
    }
    for (number, disk) in disks.iter().enumerate() {
        image = image.files(disk.files(number));
    }
    let mut guest = Guest::boot(qemu, kernel, &image.build().unwrap(), &Shape::default()).unwrap();
    let run = Run::new(SCRIPT).within(Duration::from_secs(120));
    let outcome = guest.run(&run).unwrap();
    assert_eq!(outcome.status, 0, "{} {}", outcome.text(), guest.console());
    testing::certainly!(outcome.output.is_empty(), "taken: {}", outcome.text());
    let (mut equal, mut wrong) = (0, String::new());
    for (number, disk) in disks.iter().enumerate() {
        let mut out = |name| {
            guest
                .get(&format!("/out/{name}{number}"), 64 << 20)
                .unwrap()
        };
        equal += disk.check(&out("written"), &out("read"), &mut wrong);
    }
    let are_equal = (equal, &*wrong) == (2 * CELLS, "");
    testing::certainly!(are_equal, "seed {seed}: {equal} of {}\n{wrong}", 2 * CELLS);
    guest.shutdown().unwrap();
}
