//! Every service, every length, in place and not, in pieces: equal to a second library.

use crypto::{Algorithm, Operation};
use lockgate_vhost::front::{FrontConfig, Interrupts, Manner, Request, SessionSpec, SharedMemory};
use proptest::prelude::*;
use wire::virtio_crypto as virtio;
use wire::virtio_crypto::{Opcode, Status};

use crate::common::raw::{Descriptor, INDIRECT, NEXT, WRITE, write_table};
use crate::common::{
    Rig, cipher, expected, finish, hash, is_ok, one, open_aes, pattern, public_half,
};

const KEYS: [(Algorithm, usize); 3] = [
    (Algorithm::Aes128Cbc, 16),
    (Algorithm::Aes192Cbc, 24),
    (Algorithm::Aes256Cbc, 32),
];

const MANNERS: [Manner; 3] = [Manner::Qemu7, Manner::Qemu8, Manner::Strict];

const INTERRUPTS: [Interrupts; 3] = [Interrupts::EventIndex, Interrupts::Flag, Interrupts::Polled];

#[test]
fn ciphers_of_every_key_by_every_front_end_are_right() {
    let rig = Rig::new();
    for manner in MANNERS {
        for interrupts in INTERRUPTS {
            let mut front = rig.front(FrontConfig {
                manner,
                interrupts,
                regions: 3,
                ..FrontConfig::default()
            });
            let mut driver = front.start(0).unwrap();
            let (memory, at) = (front.memory().clone(), front.data_at());
            for (algorithm, key_bytes) in KEYS {
                let key = pattern(key_bytes, 1);
                for encrypts in [true, false] {
                    let spec = SessionSpec::Cipher {
                        encrypts,
                        key: &key,
                    };
                    let session = front.open_session(&spec).unwrap();
                    for (len, in_place) in [(16, false), (64, true), (4096, false), (65_536, true)]
                    {
                        let text = pattern(len, len as u64);
                        let to = if in_place { at } else { at + (256 << 10) };
                        memory.write(at, &text);
                        let done = one(
                            &mut driver,
                            &Request {
                                header: cipher(session, encrypts, len),
                                iv: [9; 16],
                                source: &[(at, len)],
                                destination: &[(to, len)],
                            },
                        );
                        assert!(is_ok(&done), "{done:?}");
                        assert_eq!(done.written as usize, len + 1);
                        let mut got = vec![0; len];
                        memory.read(to, &mut got);
                        let operation = if encrypts {
                            Operation::Encrypt
                        } else {
                            Operation::Decrypt
                        };
                        let right = expected(algorithm, operation, &key, [9; 16], &text);
                        assert!(got == right, "{algorithm} {operation} {len} {manner:?}");
                    }
                    front.close_session(session).unwrap();
                }
            }
        }
    }
    assert_eq!(rig.complaints(), [""; 0]);
}

#[test]
fn digests_and_macs_are_right() {
    let rig = Rig::new();
    let mut front = rig.front(FrontConfig::default());
    let config = front.device_config().unwrap().unwrap();
    let services = [
        virtio::SERVICE_CIPHER,
        virtio::SERVICE_HASH,
        virtio::SERVICE_MAC,
    ];
    assert!(
        services.iter().all(|one| config.services & 1 << one != 0),
        "{config:?}"
    );
    let mut driver = front.start(0).unwrap();
    let (memory, at) = (front.memory().clone(), front.data_at());
    let key = pattern(20, 3);
    let all = [
        (
            Algorithm::Sha1,
            SessionSpec::Hash {
                algorithm: virtio::HASH_SHA1,
            },
        ),
        (
            Algorithm::Sha256,
            SessionSpec::Hash {
                algorithm: virtio::HASH_SHA256,
            },
        ),
        (
            Algorithm::Sha384,
            SessionSpec::Hash {
                algorithm: virtio::HASH_SHA384,
            },
        ),
        (
            Algorithm::Sha512,
            SessionSpec::Hash {
                algorithm: virtio::HASH_SHA512,
            },
        ),
        (
            Algorithm::HmacSha256,
            SessionSpec::Mac {
                algorithm: virtio::MAC_HMAC_SHA256,
                key: &key,
            },
        ),
    ];
    for (algorithm, spec) in &all {
        let session = front.open_session(spec).unwrap();
        let (opcode, key) = match spec {
            SessionSpec::Mac { key, .. } => (Opcode::Mac, *key),
            _ => (Opcode::Hash, &[][..]),
        };
        for len in [0, 1, 63, 64, 4096, 100_001] {
            let text = pattern(len, 5);
            memory.write(at, &text);
            let right = expected(*algorithm, Operation::Hash, key, [0; 16], &text);
            let to = at + (512 << 10);
            let done = one(
                &mut driver,
                &Request {
                    header: hash(opcode, session, len, right.len()),
                    iv: [0; 16],
                    source: &[(at, len)],
                    destination: &[(to, right.len())],
                },
            );
            assert!(is_ok(&done), "{algorithm} {len}: {done:?}");
            let mut got = vec![0; right.len()];
            memory.read(to, &mut got);
            assert_eq!(got, right, "{algorithm} {len}");
        }
    }
}

