//! Two devices of one worker: whatever one guest does, every request of the other is
//! done, and right. By counts alone: how fast is for the section to say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lockgate_vhost::front::{Driver, FrontConfig, FrontEnd, Interrupts, Request};

use crate::common::load::{Load, data_bytes};
use crate::common::raw::{INDIRECT, NEXT, write_table};
use crate::common::{Rig, cipher, engine, function, open_aes};

const SIZE: u16 = 1024;
const LEN: usize = 4096;
const DEPTH: usize = 8;

#[derive(Clone, Copy, Debug)]
enum Hostility {
    /// Requests of a session that there is not.
    Invalid,
    /// Chains that lead to themselves.
    Endless,
    /// As many descriptors as a queue has, which come to nothing.
    Long,
    /// Kicks, and nothing to do.
    Kicks,
    /// Sessions that come and go.
    Sessions,
    /// As much as it may ask for.
    Work,
}

const ALL: [Hostility; 6] = [
    Hostility::Invalid,
    Hostility::Endless,
    Hostility::Long,
    Hostility::Kicks,
    Hostility::Sessions,
    Hostility::Work,
];

struct Hostile {
    front: FrontEnd,
    driver: Driver,
    session: u64,
}

impl Hostile {
    fn new(rig: &Rig) -> Self {
        let mut front = rig.front(FrontConfig {
            queue_size: SIZE,
            data_bytes: 1 << 20,
            interrupts: Interrupts::Polled,
            ..FrontConfig::default()
        });
        let driver = front.start(0).unwrap();
        let session = open_aes(&mut front, true);
        let here = front.memory().guest(front.data_at());
        let long: Vec<_> = (1..=SIZE).map(|next| (here, 1, NEXT, next)).collect();
        write_table(&front, front.data_at() + 4096, &long);
        Self {
            front,
            driver,
            session,
        }
    }

    fn turn(&mut self, how: Hostility) {
        let at = self.front.data_at();
        let here = self.front.memory().guest(at);
        match how {
            Hostility::Kicks => self.driver.kick_anyway(),
            Hostility::Sessions => {
                let session = open_aes(&mut self.front, true);
                self.front.close_session(session).unwrap();
            }
            Hostility::Endless | Hostility::Long => {
                for head in 0..SIZE {
                    match how {
                        Hostility::Endless => self.driver.put_descriptor(head, here, 8, NEXT, head),
                        _ => {
                            let bytes = u32::from(SIZE) * 16;
                            let table = self.front.memory().guest(at + 4096);
                            self.driver.put_descriptor(head, table, bytes, INDIRECT, 0);
                        }
                    }
                    self.driver.enter(head, 0);
                }
                self.finish();
            }
            Hostility::Invalid | Hostility::Work => {
                let is_work = matches!(how, Hostility::Work);
                let session = if is_work { self.session } else { 3 };
                let request = Request {
                    header: cipher(session, true, 16 << 10),
                    iv: [0; 16],
                    source: &[(at, 16 << 10)],
                    destination: &[(at, 16 << 10)],
                };
                while self.driver.submit(&request, 0).is_ok() {}
                self.finish();
            }
        }
    }

    fn finish(&mut self) {
        self.driver.kick_anyway();
        while self.driver.in_flight() > 0 {
            self.driver.reap(|_| {});
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_hostile_guest_harms_no_other() {
    let requests = u64::from(testing::cases(300, 20_000));
    for how in ALL {
        let engine = engine();
        let good_rig = Rig::with(Arc::clone(&engine), function(), |_| {});
        let bad_rig = Rig::with(engine, function(), |_| {});
        let mut front = good_rig.front(FrontConfig {
            data_bytes: data_bytes(LEN, DEPTH),
            queue_size: 32,
            ..FrontConfig::default()
        });
        let driver = front.start(0).unwrap();
        let mut load = Load::new(&mut front, driver, LEN, DEPTH);
        let (is_over, turns) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut hostile = Hostile::new(&bad_rig);
                while !is_over.load(Ordering::Relaxed) {
                    hostile.turn(how);
                    turns.fetch_add(1, Ordering::Relaxed);
                }
            });
            testing::until(|| turns.load(Ordering::Relaxed), |turns| *turns > 0);
            while load.right < requests {
                load.turn();
            }
            load.finish();
            is_over.store(true, Ordering::Relaxed);
        });
        load.is_complete();
        assert_eq!(load.failures(), 0, "{how:?}");
        assert_eq!(good_rig.device().counters().refused, [], "{how:?}");
        assert_eq!(good_rig.complaints(), [""; 0]);
        assert_eq!(bad_rig.complaints(), [""; 0]);
        // What the hostile one made the worker do is its own account.
        let refused = bad_rig.device().counters().refused;
        let is_refused = matches!(
            how,
            Hostility::Invalid | Hostility::Endless | Hostility::Long
        );
        assert_eq!(!refused.is_empty(), is_refused, "{how:?}: {refused:?}");
    }
}
