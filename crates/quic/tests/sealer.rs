//! The sending side, beside what seals one packet after the other.

use crypto::Backend;
use lockgate_quic::sealer::{NeverSent, SealError, SealRequest, Update, UpdateError, seal_batch};
use lockgate_quic::{Sealer, Suite};

use crate::packets::Random;
use crate::table::{Peer, backends, portable};

fn sealer(peer: &Peer, backend: &dyn Backend) -> Sealer {
    Sealer::new(peer.suite, peer.key(backend, 0))
}

/// A packet of the first sealer, to an id of one byte, its number in two.
fn seal_in(
    sealers: &mut [Sealer],
    number: u64,
    source: &mut [u8],
    number_at: u16,
) -> (Result<(), SealError>, Vec<u8>) {
    let mut destination = vec![0xa5; source.len() + 16];
    let mut requests = [SealRequest {
        sealer: 0,
        number,
        number_at,
        source,
        destination: &mut destination,
        outcome: Err(SealError::Waiting),
    }];
    seal_batch(&*portable(), sealers, &mut requests);
    (requests[0].outcome, destination)
}

fn seal(sealer: &mut Sealer, number: u64) -> Result<(), SealError> {
    let mut source = *b"\x41i..a payload";
    seal_in(std::slice::from_mut(sealer), number, &mut source, 2).0
}

#[test]
fn batches_of_several_connections_are_what_one_by_one_makes() {
    let mut random = Random(77);
    for backend in backends() {
        for _ in 0..testing::cases(10, 500) {
            let peers: Vec<_> = (0..4)
                .map(|_| Peer::new(Suite::ALL[random.below(3)], &mut random))
                .collect();
            let mut sealers: Vec<_> = peers.iter().map(|peer| sealer(peer, &*backend)).collect();
            let (mut plains, mut next) = (Vec::new(), [0; 4]);
            for _ in 0..80 {
                let (of, phase, bytes) = (random.below(4), random.below(2), 2 + random.below(3));
                let number: u64 = next[of];
                next[of] += 1;
                let id = random.bytes(8);
                let mut plain = Peer::header(&id, number, bytes, phase);
                let count = 4 + random.below(200);
                plain.extend(random.bytes(count));
                plains.push((of, number, bytes, id, plain));
            }
            let mut buffers: Vec<_> = plains
                .iter()
                .map(|(_, _, bytes, _, plain)| {
                    let mut source = plain.clone();
                    // Number and phase are not the caller's.
                    source[9..9 + bytes].fill(0xee);
                    (source, vec![0; plain.len() + 16])
                })
                .collect();
            let mut requests: Vec<_> = plains
                .iter()
                .zip(&mut buffers)
                .map(|((of, number, ..), (source, destination))| SealRequest {
                    sealer: *of,
                    number: *number,
                    number_at: 9,
                    source,
                    destination,
                    outcome: Err(SealError::Waiting),
                })
                .collect();
            seal_batch(&*backend, &mut sealers, &mut requests);
            assert!(requests.iter().all(|one| one.outcome.is_ok()));
            for ((of, number, _, id, mut plain), (_, sealed)) in plains.into_iter().zip(buffers) {
                plain[0] &= !4;
                assert_eq!(sealed, peers[of].sealed(plain, &id, (number, 0)));
            }
        }
    }
}

#[test]
fn a_number_is_never_used_twice() {
    let mut one = sealer(&Peer::fixed(), &*portable());
    assert_eq!(seal(&mut one, 5), Ok(()));
    for number in [5, 4, 0] {
        let used = SealError::NumberUsed { number, next: 6 };
        assert_eq!(seal(&mut one, number), Err(used));
        assert!(
            used.to_string()
                .contains(&format!("number {number} is used up"))
        );
    }
    // Also where sealing failed.
    let mut source = [0x41; 4];
    let (failed, destination) = seal_in(std::slice::from_mut(&mut one), 6, &mut source, 2);
    let length = SealError::Length {
        source_bytes: 4,
        destination_bytes: 20,
    };
    assert_eq!((failed, destination), (Err(length), vec![0xa5; 20]));
    let used = SealError::NumberUsed { number: 6, next: 7 };
    assert_eq!(seal(&mut one, 6), Err(used));
    // Nor in one batch, nor with the key of the next phase.
    let peer = Peer::fixed();
    one.update(peer.key(&*portable(), 1), Update::Answered)
        .unwrap();
    assert_eq!(seal(&mut one, 6), Err(used));
    let mut buffers = [0; 2].map(|_| (*b"\x41i..a payload", [0; 29]));
    let requests = buffers.each_mut().map(|(source, destination)| SealRequest {
        sealer: 0,
        number: 7,
        number_at: 2,
        source,
        destination,
        outcome: Err(SealError::Waiting),
    });
    let mut requests = requests;
    seal_batch(&*portable(), std::slice::from_mut(&mut one), &mut requests);
    let used = Err(SealError::NumberUsed { number: 7, next: 8 });
    assert_eq!(requests.map(|one| one.outcome), [Ok(()), used]);
    assert_eq!(buffers[1].1, [0; 29]);
}

