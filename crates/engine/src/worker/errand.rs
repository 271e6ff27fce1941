//! What processing a breath takes along: so that all else of a worker can be another's
//! meanwhile.

use sys::clock::ticks;

use crate::function::{Breath, Lanes, Roster};
use crate::service::{BATCH_MAX, Batch, Outcomes, Service};
use crate::standpoint::{Host, Pace, Standpoint};
use crate::worker_lane::{BoxedLane, WorkerLane};

pub(crate) struct Errand<S: Service> {
    pub(super) service: S,
    pub(super) breath: Breath<S::Request>,
    /// The lanes that are present in the breath.
    lanes: Lanes<S::Request>,
    touched: Vec<u32>,
    /// Somebody's requests took far longer than expected, and of several it is not known
    /// whose.
    pub(super) is_slow_of_many: bool,
}

impl<S: Service> Errand<S> {
    pub(super) fn new(service: S) -> Self {
        Self {
            service,
            breath: Breath::new(),
            lanes: Lanes::new(),
            touched: Vec::with_capacity(BATCH_MAX),
            is_slow_of_many: false,
        }
    }

    /// Lends the lanes that the breath is of; whose memory it goes to.
    pub(super) fn set_out(&mut self, roster: &mut Roster<S::Request>) -> Host {
        let mut host = Host::NOBODY;
        for &slot in &self.breath.present {
            let lane = roster.lanes.remove(slot).expect("it is present");
            host = host.and(lane.host);
            self.lanes.insert(lane);
        }
        host
    }

    pub(super) fn come_back(&mut self, roster: &mut Roster<S::Request>) {
        for &slot in &self.breath.present {
            let lane = self.lanes.remove(slot).expect("it was lent");
            roster.lanes.insert(lane);
        }
    }

    /// The lanes, where the worker is another's by now.
    pub(super) fn give_up(&mut self) -> Vec<BoxedLane<S::Request>> {
        self.breath.clear();
        self.lanes.take_all()
    }

    pub(super) fn lane(&self, slot: u32) -> &WorkerLane<S::Request> {
        &self.lanes[slot as usize]
    }

    /// Processes the breath, and tells its clients.
    pub(super) fn run(
        &mut self,
        host: Host,
        is_charged: bool,
        pace: &mut Pace,
        standpoint: &Standpoint,
    ) {
        let owed_ns = if is_charged { self.owed_ns() } else { 0 };
        let begin_ticks = ticks();
        let mut outcomes = Outcomes {
            lanes: &mut self.lanes,
            origins: &mut self.breath.origins,
            touched: &mut self.touched,
        };
        let requests = Batch(&self.breath.requests);
        self.service.process(requests, &mut outcomes);
        if is_charged {
            self.charge_time(host, begin_ticks, owed_ns, pace, standpoint);
        }
        assert!(
            self.breath.origins.iter().all(|one| one.done.is_some()),
            "a service completes every request of its batch"
        );
        let mut outcomes = Outcomes {
            lanes: &mut self.lanes,
            origins: &mut self.breath.origins,
            touched: &mut self.touched,
        };
        outcomes.settle(&self.breath.present, self.service.width());
    }

    /// What processing took beyond what it was expected to, whoever it was of pays. Of
    /// several it is not known whose that was: next time it is, if it was much.
    fn charge_time(
        &mut self,
        host: Host,
        begin_ticks: u64,
        owed_ns: u64,
        pace: &mut Pace,
        standpoint: &Standpoint,
    ) {
        // Whoever was notified meanwhile, or had long lists, pays for that already.
        let paid_ns = self.owed_ns() - owed_ns;
        let expected_ns = self.breath.work_ns.saturating_add(paid_ns);
        let beyond = pace.beyond(begin_ticks, expected_ns, standpoint);
        if host == Host::MANY {
            self.is_slow_of_many |= beyond.is_slow;
        } else if let Some(&slot) = self.breath.present.first()
            && (S::IS_TIMED || beyond.is_held_up)
        {
            self.lanes[slot as usize].went_beyond(beyond);
        }
    }

    /// What the lanes of the breath owe beside its work, ns.
    fn owed_ns(&self) -> u64 {
        let present = self.breath.present.iter();
        present
            .map(|slot| self.lanes[*slot as usize].surcharge_ns)
            .sum()
    }
}
