//! Tenants of both homes, and what a trial of theirs says.

use std::time::Duration;

use kit::evidence::Evidence;
use kit::fairness::{SHARE, fairness};
use kit::prelude::*;
use trial::{Sink, Validity, Verdict};

use super::case::{Case, Home};
use super::fronts::Fronts;
use super::guests::Guests;
use super::window::Window;
use super::{CHARGED, INTERRUPTS, Place, REFUSED, REQUESTS, SPEED, TURNS, VcmGuests, WORKER_CPU};

/// A worker with less work than this leaves shares to chance.
const BUSY_MIN: f64 = 0.95;

pub(super) struct OnDevices {
    fronts: Option<Fronts>,
    guests: Guests,
}

/// What came of a trial.
pub(super) struct Did {
    pub(super) window: Window,
    pub(super) evidence: Evidence,
    /// Of a hostile front-end, a second.
    pub(super) turns_per_s: Option<f64>,
    /// What is only known now.
    pub(super) also: Spot,
}

impl OnDevices {
    pub(super) fn start(section: &VcmGuests, host: &Host) -> Result<Self, Stopped> {
        let has_fronts = section.homes(host).contains(&Home::FrontEnd);
        let fronts = has_fronts.then(|| Fronts::start(section, host));
        Ok(Self {
            fronts: fronts.transpose()?,
            guests: Guests::new(section, host)?,
        })
    }
}

impl Rig<VcmGuests> for OnDevices {
    fn prepare(
        &mut self,
        subjects: &Subjects<VcmGuests>,
        sink: &mut dyn Sink,
    ) -> Result<(), Stopped> {
        self.guests.boot(VcmGuests::guests_of(subjects), sink)
    }

    fn trial(
        &mut self,
        subject: &Subject<Place, Case>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let Subject { place, arm, .. } = subject;
        let did = match place.home {
            Home::FrontEnd => {
                self.guests.rest()?;
                let fronts = self.fronts.as_ref();
                let fronts = fronts.expect("else there are no such subjects");
                fronts.trial((place, *arm), slice, go_on)?
            }
            Home::Guest => self.guests.trial((place, *arm), slice, go_on)?,
        };
        Ok(reading(place, *arm, &did))
    }

    fn notes(&self) -> Option<Spot> {
        self.guests.about()
    }
}

/// The whole, and beside it each tenant.
fn reading(place: &Place, case: Case, did: &Did) -> Reading {
    let Did { window, .. } = did;
    let tenants = case.tenants();
    let per_s = |count: u64| count as f64 / window.seconds;
    let requests: Vec<_> = window
        .tenants
        .iter()
        .map(|own| per_s(own.requests))
        .collect();
    let weights: Vec<_> = tenants.iter().map(|own| f64::from(own.weight)).collect();
    let shares = || fairness(&requests, &weights);
    let (whole, shares) = case.is_shared_out().then(shares).flatten().unzip();
    let shares: Vec<f64> = shares.unwrap_or_default();
    let worker_cpus = window.worker_ns as f64 / 1e9 / window.seconds;
    let verdict = match place.home {
        // What a controller holds back may leave the worker some rest, and so may guests.
        Home::FrontEnd if tenants.len() > 1 && !matches!(case, Case::Equal(_, Some(_))) => {
            busy(worker_cpus)
        }
        _ => Verdict::valid(),
    };
    let judged = |values| Reading {
        verdict: verdict.clone(),
        evidence: Some(did.evidence),
        also: did.also.clone(),
        ..Reading::new(values)
    };
    let of = |requests: u64, notifications: u64| {
        let mut values = vec![(REQUESTS, per_s(requests))];
        let told = notifications as f64 / requests as f64;
        values.extend((requests > 0).then_some((INTERRUPTS, told)));
        values
    };
    let each = tenants.iter().zip(&window.tenants).enumerate();
    let each = each.map(|(index, (tenant, own))| {
        let mut values = of(own.requests, own.notifications);
        values.push((CHARGED, per_s(own.work_ns) / 1e7));
        values.extend(shares.get(index).map(|&share| (SHARE, share)));
        if tenant.hostile.is_some() {
            values.push((REFUSED, per_s(own.refused)));
            values.push((WORKER_CPU, worker_cpus * 100.0));
            values.extend(did.turns_per_s.map(|turns| (TURNS, turns)));
        } else {
            values.push((SPEED, requests[index] * place.block_bytes as f64 / 1e6));
        }
        judged(values)
    });
    let sum = |of: fn(&super::window::Counts) -> u64| window.tenants.iter().map(of).sum();
    let mut values = of(sum(|own| own.requests), sum(|own| own.notifications));
    values.push((WORKER_CPU, worker_cpus * 100.0));
    // A hostile one's requests are of other sizes.
    if tenants.iter().all(|own| own.hostile.is_none()) {
        let all = per_s(sum(|own| own.requests));
        values.push((SPEED, all * place.block_bytes as f64 / 1e6));
    }
    values.extend(whole.into_iter().flatten());
    Reading {
        beside: each.filter(|_| tenants.len() > 1).collect(),
        ..judged(values)
    }
}

fn busy(busy: f64) -> Verdict {
    if busy >= BUSY_MIN {
        return Verdict::valid();
    }
    let reason = format!(
        "the worker ran {:.0}% of the time, below {:.0}%: something else limited the tenants",
        busy * 100.0,
        BUSY_MIN * 100.0
    );
    let remedy =
        "measure larger requests or more of them (--sizes-bytes, --depth), or on a quiet host";
    Verdict::new(Validity::GeneratorBound, reason, remedy)
}