/// RSA with a public key: a private one does not fit into QEMU's message.
#[test]
fn signatures_are_verified_and_texts_encrypted() {
    let rig = Rig::new();
    let mut front = rig.front(FrontConfig::default());
    let mut driver = front.start(0).unwrap();
    let (memory, at) = (front.memory().clone(), front.data_at());
    let algorithm = Algorithm::Rsa(crypto::RsaBits::B2048, crypto::RsaScheme::Pkcs1);
    let aws_lc = crypto::by_name("aws-lc").unwrap();
    let material = crypto::generate_key(algorithm);
    let public = public_half(&material);
    let private = aws_lc.key(algorithm, &material).unwrap();
    let run = |operation, source: &[u8], destination: &mut [u8], tag: &mut [u8]| {
        let slices = crypto::Slices {
            tag,
            ..crypto::Slices::plain(crypto::Data::apart(source, destination))
        };
        let kind = crypto::Kind::new(algorithm, operation);
        crypto::process_slices(&*aws_lc, &*private, kind, slices)
    };
    let (digest, mut signature) = (pattern(32, 8), vec![0; 256]);
    assert_eq!(
        run(Operation::Sign, &digest, &mut [], &mut signature),
        crypto::Status::Ok
    );
    let session = front
        .open_session(&SessionSpec::Rsa { key: &public })
        .unwrap();
    memory.write(at, &digest);
    memory.write(at + 4096, &signature[..100]);
    memory.write(at + 8192, &signature[100..]);
    let header = |opcode, source_bytes, destination_bytes| virtio::Header {
        opcode,
        session,
        iv_bytes: 0,
        source_bytes,
        destination_bytes,
    };
    let verify = Request {
        header: header(Opcode::AkcipherVerify, 256, 32),
        iv: [0; 16],
        source: &[(at + 4096, 100), (at + 8192, 156), (at, 32)],
        destination: &[],
    };
    assert!(is_ok(&one(&mut driver, &verify)));
    memory.write(at + 4096, &[signature[0] ^ 1]);
    assert_eq!(one(&mut driver, &verify).status, Some(Status::KeyRejected));
    let done = one(
        &mut driver,
        &Request {
            header: header(Opcode::AkcipherEncrypt, 32, 256),
            iv: [0; 16],
            source: &[(at, 32)],
            destination: &[(at + 4096, 100), (at + 8192, 156)],
        },
    );
    assert!(is_ok(&done), "{done:?}");
    let mut text = [vec![0; 100], vec![0; 156]];
    memory.read(at + 4096, &mut text[0]);
    memory.read(at + 8192, &mut text[1]);
    let mut opened = vec![0; 32];
    let status = run(Operation::Decrypt, &text.concat(), &mut opened, &mut []);
    assert_eq!((status, opened), (crypto::Status::Ok, digest));
}

/// A request as a driver may cut it.
#[derive(Clone, Debug)]
struct Cut {
    blocks: usize,
    encrypts: bool,
    in_place: bool,
    source_cuts: Vec<usize>,
    destination_cuts: Vec<usize>,
    key: usize,
}

fn cuts() -> impl Strategy<Value = Cut> {
    let cut = prop::collection::vec(1..4000_usize, 0..8);
    (
        1..3000_usize,
        any::<bool>(),
        any::<bool>(),
        cut.clone(),
        cut,
        0..3_usize,
    )
        .prop_map(
            |(blocks, encrypts, in_place, source_cuts, destination_cuts, key)| Cut {
                blocks,
                encrypts,
                in_place,
                source_cuts,
                destination_cuts,
                key,
            },
        )
}

/// Pieces of `len` bytes from `at` on, of these lengths, with gaps between them.
fn pieces(at: usize, len: usize, cuts: &[usize], gap: usize) -> Vec<(usize, usize)> {
    let (mut at, mut left, mut pieces) = (at, len, Vec::new());
    for &cut in cuts {
        let part = cut.min(left);
        pieces.push((at, part));
        (at, left) = (at + part + gap, left - part);
    }
    pieces.push((at, left));
    pieces.retain(|piece| piece.1 > 0);
    pieces
}

