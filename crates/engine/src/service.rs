//! What a worker does with a batch: the part that knows what a request is.

use crypto::Status;
use policy::{Decision, Progress};
use sys::wake::WakeIndex;

use crate::lane::{Done, Entry, WorkerLane};

/// Most requests a worker takes at a time, over all its lanes.
pub const BATCH_MAX: usize = 128;

/// Processes requests; one value a worker, used by that worker only.
pub trait Service: Send + 'static {
    /// A request: plain data, since it crosses a ring.
    type Request: Copy + Send + 'static;

    /// How many requests it could do in the time that it needs for fewer, if
    /// the next are like the last. The worker may wait a little for as many.
    fn width(&self) -> usize {
        1
    }

    /// Processes a batch of up to [`BATCH_MAX`] requests from any lanes and
    /// completes each exactly once, in any order. Publishing now and then
    /// lets clients go on while the rest is processed.
    fn process(
        &mut self,
        requests: Batch<'_, Self::Request>,
        outcomes: &mut Outcomes<'_, Self::Request>,
    );
}

/// The requests of a batch, as they came out of the rings.
#[derive(Debug)]
pub struct Batch<'b, R>(pub(crate) &'b [Entry<R>]);

impl<R> Clone for Batch<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Batch<'_, R> {}

impl<R> Batch<'_, R> {
    /// How many there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a batch is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them, by their index.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &R> + ExactSizeIterator {
        self.0.iter().map(|entry| &entry.request)
    }
}

impl<R> std::ops::Index<usize> for Batch<'_, R> {
    type Output = R;

    fn index(&self, index: usize) -> &R {
        &self.0[index].request
    }
}

/// Where a request of the batch came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) lane: u32,
    pub(crate) ticket: u32,
    pub(crate) done: Option<Status>,
}

/// How the requests of a batch ended, on its way to their lanes.
#[derive(Debug)]
pub struct Outcomes<'batch, R> {
    pub(crate) lanes: &'batch mut [WorkerLane<R>],
    pub(crate) origins: &'batch mut [Origin],
    /// Lanes with something staged.
    pub(crate) touched: &'batch mut Vec<u32>,
}

impl<R: Copy + Send> Outcomes<'_, R> {
    /// Ends request `index` of the batch.
    ///
    /// # Panics
    /// When it was ended before: a request completes exactly once.
    pub fn complete(&mut self, index: usize, status: Status) {
        let origin = &mut self.origins[index];
        assert!(
            origin.done.is_none(),
            "request {index} of the batch completed twice"
        );
        origin.done = Some(status);
        let lane = &mut self.lanes[origin.lane as usize];
        let staged_before = lane.staged;
        if lane.shared.config.order == crate::Order::Any {
            stage(
                lane,
                Done {
                    ticket: origin.ticket,
                    status,
                },
            );
        } else {
            stage_in_order(lane, self.origins);
        }
        if staged_before == 0 && lane.staged > 0 {
            self.touched.push(self.origins[index].lane);
        }
    }

    /// Shows what is completed to the clients that look for it, and notifies
    /// those whose policies say so and that are seen to sleep. One that has
    /// just fallen asleep may be overlooked, since nothing is fenced here; the
    /// worker looks again, fenced, at the end of the breath.
    pub fn publish(&mut self) {
        let lanes = &mut *self.lanes;
        self.touched.retain(|&lane| {
            let lane = &mut lanes[lane as usize];
            // A polling client takes the index's cache line away whenever it
            // looks, and the worker must get it back to publish: so not for
            // completions before the one it waits for.
            let is_awaited = lane.shared.config.moderation.client_sleeps()
                || lane.shared.wake.is_wanted(lane.completions.index());
            if is_awaited {
                show(lane);
            }
            // What the client writes meanwhile is looked at next: have it here.
            lane.shared.wake.anticipate();
            lane.requests.anticipate();
            !is_awaited
        });
    }

    /// At the end of a breath: shows the rest, and wakes whoever waits for
    /// what is there, or waits on a lane that has run dry: one with fewer
    /// requests than the `width` that would be done in the same time.
    pub(crate) fn settle(&mut self, present: &[u32], width: usize) {
        for lane in self.touched.drain(..) {
            show(&mut self.lanes[lane as usize]);
        }
        self.wake(present, width);
    }

    fn wake(&mut self, present: &[u32], width: usize) {
        let sleeps = |lane: &u32| {
            let config = &self.lanes[*lane as usize].shared.config;
            config.moderation.client_sleeps()
        };
        // A fence waits until the results have left the core: only for those
        // who may sleep.
        if !present.iter().any(sleeps) {
            return;
        }
        WakeIndex::fence_after_publish();
        for &lane in present {
            let lane = &mut self.lanes[lane as usize];
            // The ring is looked at only for a sleeper: its index is the
            // client's cache line.
            if lane.shared.wake.is_armed() {
                let is_dry = lane.requests.len_now() < width;
                notify(
                    lane,
                    Progress {
                        published: 0,
                        is_dry,
                    },
                );
            }
        }
    }
}

fn stage<R: Copy + Send>(lane: &mut WorkerLane<R>, done: Done) {
    lane.completions
        .stage(done)
        .expect("the completion ring has a slot for every request in flight");
    lane.staged += 1;
}

/// Stages the done prefix of a lane's part of the batch.
fn stage_in_order<R: Copy + Send>(lane: &mut WorkerLane<R>, origins: &[Origin]) {
    while lane.next < lane.end
        && let Some(status) = origins[lane.next].done
    {
        stage(
            lane,
            Done {
                ticket: origins[lane.next].ticket,
                status,
            },
        );
        lane.next += 1;
    }
}

fn show<R: Copy + Send>(lane: &mut WorkerLane<R>) {
    lane.completions.publish();
    lane.shared.tally.completed.add(u64::from(lane.staged));
    let published = std::mem::take(&mut lane.staged);
    notify(
        lane,
        Progress {
            published,
            is_dry: false,
        },
    );
}

fn notify<R: Copy + Send>(lane: &WorkerLane<R>, progress: Progress) {
    let shared = &lane.shared;
    let index = lane.completions.index();
    match shared.config.moderation.decide(progress) {
        Decision::Signal(times) => (0..times).for_each(|_| shared.notify()),
        Decision::IfReached if shared.wake.claim(index, false) => shared.notify(),
        Decision::IfAsleep if shared.wake.claim(index, !lane.completions.is_drained()) => {
            shared.notify();
        }
        // Nobody sleeps, or not for this.
        Decision::Silent | Decision::IfReached | Decision::IfAsleep => {}
    }
}
