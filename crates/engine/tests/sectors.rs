//! Runs of sectors through lanes of several tenants: every byte as the cipher run
//! directly has it, however requests are scattered and cut; what is refused touches none.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::common::crypto_lane::{attach, call, engine, finish};
use crate::common::instead::Instead;
use crate::common::random::Random;
use crate::common::{cases, lane_config};
use crypto::{
    Algorithm, Backend, KeyError, KeyMaterial, Operation, SectorCipher, SectorIv, SectorMode,
    Sectors, Status,
};
use lockgate_engine::{
    Call, CryptoFunction, CryptoLane, FunctionConfig, LaneConfig, Order, RegionId, SessionId, Span,
};
use policy::Moderation;

const DEPTH: usize = 4;
/// Of one request: twelve sectors, source and destination apart, and gaps.
const AREA: usize = 32 * 4096;
const SECTORS_MAX: usize = 12;
const SEGMENTS: usize = 64;

impl Random {
    /// Cuts `bytes` bytes from `begin` on into segments in any order, with a gap now and
    /// then; where they end.
    fn scattered(&mut self, begin: usize, bytes: usize) -> (Vec<Span>, usize) {
        let (mut at, mut left, mut list) = (begin, bytes, Vec::new());
        while left > 0 {
            let len = match self.below(3) {
                _ if list.len() + 2 >= SEGMENTS / 2 => left,
                0 => left,
                1 => 512 * (1 + self.below(9)),
                _ => 1 + self.below(3000),
            };
            let len = len.min(left);
            list.push(Span::slab(at, len));
            at += len + self.of(&[0, 0, 5, 512]);
            left -= len;
        }
        if self.below(2) == 0 {
            list.reverse();
        }
        (list, at)
    }

    fn sectors(&mut self) -> Sectors {
        let mode = self.of(&SectorMode::ALL);
        let (key_bytes, iv) = (self.of(&mode.key_bytes()), self.of(&SectorIv::ALL));
        let sectors = Sectors::new(mode, iv, key_bytes, self.of(&[512, 1024, 2048, 4096]));
        sectors.unwrap().numbered_large(self.below(2) == 0)
    }

    /// The same bytes in more segments.
    fn cut(&mut self, list: &[Span]) -> Vec<Span> {
        let cut = |span: &Span| {
            let first = self.below(span.len + 1);
            let (a, b) = (span.offset, span.offset + first);
            [Span::slab(a, first), Span::slab(b, span.len - first)]
        };
        list.iter().flat_map(cut).collect()
    }
}

fn range(span: &Span) -> Range<usize> {
    span.offset..span.offset + span.len
}

struct Tenant {
    lane: CryptoLane,
    session: SessionId,
    sectors: Sectors,
    cipher: SectorCipher,
    /// What the slab must hold.
    slab: Vec<u8>,
}

impl Tenant {
    fn new(function: &CryptoFunction, sectors: Sectors, random: &mut Random) -> Self {
        let config = LaneConfig {
            piece_bytes: random.of(&[None, Some(512), Some(4096), Some(5120)]),
            order: random.of(&[Order::Any, Order::Fifo]),
            ..lane_config(DEPTH, Moderation::Armed)
        };
        let mut key = random.bytes(sectors.key_bytes());
        let cipher = SectorCipher::new(sectors, &key).unwrap();
        let mut lane = function.lane(0, config, DEPTH * AREA, SEGMENTS).unwrap();
        let key = KeyMaterial::take(&mut key);
        let session = function.session(Algorithm::Sectors(sectors), &key);
        let session = attach(&mut lane, session);
        let slab = random.bytes(DEPTH * AREA);
        lane.write(RegionId::SLAB, 0, &slab).unwrap();
        Self {
            lane,
            session,
            sectors,
            cipher,
            slab,
        }
    }

    /// Submits a request in area `slot`, and does it directly; how it must end.
    fn submit(&mut self, slot: usize, random: &mut Random) -> Status {
        let sector_bytes = self.sectors.sector_bytes();
        let bytes = random.below(SECTORS_MAX + 1) * sector_bytes;
        let (mut source, end) = random.scattered(slot * AREA, bytes);
        let mut destination = match random.below(3) {
            0 => source.clone(),
            1 => random.cut(&source),
            _ => random.scattered(end, bytes).0,
        };
        let step = (sector_bytes / 512) as u64;
        let whole = (1 << 32) - random.below(20) as u64;
        let mut first = random.of(&[0, whole, u64::MAX / step - 100]) * step;
        let status = match random.below(8) {
            _ if bytes == 0 => Status::Ok,
            // Half a sector is missing.
            0 => {
                for list in [&mut source, &mut destination] {
                    list.push(Span::slab(slot * AREA + AREA - 256, 256));
                }
                Status::BadLength
            }
            1 if step > 1 => {
                first += 1;
                Status::BadLength
            }
            2 if bytes > sector_bytes => {
                first = u64::MAX - (bytes / 512) as u64 + 1 + step;
                Status::BadLength
            }
            3 => {
                let longest = source.iter().max_by_key(|span| span.len).unwrap();
                destination = vec![Span::slab(longest.offset + 1, bytes)];
                Status::BadSegment
            }
            _ => Status::Ok,
        };
        let operation = random.of(&[Operation::Encrypt, Operation::Decrypt]);
        let call = Call {
            iv: Sectors::job_iv(first),
            ..call(self.session, operation, &source, &destination)
        };
        self.lane.enqueue(&call, slot as u64).unwrap();
        if status == Status::Ok {
            let parts = source.iter().map(|span| &self.slab[range(span)]);
            let mut text = parts.collect::<Vec<_>>().concat();
            let encrypt = operation == Operation::Encrypt;
            self.cipher.run(encrypt, first, &mut text);
            let mut from = text.iter().copied();
            for at in destination.iter().flat_map(range) {
                self.slab[at] = from.next().unwrap();
            }
        }
        status
    }