fn scatter(memory: &SharedMemory, pieces: &[(usize, usize)], mut bytes: &[u8]) {
    for &(at, len) in pieces {
        let (part, rest) = bytes.split_at(len);
        memory.write(at, part);
        bytes = rest;
    }
}

fn gather(memory: &SharedMemory, pieces: &[(usize, usize)]) -> Vec<u8> {
    let mut all = Vec::new();
    for &(at, len) in pieces {
        let mut bytes = vec![0; len];
        memory.read(at, &mut bytes);
        all.extend(bytes);
    }
    all
}

/// Makes each go on with the next, which lies at the next of these indices.
fn link(chain: &mut [Descriptor], indices: &[u16]) {
    for (descriptor, next) in chain.iter_mut().rev().skip(1).rev().zip(&indices[1..]) {
        (descriptor.2, descriptor.3) = (descriptor.2 | NEXT, *next);
    }
}

const REQUESTS: usize = 12;
const ROOM: usize = 128 << 10;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(24, 2000)))]

    /// Many at once, of several keys, each cut at random on both sides.
    #[test]
    fn requests_cut_at_random_are_right(
        requests in prop::collection::vec(cuts(), 1..REQUESTS),
        regions in 1..5_usize,
        gap in 0..100_usize,
    ) {
        let rig = Rig::new();
        let mut front = rig.front(FrontConfig {
            regions,
            data_bytes: REQUESTS * 2 * ROOM,
            ..FrontConfig::default()
        });
        let mut driver = front.start(0).unwrap();
        let (memory, at) = (front.memory().clone(), front.data_at());
        let mut checks = Vec::new();
        for (index, cut) in requests.iter().enumerate() {
            let (algorithm, key_bytes) = KEYS[cut.key];
            let key = pattern(key_bytes, index as u64 + 1);
            let spec = SessionSpec::Cipher { encrypts: cut.encrypts, key: &key };
            let session = front.open_session(&spec).unwrap();
            let len = cut.blocks * 16;
            let from = pieces(at + index * 2 * ROOM, len, &cut.source_cuts, gap);
            let to = if cut.in_place {
                from.clone()
            } else {
                pieces(at + (index * 2 + 1) * ROOM, len, &cut.destination_cuts, gap)
            };
            let text = pattern(len, 77 + index as u64);
            scatter(&memory, &from, &text);
            let iv = [index as u8; 16];
            let header = cipher(session, cut.encrypts, len);
            let request = Request { header, iv, source: &from, destination: &to };
            driver.submit(&request, index as u64).unwrap();
            let operation = if cut.encrypts { Operation::Encrypt } else { Operation::Decrypt };
            checks.push((to, expected(algorithm, operation, &key, iv, &text)));
        }
        let all = finish(&mut driver);
        let tokens: Vec<u64> = all.iter().map(|done| done.token).collect();
        prop_assert_eq!(tokens, (0..requests.len() as u64).collect::<Vec<_>>());
        for (done, (to, right)) in all.iter().zip(&checks) {
            prop_assert!(is_ok(done), "{:?}", done);
            prop_assert!(&gather(&memory, to) == right);
        }
    }

    /// A device must not care how a driver frames a request (virtio 1.2 §2.7.4): cut
    /// anywhere, within the header too, and its descriptors anywhere in the queue's own
    /// table, in a table of the request's own, or first in the one, then in the other.
    #[test]
    fn requests_framed_at_random_are_right(
        blocks in 1..64_usize,
        read_cuts in prop::collection::vec(1..200_usize, 0..8),
        write_cuts in prop::collection::vec(1..200_usize, 0..8),
        gap in 0..100_usize,
        direct in 0..20_usize,
        indices in Just(Vec::from_iter(0..32_u16)).prop_shuffle(),
        table_indices in Just(Vec::from_iter(1..32_u16)).prop_shuffle(),
    ) {
        let rig = Rig::new();
        let mut front = rig.front(FrontConfig { queue_size: 32, ..FrontConfig::default() });
        let mut driver = front.start(0).unwrap();
        let (memory, at, len) = (front.memory().clone(), front.data_at(), blocks * 16);
        let header = cipher(open_aes(&mut front, true), true, len);
        let text = pattern(len, 5);
        let request = [&header.to_bytes()[..], &[3; 16], &text].concat();
        let from = pieces(at, request.len(), &read_cuts, gap);
        let to = pieces(at + 8192, len + 1, &write_cuts, gap);
        scatter(&memory, &from, &request);
        scatter(&memory, &to, &vec![0xff; len + 1]);
        let list = |pieces: &[(usize, usize)], flags| -> Vec<Descriptor> {
            let one = |&(at, len): &(usize, usize)| (memory.guest(at), len as u32, flags, 0);
            pieces.iter().map(one).collect()
        };
        let mut chain = [list(&from, 0), list(&to, WRITE)].concat();
        let mut rest = chain.split_off(direct.min(chain.len()));
        if !rest.is_empty() {
            // A table begins with its first; the others lie anywhere, between zeroes.
            let places = [&[0], &table_indices[..]].concat();
            link(&mut rest, &places);
            let mut table = vec![(0, 0, 0, 0); 32];
            for (place, descriptor) in places.iter().zip(rest) {
                table[usize::from(*place)] = descriptor;
            }
            write_table(&front, at + 16_384, &table);
            chain.push((memory.guest(at + 16_384), 32 * 16, INDIRECT, 0));
        }
        link(&mut chain, &indices);
        for (index, (address, bytes, flags, next)) in indices.iter().zip(chain) {
            driver.put_descriptor(*index, address, bytes, flags, next);
        }
        driver.enter(indices[0], 0);
        let done = finish(&mut driver);
        prop_assert_eq!(done[0].written as usize, len + 1);
        let key = pattern(16, 1);
        let (algorithm, operation) = (Algorithm::Aes128Cbc, Operation::Encrypt);
        let right = expected(algorithm, operation, &key, [3; 16], &text);
        prop_assert!(gather(&memory, &to) == [right, vec![Status::Ok as u8]].concat());
    }
}