#[test]
fn a_key_stops_at_its_confidentiality_limit() {
    let peer = Peer::fixed();
    let mut one = sealer(&peer, &*portable())
        .limited_to(8)
        .limited_to(u64::MAX);
    for number in 0..8 {
        assert_eq!(one.wants_update(), number >= 6);
        assert_eq!(seal(&mut one, number), Ok(()));
    }
    let full = Err(SealError::ConfidentialityLimit { sealed: 8 });
    assert_eq!(seal(&mut one, 8), full);
    one.acknowledge(3).unwrap();
    one.update(peer.key(&*portable(), 1), Update::Initiated)
        .unwrap();
    assert!(!one.wants_update() && one.is_phase_set());
    assert_eq!((seal(&mut one, 8), one.next_number()), (Ok(()), 9));
}

#[test]
fn an_update_waits_for_an_acknowledgement() {
    let peer = Peer::fixed();
    let mut one = sealer(&peer, &*portable());
    let update = |one: &mut Sealer, phase, who| one.update(peer.key(&*portable(), phase), who);
    let early = |first| Err(UpdateError::NotAcknowledged { first });
    assert_eq!(update(&mut one, 1, Update::Initiated), early(0));
    let never = NeverSent { number: 0, next: 0 };
    assert_eq!(one.acknowledge(0), Err(never));
    (0..3).for_each(|number| seal(&mut one, number).unwrap());
    one.acknowledge(1).unwrap();
    assert_eq!(update(&mut one, 1, Update::Initiated), Ok(()));
    // A packet of the phase before does not count.
    one.acknowledge(2).unwrap();
    assert_eq!(update(&mut one, 2, Update::Initiated), early(3));
    let mut source = *b"\x41i..a payload";
    let (done, sealed) = seal_in(std::slice::from_mut(&mut one), 3, &mut source, 2);
    let expected = peer.sealed(b"\x45i\x00\x03a payload".to_vec(), b"i", (3, 1));
    assert_eq!((done, sealed), (Ok(()), expected));
    one.acknowledge(3).unwrap();
    assert_eq!(update(&mut one, 2, Update::Initiated), Ok(()));
    assert_eq!(update(&mut one, 3, Update::Answered), Ok(()));
    assert!(one.is_phase_set());
}

#[test]
fn what_is_no_short_packet_is_refused() {
    let mut sealers = [sealer(&Peer::fixed(), &*portable())];
    let mut seal = |number, first, number_at| {
        let mut source = [first; 40];
        seal_in(&mut sealers, number, &mut source, number_at).0
    };
    let header = |number_at| Err(SealError::Header { number_at });
    assert_eq!(seal(0, 0xc1, 2), header(2));
    assert_eq!(seal(1, 0x41, 0), header(0));
    assert_eq!(seal(2, 0x41, 22), header(22));
    assert_eq!(seal(3, 0x43, 21), Ok(()));
    let bytes = |number, bytes, needed| {
        Err(SealError::NumberBytes {
            number,
            bytes,
            needed,
        })
    };
    assert_eq!(seal(200, 0x40, 2), bytes(200, 1, 2));
    assert_eq!(seal(1 << 40, 0x43, 2), bytes(1 << 40, 4, usize::MAX));
    let large = Err(SealError::NumberTooLarge(1 << 62));
    assert_eq!(seal(1 << 62, 0x43, 2), large);
    let mut source = [0x41; 40];
    assert_eq!(
        seal_in(&mut [], 0, &mut source, 2).0,
        Err(SealError::NoSealer(0))
    );
}

#[test]
fn a_sealer_shows_no_secret() {
    let shown = format!("{:?}", sealer(&Peer::fixed(), &*portable()));
    let expected = "Sealer { suite: Aes128Gcm, next: 0, is_phase_set: false, sealed: 0, \
                    limit: 8388608, .. }";
    assert_eq!(shown, expected);
}