    fn ends(&mut self, expected: &[Status], what: &str) {
        for (slot, status) in finish(&mut self.lane) {
            assert_eq!(status, expected[slot as usize], "{what}, area {slot}");
        }
        let mut found = vec![0; self.slab.len()];
        let all = Span::slab(0, found.len());
        self.lane.read(all, &mut found).unwrap();
        let wrong = found.iter().zip(&self.slab).position(|(a, b)| a != b);
        assert_eq!(wrong, None, "{what}");
    }
}

#[test]
fn runs_of_sectors_are_as_done_directly_and_what_is_refused_touches_nothing() {
    for seed in 1..=u64::from(cases(40)) {
        let mut random = Random::new(seed);
        let engine = engine(crypto::by_name("auto").unwrap());
        let functions = [(); 3].map(|()| engine.function(FunctionConfig::default()).unwrap());
        // Of one kind, so that they are done together, or not.
        let shared = random.sectors();
        let mut tenants = functions.each_ref().map(|function| {
            let own = random.sectors();
            let sectors = if seed % 2 == 0 { shared } else { own };
            Tenant::new(function, sectors, &mut random)
        });
        let mut seen = HashMap::new();
        for _ in 0..8 {
            let expected = tenants.each_mut().map(|tenant| {
                let expected = [0, 1, 2, 3].map(|slot| tenant.submit(slot, &mut random));
                tenant.lane.kick();
                expected
            });
            for (tenant, expected) in tenants.iter_mut().zip(expected) {
                tenant.ends(&expected, &format!("seed {seed}, {:?}", tenant.sectors));
                for status in expected {
                    *seen.entry(status).or_insert(0) += 1;
                }
            }
        }
        assert!(seen.len() == 3, "{seen:?}");
    }
}

/// Each piece is whole sectors, even where the lane's pieces are shorter than one.
#[test]
fn a_run_is_cut_between_sectors() {
    let kernels = crypto::by_name("kernels").unwrap();
    let pieces = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&pieces);
    let backend = Instead::of(
        kernels,
        move |kernels: &dyn Backend, kind, jobs, statuses| {
            let bytes = jobs.iter().map(|job| job.source.first.len);
            log.lock().unwrap().extend(bytes);
            // SAFETY: forwarded from the caller.
            unsafe { kernels.process(kind, jobs, statuses) };
        },
    );
    let engine = engine(backend);
    for (piece_bytes, sector_bytes, expected) in [
        (4096, 512, &[4096, 4096][..]),
        (4608, 4096, &[4096, 4096]),
        (512, 4096, &[4096, 4096]),
        (5120, 1024, &[5120, 3072]),
        (8192, 512, &[8192]),
    ] {
        let config = LaneConfig {
            piece_bytes: Some(piece_bytes),
            ..lane_config(4, Moderation::Armed)
        };
        let mut lane = engine.lane(0, config, 8192, 1).unwrap();
        let sectors = Sectors::new(SectorMode::Cbc, SectorIv::EssivSha256, 32, sector_bytes);
        let algorithm = Algorithm::Sectors(sectors.unwrap());
        let session = engine.session(algorithm, &crypto::generate_key(algorithm));
        let session = attach(&mut lane, session);
        let run = [Span::slab(0, 8192)];
        let call = Call {
            iv: Sectors::job_iv(8),
            ..call(session, Operation::Encrypt, &run, &run)
        };
        lane.submit(&call, 1).unwrap();
        assert_eq!(finish(&mut lane), [(1, Status::Ok)]);
        assert_eq!(std::mem::take(&mut *pieces.lock().unwrap()), expected);
    }
}

#[test]
fn who_has_no_sectors_says_so() {
    let sectors = Sectors::new(SectorMode::Xts, SectorIv::Plain64, 64, 512).unwrap();
    let algorithm = Algorithm::Sectors(sectors);
    for name in ["aws-lc", "portable"] {
        let engine = engine(crypto::by_name(name).unwrap());
        let refused = engine.session(algorithm, &crypto::generate_key(algorithm));
        let expected = KeyError::Unsupported {
            backend: name,
            algorithm,
        };
        assert_eq!(refused.unwrap_err(), expected);
    }
    let error = Sectors::new(SectorMode::Lrw, SectorIv::Benbi, 16, 512).unwrap_err();
    assert_eq!(
        error.to_string(),
        "sectors in lrw take a key of 32, 40, 48 bytes, got 16"
    );
    let error = Sectors::new(SectorMode::Lrw, SectorIv::Benbi, 32, 8192).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("sectors of 8192 bytes are not supported")
    );
}