#[test]
fn a_request_of_a_mebibyte_is_served_in_pieces() {
    let rig = Rig::new();
    let len = 1 << 20;
    let mut front = rig.front(FrontConfig {
        // No chain is longer than its queue.
        queue_size: 1024,
        data_bytes: 2 * len,
        ..FrontConfig::default()
    });
    let mut driver = front.start(0).unwrap();
    let (memory, at) = (front.memory().clone(), front.data_at());
    let key = pattern(16, 2);
    let session = front.open_session(&SessionSpec::Cipher {
        encrypts: true,
        key: &key,
    });
    let text = pattern(len, 4);
    memory.write(at, &text);
    // As a driver cuts it, page by page, not in order of addresses.
    let pages: Vec<_> = (0..len / 4096)
        .map(|page| (at + (page ^ 1) * 4096, 4096))
        .collect();
    let session = session.unwrap();
    let request = |header, destination| Request {
        header,
        iv: [1; 16],
        source: &pages,
        destination,
    };
    let done = one(&mut driver, &request(cipher(session, true, len), &pages));
    assert!(is_ok(&done), "{done:?}");
    let swapped: Vec<u8> = text
        .chunks(8192)
        .flat_map(|two| [&two[4096..], &two[..4096]].concat())
        .collect();
    let right = expected(
        Algorithm::Aes128Cbc,
        Operation::Encrypt,
        &key,
        [1; 16],
        &swapped,
    );
    assert!(gather(&memory, &pages) == right);
    let too_long = cipher(session, true, len + 16);
    let more = [&pages[..], &[(at + len, 16)]].concat();
    let done = one(
        &mut driver,
        &Request {
            source: &more,
            ..request(too_long, &more)
        },
    );
    assert_eq!(done.status, Some(Status::Failed));
    assert_eq!(rig.refused(lockgate_vhost::Refusal::TooLong), 1);
}

/// Depth 1 is told at once, whatever the settings; and a guest that asks by its event
/// index is told no more than it asks for.
#[test]
fn one_request_at_a_time_is_never_held_back() {
    let rig = Rig::with(
        crate::common::engine(),
        engine::FunctionConfig {
            settings: policy::Settings::coalesce(64, 1_000_000).unwrap(),
            ..crate::common::function()
        },
        |_| {},
    );
    let mut front = rig.front(FrontConfig::default());
    let mut driver = front.start(0).unwrap();
    let at = front.data_at();
    let session = front.open_session(&SessionSpec::Cipher {
        encrypts: true,
        key: &[1; 16],
    });
    let header = cipher(session.unwrap(), true, 64);
    let request = Request {
        header,
        iv: [0; 16],
        source: &[(at, 64)],
        destination: &[(at, 64)],
    };
    for _ in 0..50 {
        assert!(is_ok(&one(&mut driver, &request)));
    }
    assert_eq!(rig.device().function().watch().held_alone(), 0);
    // At depth they are gathered: 50 that are done together need one interrupt or a few.
    let before = driver.interrupts();
    for _ in 0..10 {
        for token in 0..50 {
            driver.submit(&request, token).unwrap();
        }
        assert_eq!(finish(&mut driver).len(), 50);
    }
    let interrupts = driver.interrupts() - before;
    assert!(interrupts <= 50, "{interrupts} interrupts for 500 requests");
}
