//! One trial of one router or several side by side.

use forward::bench::TrialResult;
use forward::tester::stream::FrameSize;
use trial::Verdict;

/// What one trial gave, router by router.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    pub routers: Vec<TrialResult>,
}

impl Trial {
    fn sum(&self, of: impl Fn(&TrialResult) -> f64) -> f64 {
        self.routers.iter().map(of).sum()
    }

    fn count(&self, of: impl Fn(&TrialResult) -> u64) -> u64 {
        self.routers.iter().map(of).sum()
    }

    /// Frames a second that came through, over all routers and directions.
    pub fn received_pps(&self) -> f64 {
        self.sum(TrialResult::received_pps)
    }

    /// Mbit/s of them.
    pub fn received_mbit_per_s(&self) -> f64 {
        self.sum(TrialResult::received_mbit_per_s)
    }

    pub fn offered_pps(&self) -> f64 {
        self.sum(TrialResult::offered_pps)
    }

    /// Share of the offered frames that did not arrive, 0 to 1.
    pub fn loss(&self) -> f64 {
        let offered = self.count(TrialResult::offered);
        if offered == 0 {
            return 0.0;
        }
        self.count(TrialResult::lost) as f64 / offered as f64
    }

    /// The routers' CPU time for each frame that they forwarded; none where
    /// they forwarded none or it is not known.
    pub fn router_ns_per_frame(&self) -> Option<f64> {
        self.per_frame(
            TrialResult::router_cpu_ns,
            TrialResult::received_while_sending,
        )
    }

    /// Frames forwarded in a second of the routers' CPU time.
    pub fn frames_per_cpu_s(&self) -> Option<f64> {
        self.router_ns_per_frame().map(|ns| 1e9 / ns)
    }

    /// Share of the routers' CPU time that went to polls which found no frame,
    /// 0 to 1; none where nothing polls.
    pub fn idle_polls(&self) -> Option<f64> {
        let idle_ns = self.routers.iter().map(TrialResult::idle_poll_ns);
        let idle_ns: u64 = idle_ns.sum::<Option<_>>()?;
        let all_ns = self.count(TrialResult::router_cpu_ns);
        (all_ns > 0).then(|| idle_ns as f64 / all_ns as f64)
    }

    /// Frames forwarded in a second of CPU time that the routers were busy: that
    /// of idle polls is left out.
    pub fn frames_per_busy_cpu_s(&self) -> Option<f64> {
        let busy = 1.0 - self.idle_polls()?;
        (busy > 0.0).then_some(self.frames_per_cpu_s()? / busy)
    }

    /// The generators' CPU time for each frame that they offered; none where one
    /// had a rate to keep, since it waits in that time.
    pub fn generator_ns_per_frame(&self) -> Option<f64> {
        let is_paced = |router: &TrialResult| router.offer.rate_pps.is_some();
        if self.routers.iter().any(is_paced) {
            return None;
        }
        self.per_frame(|result| result.generator_cpu_ns, TrialResult::offered)
    }

    /// The sinks' CPU time for each frame that they counted.
    pub fn sink_ns_per_frame(&self) -> Option<f64> {
        self.per_frame(
            |result| result.sink_cpu_ns,
            TrialResult::received_while_sending,
        )
    }

    fn per_frame(
        &self,
        cpu_ns: impl Fn(&TrialResult) -> u64,
        frames: impl Fn(&TrialResult) -> u64,
    ) -> Option<f64> {
        let (cpu_ns, frames) = (self.count(cpu_ns), self.count(frames));
        (cpu_ns > 0 && frames > 0).then(|| cpu_ns as f64 / frames as f64)
    }
}

impl Trial {
    /// The first doubt of any router.
    pub fn verdict(&self) -> Verdict {
        let doubt = self
            .routers
            .iter()
            .find(|router| !router.verdict.is_valid());
        doubt.map_or_else(Verdict::valid, |router| router.verdict.clone())
    }
}

/// A size as people write it.
pub fn size_name(size: FrameSize) -> String {
    match size {
        FrameSize::Fixed(bytes) => format!("{bytes} B"),
        FrameSize::Imix => "IMIX".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routers::testing::result;
    use trial::Validity;

    #[test]
    fn rates_loss_and_costs_are_over_all_routers() {
        let mut second = result(1000, 1000);
        let first = result(1000, 900);
        let both = Trial {
            routers: vec![first, second.clone()],
        };
        assert!((both.received_pps() - 1900.0).abs() < 1e-9);
        assert!((both.loss() - 0.05).abs() < 1e-12);
        let ns = both.router_ns_per_frame().expect("both were timed");
        assert!((ns - 2e9 / 1900.0).abs() < 1e-6, "{ns}");
        assert!(both.verdict().is_valid());
        second.verdict = Verdict::new(Validity::Noisy, "a pause", "a quiet host");
        let doubtful = Trial {
            routers: vec![result(1, 1), second],
        };
        assert_eq!(doubtful.verdict().reason, "a pause");
    }
}
