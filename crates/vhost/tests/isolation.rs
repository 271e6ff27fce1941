//! Two devices of one worker: whatever one guest does, every request of the other is
//! done, and right. By counts alone: how fast is for the section to say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lockgate_vhost::front::{FrontConfig, Hostile, Hostility};

use crate::common::{Load, Rig, engine, function};

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
            data_bytes: Load::data_bytes(LEN, DEPTH),
            queue_size: 32,
            ..FrontConfig::default()
        });
        let driver = front.start(0).unwrap();
        let mut load = Load::new(&mut front, driver, LEN, DEPTH).unwrap();
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
                load.turn().unwrap();
            }
            load.finish().unwrap();
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
