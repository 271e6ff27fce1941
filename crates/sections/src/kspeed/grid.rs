//! What is measured: drivers, operations, sizes and threads, and who measures each.

use kit::prelude::*;

use super::host;
use super::method::{Means, Method};
use super::tcrypt::Call;
use super::{Destination, Kspeed, LOAD_S, PROGRAM_S, Place};
use kit::guest::kspeed::catalogue::{Driver, Kind, SIGNED_BYTES};

impl Kspeed {
    pub(super) fn depth(&self) -> usize {
        self.0.depth.get()
    }

    pub(super) fn key_bytes(&self) -> Option<usize> {
        let bytes = self.0.key_bytes.get();
        (bytes > 0).then_some(bytes)
    }

    /// Whether the module has the source be the destination; none where that is
    /// no choice.
    pub(super) fn in_place(&self, kind: Kind) -> Option<bool> {
        let usual = kind.facts().in_place?;
        Some(match *self.0.destination {
            Destination::Usual => usual,
            Destination::InPlace => true,
            Destination::Apart => false,
        })
    }

    pub(super) fn is_on_host(&self) -> bool {
        self.0.kernel == host::NAME
    }

    /// Whether it measures that driver: all but the module do the usual only, and
    /// in guests only.
    pub(super) fn does(&self, method: Method, kind: Kind) -> bool {
        let is_usual = !self.is_on_host()
            && kind.own().is_some()
            && self.in_place(kind) == kind.facts().in_place;
        is_usual || matches!(method.means(), Means::Module(_))
    }

    /// Bytes of a driver's requests.
    fn sizes(&self, kind: Kind) -> Vec<usize> {
        match kind {
            Kind::Rsa => vec![SIGNED_BYTES],
            _ => self.0.sizes_bytes.values().collect(),
        }
    }

    /// How tcrypt is called for a method of its own.
    pub(super) fn call(&self, method: Method) -> Call {
        Call {
            num_mb: (method == Method::TcryptMb).then(|| self.depth()),
            seconds: self.0.tcrypt_seconds.get(),
        }
    }

    /// A driver's subjects. What does not submit from the module's threads has
    /// one; what tcrypt measures shares a trial.
    pub(super) fn subjects_of(&self, driver: Driver) -> Vec<Subject<Place, Method>> {
        let operations = driver.kind.facts().operations;
        let of = |threads, operation, size_bytes, method| {
            let place = Place {
                driver,
                operation,
                size_bytes,
                threads,
            };
            self.subject(place, method)
        };
        let one = self.0.threads[0].get();
        let own = self.0.methods.values();
        let own = own.filter(|method| self.does(*method, driver.kind));
        let mut subjects = Vec::new();
        for threads in self.0.threads.values() {
            for size_bytes in self.sizes(driver.kind) {
                for operation in operations {
                    let methods = own.clone().filter(|method| match method.means() {
                        Means::Module(_) => true,
                        Means::Program => threads == one,
                        Means::Tcrypt => false,
                    });
                    let of = |method| of(threads, operation, size_bytes, method);
                    subjects.extend(methods.map(of));
                }
            }
        }
        for method in own.filter(|method| method.means() == Means::Tcrypt) {
            let of = |bytes| of(one, operations[0], bytes, method);
            let mut sizes = self.sizes_of(driver, method).into_iter();
            let first = sizes.next().map(of);
            let others = sizes.map(|bytes| of(bytes).sharing_trial());
            subjects.extend(first.into_iter().chain(others));
        }
        subjects
    }

    /// The sizes that tcrypt measures of a driver in one call.
    pub(super) fn sizes_of(&self, driver: Driver, method: Method) -> Vec<usize> {
        let (sizes, call) = (self.0.sizes_bytes.values(), self.call(method));
        sizes
            .filter(|&bytes| call.measures(driver, bytes))
            .collect()
    }

    /// What keeping the first driver busy gains says most; a program of its own
    /// for each trial takes longest.
    fn rank(&self, place: Place, method: Method) -> u8 {
        let is_first = place.driver == *self.0.drivers[0];
        let rank = match method {
            Method::Sync | Method::Async => 0,
            Method::Batch | Method::Resubmit | Method::Tcrypt | Method::TcryptMb => 1,
            Method::AfAlg | Method::Engine => 2,
        };
        rank + u8::from(!is_first)
    }

    fn subject(&self, place: Place, method: Method) -> Subject<Place, Method> {
        let driver = place.driver;
        let of_threads = match place.threads {
            1 => String::new(),
            threads => format!("{threads} threads"),
        };
        let depth = method.depth(self.depth());
        let title = match depth {
            1 => method.title().to_owned(),
            depth => format!("{}, {depth} in flight", method.title()),
        };
        let mut spot = Spot::new().named("driver", driver);
        if driver.kind != Kind::Named {
            let is_one = driver.kind.facts().operations.len() == 1;
            let words = if is_one { "" } else { place.operation };
            spot = spot.also("algorithm", driver.kind.name()).with(
                "operation",
                place.operation,
                words,
            );
        }
        if *self.0.destination != Destination::Usual {
            spot = spot.named("destination", *self.0.destination);
        }
        let spot = spot
            .block(place.size_bytes)
            .with("threads", place.threads as u64, of_threads)
            .with("method", method.name(), title)
            .also("depth", depth as u64);
        let (weight, own_s) = match method.means() {
            Means::Module(_) => (1.0, 0.0),
            Means::Program => (1.0, PROGRAM_S),
            // It takes its own time.
            Means::Tcrypt => (0.0, self.call(method).expected_s(driver)),
        };
        let trials = self.0.sizes_bytes.len() * self.0.threads.len() * self.0.methods.len();
        Subject::new(place, method, spot)
            .ranked(self.rank(place, method))
            .weighing(weight, own_s + LOAD_S / trials as f64)
    }
}
