//! What the tests that boot guests share.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::time::Duration;

use lockgate_vm::image::Image;
use lockgate_vm::{Cache, Guest, Kernel, Qemu, Run, Shape};

pub struct Lab {
    pub cache: Cache,
    pub qemus: Vec<Qemu>,
}

impl Lab {
    /// None, and says so, where guests cannot be booted.
    pub fn find() -> Option<Self> {
        let cache = match Cache::open_default() {
            Ok(cache) => cache,
            Err(error) => return skipped(&error.to_string()),
        };
        let qemus = Qemu::find_all(Some(&cache));
        if let (true, Err(error)) = (qemus.is_empty(), Qemu::find(Some(&cache))) {
            return skipped(&error.to_string());
        }
        Some(Self { cache, qemus })
    }

    pub fn kernel(&self) -> &Kernel {
        self.cache.kernel(None).expect("the first")
    }

    pub fn qemu(&self) -> &Qemu {
        &self.qemus[0]
    }

    pub fn image(&self) -> Vec<u8> {
        Image::new(&self.cache, self.kernel()).build().unwrap()
    }

    pub fn boot(&self, shape: &Shape) -> Guest {
        Guest::boot(self.qemu(), self.kernel(), &self.image(), shape).unwrap()
    }
}

fn skipped(reason: &str) -> Option<Lab> {
    testing::skipped(reason);
    None
}

/// Runs a test that boots guests.
pub fn booting(test: impl Fn(&Lab)) {
    testing::booting(|| {
        let Some(lab) = Lab::find() else { return };
        test(&lab);
    });
}

/// Small, and gone after five minutes whatever a test does.
pub fn small() -> Shape {
    Shape {
        memory_mib: 512,
        time_limit: Duration::from_secs(300),
        ..Shape::default()
    }
}

pub fn printed(guest: &mut Guest, script: &str) -> String {
    let outcome = guest.run(&Run::new(script)).unwrap();
    assert_eq!(outcome.status, 0, "{script}: {}", outcome.text());
    outcome.text().trim().to_owned()
}
