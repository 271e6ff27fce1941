//! How a virtual function is drained, reset and removed.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::handle::VirtualFunction;
use super::shared::{Function, Life};
use crate::pool::{Command, Control};

/// Why a virtual function is not drained. It takes no requests all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DrainError {
    #[error(
        "worker {worker} still has requests of the virtual function after {timeout:?}; give it more time (a quota may hold it up), resume it, or remove it"
    )]
    TimedOut { worker: usize, timeout: Duration },
}

/// A worker did not confirm a reset or removal in time. It happens as soon as the
/// worker gets to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndError {
    #[error(
        "worker {worker} is busy with one batch for longer than {timeout:?}; keys may still be there until it is done"
    )]
    TimedOut { worker: usize, timeout: Duration },
}

/// Something that a virtual function owns, with a part for each worker.
pub(crate) trait Owned: std::fmt::Debug + Send + Sync {
    fn is_gone(&self) -> bool;

    fn end(&self);

    /// That worker's part ends. Called on that worker between two breaths,
    /// or after its end.
    fn end_for(&self, worker: usize);
}

#[derive(Debug, Default)]
pub(crate) struct Possessions(Mutex<Vec<Arc<dyn Owned>>>);

impl Possessions {
    pub(crate) fn add(&self, one: Arc<dyn Owned>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What is gone is forgotten when there is no room: at no cost that
        // grows with the number added.
        if all.len() == all.capacity() {
            all.retain(|one| !one.is_gone());
            // So that as many come before the next look as stayed.
            let stayed = all.len();
            all.reserve(stayed);
        }
        all.push(one);
    }

    fn take(&self) -> Arc<[Arc<dyn Owned>]> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *all).into()
    }
}

/// What a worker must do about a virtual function. The worker says that it has by
/// dropping this.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) function: u64,
    pub(crate) is_removed: bool,
    worker: usize,
    owned: Arc<[Arc<dyn Owned>]>,
    _done: Sender<()>,
}

/// Ends what the function owned, between two breaths of the worker or after its end,
/// and before the waiter goes on; also where the worker panics.
impl Drop for Ending {
    fn drop(&mut self) {
        for one in &*self.owned {
            one.end_for(self.worker);
        }
    }
}

impl<R: Copy + Send + 'static> VirtualFunction<R> {
    /// Takes no new requests, and waits until those in flight are finished:
    /// [`SubmitError::Draining`](crate::SubmitError::Draining). A request
    /// that is submitted at this very moment may still be taken; it is
    /// finished like any other. Goes on until [`resume`](Self::resume).
    ///
    /// # Errors
    /// [`DrainError`] when they are not within `timeout`.
    pub fn drain(&self, timeout: Duration) -> Result<(), DrainError> {
        self.set_draining(true);
        let id = self.function.id;
        let waits: Vec<Receiver<()>> = self
            .controls
            .iter()
            .map(|control| {
                let (done, wait) = channel();
                // A worker that has ended has nothing left.
                let _ = control.send(Command::Drain(id, done));
                wait
            })
            .collect();
        wait_for_all(waits, timeout).map_err(|worker| DrainError::TimedOut { worker, timeout })
    }

    pub fn resume(&self) {
        self.set_draining(false);
        // Residents left outside what came meanwhile.
        self.tell_workers();
    }

    fn set_draining(&self, is_draining: bool) {
        let mut state = self.function.state();
        state.life = if is_draining {
            Life::Draining
        } else {
            Life::Running
        };
        for member in &state.members {
            member.shared.set_draining(is_draining);
        }
    }

    /// Ends requests in flight as
    /// [`Cancelled`](crypto::Status::Cancelled), unless they were done
    /// already, and whatever the function owns: keys. Its lanes can be used
    /// as before, weight, quota and settings stay.
    ///
    /// # Errors
    /// [`EndError`] when a worker does not get to it within `timeout`.
    pub fn reset(&self, timeout: Duration) -> Result<(), EndError> {
        self.end(false, timeout)
    }

    /// Ends the function: as [`reset`](Self::reset), and its lanes are closed
    /// as [`Removed`](crate::Closed::Removed). [`Drain`](Self::drain) it
    /// before, to have requests finished. Dropping it removes it, too, and
    /// does not wait.
    ///
    /// # Errors
    /// [`EndError`] when a worker does not get to it within `timeout`.
    pub fn remove(self, timeout: Duration) -> Result<(), EndError> {
        self.end(true, timeout)
    }

    /// Ends one thing that the function owns; it waits for nothing.
    pub(crate) fn end_one(&self, one: Arc<dyn Owned>) {
        one.end();
        for (worker, control) in self.controls.iter().enumerate() {
            // A worker that has ended uses nothing any more.
            let _ = control.send(Command::EndOne(worker, Arc::clone(&one)));
        }
    }

    fn end(&self, is_removed: bool, timeout: Duration) -> Result<(), EndError> {
        let waits = begin_end(&self.function, &self.controls, is_removed);
        wait_for_all(waits, timeout).map_err(|worker| EndError::TimedOut { worker, timeout })
    }
}

