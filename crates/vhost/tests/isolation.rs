//! Two devices of one worker: whatever one guest does, every request of the other is
//! done, and right. By counts alone: how fast is for the section to say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lockgate_vhost::front::{FrontConfig, Hostile, Hostility, Request};

use crate::common::load::{Load, data_bytes};
use crate::common::{Rig, cipher, encrypts, engine, finish, function, is_ok, open_aes, serves};

const LEN: usize = 4096;
const DEPTH: usize = 8;

/// Ends what goes on beside a test, also when that fails.
pub struct Over<'a>(pub &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_hostile_guest_harms_no_other() {
    let requests = u64::from(testing::cases(300, 20_000));
    for how in Hostility::ALL {
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
            // Also when the good one fails.
            let _over = Over(&is_over);
            scope.spawn(|| {
                let mut hostile = Hostile::start(&bad_rig.socket(), how).unwrap();
                while !is_over.load(Ordering::Relaxed) {
                    hostile.turn().unwrap();
                    turns.fetch_add(1, Ordering::Relaxed);
                }
            });
            testing::until(|| turns.load(Ordering::Relaxed), |turns| *turns > 0);
            while load.right < requests {
                load.turn();
            }
            load.finish();
        });
        load.is_complete();
        assert_eq!(load.failures(), 0, "{how:?}");
        assert_eq!(good_rig.device().counters().refused, [], "{how:?}");
        assert_eq!(good_rig.complaints(), [""; 0]);
        let is_told = !bad_rig.complaints().is_empty();
        assert_eq!(is_told, how == Hostility::Keys, "{how:?}");
        // What the hostile one made the worker do is its own account.
        let refused = bad_rig.device().counters().refused;
        let is_refused = matches!(
            how,
            Hostility::WrongSession | Hostility::Endless | Hostility::Long | Hostility::NoTable
        );
        assert_eq!(!refused.is_empty(), is_refused, "{how:?}: {refused:?}");
    }
}

/// A front-end shares its notifier's open file: it makes writing to it block, and fills
/// its counter. Nobody waits for it, and it is served like any other.
#[test]
fn a_notifier_that_blocks_stops_nobody() {
    let engine = engine();
    let bad = Rig::with(Arc::clone(&engine), function(), |_| {});
    let good = Rig::with(engine, function(), |_| {});
    let mut front = bad.front(FrontConfig::default());
    let mut driver = front.start(0).unwrap();
    encrypts(&mut front, &mut driver);
    let session = open_aes(&mut front, true);
    let notifier = driver.interrupt();
    notifier.clear();
    rustix::fs::fcntl_setfl(notifier, rustix::fs::OFlags::empty()).unwrap();
    rustix::io::write(notifier, &(u64::MAX - 1).to_ne_bytes()).unwrap();
    let place = [(front.data_at(), 16)];
    let request = Request {
        header: cipher(session, true, 16),
        iv: [0; 16],
        source: &place,
        destination: &place,
    };
    driver.submit(&request, 0).unwrap();
    driver.ask_after(0);
    driver.kick();
    serves(&good);
    let done = finish(&mut driver).pop().unwrap();
    assert!(is_ok(&done), "{done:?}");
    assert_eq!(bad.complaints(), [""; 0]);
}