fn begin_end<R: Copy + Send>(
    function: &Function<R>,
    controls: &[Arc<Control<R>>],
    is_removed: bool,
) -> Vec<Receiver<()>> {
    if is_removed {
        let mut state = function.state();
        state.life = Life::Removed;
        state.free_number();
    }
    let owned = function.possessions.take();
    owned.iter().for_each(|one| one.end());
    let tell = |(worker, control): (usize, &Arc<Control<R>>)| {
        let (done, wait) = channel();
        let ending = Ending {
            function: function.id,
            is_removed,
            worker,
            owned: Arc::clone(&owned),
            _done: done,
        };
        control.end_function(ending);
        wait
    };
    controls.iter().enumerate().map(tell).collect()
}

fn wait_for_all(waits: Vec<Receiver<()>>, timeout: Duration) -> Result<(), usize> {
    let begin = Instant::now();
    for (index, wait) in waits.into_iter().enumerate() {
        let left = timeout.saturating_sub(begin.elapsed());
        if wait.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
            return Err(index);
        }
    }
    Ok(())
}

impl<R: Copy + Send + 'static> Drop for VirtualFunction<R> {
    fn drop(&mut self) {
        if self.life() != Life::Removed {
            begin_end(&self.function, &self.controls, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crypto::Status;

    use super::*;
    use crate::function::FunctionConfig;
    use crate::lane::{Closed, LaneConfig};
    use crate::pool::{Engine, WorkerConfig};
    use crate::service::{Batch, Outcomes, Service};

    #[derive(Debug)]
    struct Key {
        is_gone: bool,
        looks: Arc<AtomicUsize>,
    }

    impl Owned for Key {
        fn is_gone(&self) -> bool {
            self.looks.fetch_add(1, Ordering::Relaxed);
            self.is_gone
        }

        fn end(&self) {}

        fn end_for(&self, _: usize) {}
    }

    #[test]
    fn keys_that_come_and_go_cost_no_look_at_those_that_stay() {
        const MANY: usize = 1023;
        let (own, looks) = (Possessions::default(), Arc::default());
        let add = |is_gone: bool| {
            let looks = Arc::clone(&looks);
            own.add(Arc::new(Key { is_gone, looks }));
        };
        (0..MANY).for_each(|_| add(false));
        (0..10 * MANY).for_each(|_| add(true));
        let looks = looks.load(Ordering::Relaxed);
        assert!(looks < 40 * MANY, "{looks}");
        assert!(own.take().len() < 4 * MANY);
    }

    struct Behind(Arc<Mutex<()>>);

    impl Service for Behind {
        type Request = u8;

        fn bytes(_: &u8) -> usize {
            1
        }

        fn process(&mut self, requests: Batch<'_, u8>, outcomes: &mut Outcomes<'_, u8>) {
            drop(self.0.lock());
            (0..requests.len()).for_each(|index| outcomes.complete(index, Status::Ok));
        }
    }

    #[derive(Debug)]
    struct Broken;

    impl Owned for Broken {
        fn is_gone(&self) -> bool {
            false
        }

        fn end(&self) {}

        fn end_for(&self, _: usize) {
            panic!("told to");
        }
    }

    #[test]
    fn a_panic_over_a_command_leaves_no_client_waiting() {
        const LONG: Duration = Duration::from_secs(20);
        let gate = Arc::new(Mutex::new(()));
        let behind = Arc::clone(&gate);
        let engine = Engine::start(&[WorkerConfig::default()], move |_| {
            Behind(Arc::clone(&behind))
        });
        let engine = engine.unwrap();
        let function = engine.function(FunctionConfig::default()).unwrap();
        function.own(Arc::new(Broken));
        let mut busy = engine.lane(0, LaneConfig::default()).unwrap();
        let closed = gate.lock().unwrap();
        busy.submit(0, 0).unwrap();
        // So that the worker finds both commands together.
        let _ = function.reset(Duration::ZERO);
        let mut late = engine.lane(0, LaneConfig::default()).unwrap();
        late.submit(0, 0).unwrap();
        drop(closed);
        for lane in [&mut busy, &mut late] {
            assert_eq!(lane.wait(1, LONG), Ok(1));
        }
        let mut ended = None;
        late.reap(1, |done| ended = Some(done.status));
        let ends = [Status::WorkerFailed, Status::Cancelled];
        assert!(
            ended.is_some_and(|status| ends.contains(&status)),
            "{ended:?}"
        );
        assert_eq!(late.closed(), Some(Closed::WorkerFailed));
    }
}
